import type { ScannedObject, Transition } from '../change.ts'
import { compress, decompress, ZSTD_DICTIONARY_1 } from './packing.ts'

/** Larger ones are not kept: their changes are told without old values. */
const MAX_PACKED_BYTES = 256 * 1024
const MAX_VERSION_BYTES = 255

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
      const kept = values[i] ? unpackObject(values[i]) : undefined
      if (kept) this.#kept.set(uid, kept)
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
      const packed = kept && packObject(kept)
      if (packed) oldSet.push(uid, packed)
      else oldDelete.push(uid)
    }
    return { oldSet, oldDelete }
  }
}

/** Format, length of the version, version, compressed JSON; undefined when it is too large. */
function packObject({ resourceVersion, json }: Kept): Buffer | undefined {
  const version = Buffer.from(resourceVersion)
  const raw = json()
  if (!raw || version.length > MAX_VERSION_BYTES) return undefined
  const packed = compress(raw)
  if (packed.length > MAX_PACKED_BYTES) return undefined
  return Buffer.concat([Buffer.of(ZSTD_DICTIONARY_1, version.length), version, packed])
}

/** Undefined when it is of another format. */
function unpackObject(value: Buffer): Kept | undefined {
  const [format, length = 0] = value
  if (format !== ZSTD_DICTIONARY_1) return undefined
  const resourceVersion = value.toString('utf8', 2, 2 + length)
  return { resourceVersion, json: onceOrNot(() => decompress(value.subarray(2 + length))) }
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
