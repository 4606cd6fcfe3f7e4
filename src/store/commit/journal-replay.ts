import type { ScannedObject, Source, Transition } from '../change.ts'
import type { ClusterEvent, Resource } from '../event.ts'
import type { JournalRecord, JournalSurroundings } from '../journal-record.ts'
import type { Surroundings } from '../surroundings.ts'

export interface ReplayParts {
  /** Reads an object's identity. */
  scan(bytes: Buffer): ScannedObject | undefined
  normalise(source: Source, transition: Transition, surroundings: Surroundings): ClusterEvent
  /** Of states before, at most so many bytes are held. */
  maxBytes?: number
  /** What is older tells no more than what objects were before. */
  sinceMs?: number
  /** An object changed, and what it was before is not known. */
  onUnknown?(resource: Resource): void
}

const MAX_BYTES = 64 * 1024 * 1024

/** Makes events of records, each with the state that its object had before. What cannot be read is passed over. */
export async function* replay(
  records: AsyncIterable<JournalRecord>,
  { scan, normalise, maxBytes = MAX_BYTES, sinceMs = 0, onUnknown }: ReplayParts,
): AsyncGenerator<ClusterEvent> {
  const before = new States(maxBytes)
  for await (const { source, objectJson, around, ...record } of records) {
    const isTold = record.observedAtMs >= sinceMs
    const object = isTold ? scan(objectJson) : undefined
    const old = before.of(record.uid)
    if (object && !old && record.type === 'MODIFIED') onUnknown?.(source.resource)
    const transition: Transition = {
      ...record,
      ...(object && { object }),
      isTrimmed: true,
      ...(around?.manager && { manager: around.manager }),
      ...(old && { old: () => old }),
    }
    if (record.type === 'DELETED') before.forget(record.uid)
    else before.keep(record.uid, objectJson)
    if (object) yield normalise({ ...UNSELECTED, ...source }, transition, surroundingsOf(record.uid, around))
  }
}

/** The surroundings of one record, as they were known then. */
function surroundingsOf(
  own: string,
  { namespaceLabels, owners = [], regarding }: JournalSurroundings = {},
): Surroundings {
  return {
    namespaceLabels: () => namespaceLabels,
    object: ({ uid }) => (uid === own ? { labels: {}, owners } : regarding),
    ownersOf: () => owners,
  }
}

const UNSELECTED = { namespace: '', labelSelector: '', fieldSelector: '', initial: 'now' } as const

/** What was touched longest ago goes first. */
class States {
  readonly #states = new Map<string, Buffer>()
  readonly #maxBytes: number
  #bytes = 0

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes
  }

  of(uid: string): Buffer | undefined {
    return this.#states.get(uid)
  }

  forget(uid: string): void {
    this.#bytes -= this.#states.get(uid)?.length ?? 0
    this.#states.delete(uid)
  }

  keep(uid: string, json: Buffer): void {
    this.forget(uid)
    // A copy: the bytes are a part of something larger.
    this.#states.set(uid, Buffer.from(json))
    this.#bytes += json.length
    for (const [oldest] of this.#states) {
      if (this.#bytes <= this.#maxBytes) return
      this.forget(oldest)
    }
  }
}
