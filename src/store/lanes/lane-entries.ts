import type { Delivery } from '../../model/delivery.ts'
import { orderOf } from '../../sink/order.ts'
import { redactMessage } from '../../text/redact.ts'
import { encodeEntries, type LaneEntry, readyMs, type Unreadable } from '../entry.ts'
import type { Attempts, RecordOf } from '../history/history.ts'
import type { Acknowledgement, DeadLetter, DeadReason, FailureNote, Move } from './ack-script.ts'
import { costOf } from './byte-budget.ts'

/** One delivery as it is stored in a lane. */
export interface Item {
  delivery: Delivery
  /** What it is kept in order with: the object by its name, or a group. */
  chain: string
  observedAtMs: number
  entryId: string
  /** Its place in the entry. */
  place: number
  /** How often it was tried before, as far as is known. */
  tries: number
  /** Those of this process, for the history. */
  attempts?: Attempts
  /** What it counts in the byte budget. */
  cost: number
  /** Its container's log is being read: neither it nor later ones of its chain are sent before. */
  awaitsLog?: boolean
}

/** An entry as it was read: what of it waits. */
export interface LaneEntryRead {
  id: string
  /** How many deliveries it has. */
  count: number
  /** Places that are acknowledged. */
  acked: ReadonlySet<number>
  items: readonly Item[]
  /** What cannot be read: to be kept as dead letters. */
  unreadable: readonly UnreadableItem[]
}

/** Deliveries of one entry that cannot be read: one, or all of them. */
export interface UnreadableItem extends Unreadable {
  places: readonly number[]
}

/** What a commit of this process has written. */
export interface FedEntry {
  id: string
  deliveries: readonly Delivery[]
}

/** An item of a delivery that is in memory already. */
export function itemOf(delivery: Delivery, entryId: string, place: number): Item {
  return {
    delivery,
    chain: orderOf(delivery),
    observedAtMs: readyMs(delivery),
    entryId,
    place,
    tries: 0,
    cost: costOf(delivery),
  }
}

/** Entries that a commit of this process wrote, as if they were read. */
export function fedEntries(entries: readonly FedEntry[]): LaneEntryRead[] {
  return entries.map(({ id, deliveries }) => {
    const items = deliveries.map((delivery, place) => itemOf(delivery, id, place))
    return { id, count: deliveries.length, acked: new Set(), items, unreadable: [] }
  })
}

/** What deliveries count in the byte budget. */
export function costOfAll(items: readonly Item[]): number {
  return items.reduce((sum, { cost }) => sum + cost, 0)
}

/** An entry of which something is not acknowledged yet, as far as this process knows. */
interface Entry {
  count: number
  settled: Set<number>
  /** Those whose acknowledgement is durable. */
  acknowledged: Set<number>
  /** Places in memory. */
  open: Set<number>
}

/** Whether a delivery is to be given up; it is not while it leaves its lane by itself. */
export type IsSelected = (item: Item, isLeaving: boolean) => boolean

/** What of an entry was not known before. */
interface Taken {
  items: Item[]
  unreadable: UnreadableItem[]
  /** All of it was acknowledged before it was known. */
  isSettled: boolean
}

/** The entries of a lane that this process has read and not acknowledged, and the acknowledgements of their deliveries. */
export class LaneEntries {
  readonly #entries = new Map<string, Entry>()
  readonly #recordOf: RecordOf

  /** `recordOf` makes what the history keeps of a delivery. */
  constructor(recordOf: RecordOf = () => []) {
    this.#recordOf = recordOf
  }

  get size(): number {
    return this.#entries.size
  }

  /** Takes over what was read or fed; what is known already is passed over. */
  take({ id, count, acked, items, unreadable }: LaneEntryRead): Taken {
    const known = this.#entries.get(id)
    const entry = known ?? newEntry(count, acked)
    this.#entries.set(id, entry)
    const broken = unreadable.filter(({ places }) => !places.some((place) => entry.settled.has(place)))
    for (const { places } of broken) for (const place of places) entry.settled.add(place)
    const fresh = items.filter(({ place }) => !entry.open.has(place) && !entry.settled.has(place))
    for (const { place } of fresh) entry.open.add(place)
    const isSettled = !known && entry.settled.size === count && unreadable.length === 0
    return { items: fresh, unreadable: broken, isSettled }
  }

  /**
   * Returns the selected deliveries of `read` that are not in flight: `idle` ones in memory, and others that are known from now on.
   * `isSelected` is asked about those that leave by themselves, too: they are delivered and not acknowledged yet, or in flight while
   * the sink `passes`.
   */
  claim(
    read: readonly LaneEntryRead[],
    idle: Iterable<Item>,
    isSelected: IsSelected,
    { passes }: { passes: boolean },
  ): { held: Item[]; fresh: Item[] } {
    const placeOf = ({ entryId, place }: Item) => `${entryId}/${place}`
    const inMemory = new Map([...idle].map((item) => [placeOf(item), item]))
    const held: Item[] = []
    const fresh: Item[] = []
    for (const { id, count, acked, items } of read) {
      const entry = this.#entries.get(id) ?? newEntry(count, acked)
      for (const item of items) {
        const own = inMemory.get(placeOf(item))
        const isLeaving = entry.settled.has(item.place) || (passes && !own && entry.open.has(item.place))
        if (!isSelected(item, isLeaving) || isLeaving) continue
        if (own) held.push(own)
        else if (!entry.open.has(item.place)) fresh.push(item)
        else continue
        this.#entries.set(id, entry)
      }
    }
    return { held, fresh }
  }

