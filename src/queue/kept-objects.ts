import type { ScannedObject, Transition } from '../change.ts'
import { packObject, unpackObject } from './packed-object.ts'

/** Larger ones are not kept: their changes are told without old values. */
const MAX_PACKED_BYTES = 256 * 1024

/** A watch that is no longer configured leaves its old objects behind; each commit of one that is sets this anew. */
export const OLD_TTL_MS = 7 * 86_400_000

/** What is kept of an object: JSON that may leave. */
export type Keep = (object: ScannedObject) => Buffer

/** An object as it was told last. */
interface Kept {
  resourceVersion: string
  /** Undefined when it cannot be had: a commit must not fail for that. */
  json(): Buffer | undefined
}

/**
 * The old objects of one commit: what was read, and what came since. One counts only at the version that the index knows:
 * what is left of a time when another process wrote the index alone is never taken for the state before a change.
 */
export class KeptObjects {
  readonly #keep: Keep
  readonly #kept = new Map<string, Kept>()
  readonly #touched = new Set<string>()

  constructor(keep: Keep) {
    this.#keep = keep
  }

  read(uids: readonly string[], values: readonly (Buffer | null)[]): void {
    for (const [i, uid] of uids.entries()) {
      const packed = values[i] ? unpackObject(values[i], uid) : undefined
      if (packed) this.#kept.set(uid, { ...packed, json: onceOrNot(packed.json) })
    }
  }

  /** The object as it was at this version. */
  at(uid: string, resourceVersion: string): Transition['old'] {
    const kept = this.#kept.get(uid)
    return kept?.resourceVersion === resourceVersion ? kept.json : undefined
  }

  put(object: ScannedObject): void {
    const { uid, resourceVersion } = object
    this.#touched.add(uid)
    this.#kept.set(uid, { resourceVersion, json: onceOrNot(() => this.#keep(object)) })
  }

  delete(uid: string): void {
    this.#touched.add(uid)
    this.#kept.delete(uid)
  }

  /** What is to be written: uid, value, uid, value, …, and what goes. */
  plan(): { oldSet: (string | Buffer)[]; oldDelete: string[] } {
    const oldSet: (string | Buffer)[] = []
    const oldDelete: string[] = []
    for (const uid of this.#touched) {
      const kept = this.#kept.get(uid)
      const packed = kept && packKept(uid, kept)
      if (packed) oldSet.push(uid, packed)
      else oldDelete.push(uid)
    }
    return { oldSet, oldDelete }
  }
}

/** Undefined when it is too large. */
function packKept(uid: string, { resourceVersion, json }: Kept): Buffer | undefined {
  const raw = json()
  const packed = raw && packObject(uid, resourceVersion, raw)
  return packed && packed.length <= MAX_PACKED_BYTES ? packed : undefined
}

/** Made on first use; undefined instead of an error. */
function onceOrNot(make: () => Buffer): () => Buffer | undefined {
  let made: { json: Buffer | undefined } | undefined
  return () => {
    made ??= { json: attempt(make) }
    return made.json
  }
}

function attempt(make: () => Buffer): Buffer | undefined {
  try {
    return make()
  } catch {
    return undefined
  }
}
