import type { ScannedObject, Source, Transition } from '../../model/change.ts'
import { type ClusterEvent, NO_SURROUNDINGS, type RelatedMetadata, type Resource } from '../../model/event.ts'
import type { JournalRecord, JournalSurroundings } from '../../model/journal-record.ts'
import { isEventKind } from '../../rules/kind.ts'

export interface ReplayParts {
  /** Returns the object of a JSON text; undefined if it is not one. */
  scan(bytes: Buffer): ScannedObject | undefined
  normalise(source: Source, transition: Transition, surroundings: RelatedMetadata): ClusterEvent
  /** Maximum bytes of previous objects in memory. */
  maxBytes?: number
  /** Older records yield no events; they only provide previous objects. */
  sinceMs?: number
  /** Called for a MODIFIED whose previous object is unknown; not for Events, which have none. */
  onUnknown?(resource: Resource): void
  /** Called for each record with its related metadata: what rules of its time did not use, it does not have. */
  onRelated?(related: JournalSurroundings): void
}

const MAX_BYTES = 64 * 1024 * 1024

/** Yields the events of records, each with its previous object; Events have none, as in a commit. Skips unreadable records. */
export async function* replay(
  records: AsyncIterable<JournalRecord> | Iterable<JournalRecord>,
  { scan, normalise, maxBytes = MAX_BYTES, sinceMs = 0, onUnknown, onRelated }: ReplayParts,
): AsyncGenerator<ClusterEvent> {
  const before = new States(maxBytes)
  for await (const { source, objectJson, around, ...record } of records) {
    const isReplayed = record.observedAtMs >= sinceMs
    const object = isReplayed ? scan(objectJson) : undefined
    const isEvent = isEventKind(source.resource)
    const old = isEvent ? undefined : before.of(record.uid)
    if (object && !old && !isEvent && record.type === 'MODIFIED') onUnknown?.(source.resource)
    const transition: Transition = {
      ...record,
      ...(object && { object }),
      isTrimmed: true,
      ...(around?.manager && { manager: around.manager }),
      ...(old && { old: () => old }),
    }
    if (record.type === 'DELETED') before.forget(record.uid)
    else if (!isEvent) before.keep(record.uid, objectJson)
    if (object && around) onRelated?.(around)
    if (object) yield normalise({ ...UNSELECTED, ...source }, transition, surroundingsOf(record.uid, around))
  }
}

/** Returns the related metadata of a record, as known when it was written. Owners that were not looked up are those that the object names. */
function surroundingsOf(
  own: string,
  { namespaceLabels, namespaceAnnotations, owners, regarding }: JournalSurroundings = {},
): RelatedMetadata {
  return {
    namespaceLabels: () => namespaceLabels,
    namespaceAnnotations: () => namespaceAnnotations,
    object: ({ uid }) => (uid === own ? { labels: {}, owners: owners ?? [] } : regarding),
    ownersOf: owners ? () => owners : NO_SURROUNDINGS.ownersOf,
  }
}

const UNSELECTED = { namespace: '', labelSelector: '', fieldSelector: '', initial: 'now' } as const

/** Previous objects; the least recently used is evicted first. */
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