  /** They were delivered: one acknowledgement for each entry. */
  delivered(items: readonly Item[]): Acknowledgement[] {
    for (const item of items) this.#settle(item)
    const byEntry = Map.groupBy(items, ({ entryId }) => entryId)
    return [...byEntry].map(([entryId, some]) => ({
      entryId,
      count: this.#countOf(some[0] as Item),
      places: some.map(({ place }) => place),
      records: some.flatMap((item) => this.#recordOf(item, { outcome: 'delivered' })),
    }))
  }

  /** It is given up. */
  dead(item: Item, reason: DeadReason, detail: string, atMs: number): Acknowledgement {
    const records = this.#recordOf(item, { outcome: 'dead', reason, detail })
    return { ...this.#one(item), dead: deadLetterOf(item, { reason, detail, atMs }), records }
  }

  /** They move to the lane of their chain, in order; `note` is of the first. */
  moved(items: readonly Item[], laneOf: (item: Item) => string, note?: FailureNote): Acknowledgement[] {
    return items.map((item, i) => ({
      ...this.#one(item),
      move: moveOf(item, laneOf(item), i === 0 ? note : undefined),
      records: item.attempts ? this.#recordOf(item, { outcome: 'failed' }) : [],
    }))
  }

  /** These acknowledgements are durable. Forgets entries of which all are; returns their ids. */
  end(acks: readonly Acknowledgement[]): string[] {
    for (const { entryId, places } of acks)
      for (const place of places) this.#entries.get(entryId)?.acknowledged.add(place)
    const ended = acks.map(({ entryId }) => entryId).filter((id) => this.#isAcknowledged(id))
    for (const id of ended) this.#entries.delete(id)
    return ended
  }

  /** Lets go of deliveries; they stay in Redis. */
  forget(items: readonly Item[]): void {
    for (const { entryId, place } of items) {
      const entry = this.#entries.get(entryId)
      entry?.open.delete(place)
      if (entry && entry.open.size === 0 && entry.settled.size === 0) this.#entries.delete(entryId)
    }
  }

  /** Forgets entries of which nothing is in memory and no acknowledgement is under way: Redis may have lost them. */
  forgetAcknowledged(): void {
    for (const [id, { open, settled, acknowledged }] of this.#entries)
      if (open.size === 0 && settled.isSubsetOf(acknowledged)) this.#entries.delete(id)
  }

  #one(item: Item): { entryId: string; count: number; places: number[] } {
    this.#settle(item)
    return { entryId: item.entryId, count: this.#countOf(item), places: [item.place] }
  }

  #settle({ entryId, place }: Item): void {
    const entry = this.#entries.get(entryId)
    entry?.open.delete(place)
    entry?.settled.add(place)
  }

  #isAcknowledged(id: string): boolean {
    const entry = this.#entries.get(id)
    return entry !== undefined && entry.acknowledged.size >= entry.count
  }

  #countOf({ entryId }: Item): number {
    return this.#entries.get(entryId)?.count ?? 1
  }
}

function newEntry(count: number, acked: ReadonlySet<number>): Entry {
  return { count, settled: new Set(acked), acknowledged: new Set(acked), open: new Set() }
}

/** The acknowledgement of an entry, or a part of it, that cannot be read. */
export function unreadableAck(id: string, count: number, it: UnreadableItem, atMs: number): Acknowledgement {
  return { entryId: id, count, places: it.places, dead: unreadableLetterOf(it, atMs) }
}

/** The dead letter of one delivery; `atMs` is Unix time. */
export function deadLetterOf(
  { delivery }: Item,
  { reason, detail, atMs }: { reason: DeadReason; detail: string; atMs: number },
): DeadLetter {
  const { payload } = encoded(delivery)
  return { rule: delivery.rule, reason, detail: redactMessage(detail), atMs, payload, count: 1 }
}

/** The dead letter of what cannot be read: its bytes as they are; `atMs` is Unix time. */
function unreadableLetterOf({ detail, payload, places }: UnreadableItem, atMs: number): DeadLetter {
  const about = { rule: '', reason: 'unreadable' as const, detail: detail.slice(0, 2_048) }
  return { ...about, atMs, payload, count: places.length }
}

/** The way of one delivery into the lane of its chain. */
function moveOf({ delivery }: Item, to: string, note?: FailureNote): Move {
  const { observedAtMs, payload } = encoded(delivery)
  return { to, observedAtMs, payload, note }
}

function encoded(delivery: Item['delivery']): LaneEntry {
  return encodeEntries([delivery])[0] as LaneEntry
}
