import type { Redis } from 'ioredis'
import type { Delivery } from '../delivery.ts'
import { orderOf } from '../sink/lane.ts'
import { version } from '../version.ts'
import { costOf } from './byte-budget.ts'
import { isUnreadable, readEntry, readyMs, type Unreadable, UnreadableEntryError } from './entry.ts'
import { readReports } from './instances.ts'
import type { Keys } from './keys.ts'
import { valuesOf } from './replies.ts'

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
  /** What it counts in the byte budget. */
  cost: number
}

/** An entry as it was read: what of it waits. */
export interface LaneEntryRead {
  id: string
  /** How many deliveries it has. */
  count: number
  /** Places that are acknowledged. */
  settled: ReadonlySet<number>
  items: readonly Item[]
  /** What cannot be read: to be kept as dead letters. */
  unreadable: readonly UnreadableItem[]
}

/** Deliveries of one entry that cannot be read: one, or all of them. */
export interface UnreadableItem extends Unreadable {
  places: readonly number[]
}

export interface LaneRead {
  entries: LaneEntryRead[]
  /** There may be more behind. */
  more: boolean
  /** The next entry is of a newer version, which runs elsewhere and can read it. */
  awaitsNewer: boolean
}

/** How many notes of a lane's progress are read with it: more than one has, as a rule. */
const PROGRESS_PAGE = 1_000

/** Reads entries of a lane from `start` on, as XRANGE has it. */
export async function readLane(
  redis: Redis,
  keys: Keys,
  lane: string,
  start: string,
  count: number,
): Promise<LaneRead> {
  const replies = await redis
    .pipeline()
    .xrangeBuffer(keys.lane(lane), start, '+', 'COUNT', count)
    .hscan(keys.progress(lane), 0, 'COUNT', PROGRESS_PAGE)
    .exec()
  const [rows, notes] = valuesOf(replies) as [[Buffer, Buffer[]][], [string, string[]]]
  const read = rows.map(([id, fields]) => ({ id: id.toString(), ...readFields(fields) }))
  const settled = await readSettled(redis, keys.progress(lane), notes, read)
  const entries: LaneEntryRead[] = []
  for (const entry of read) {
    if (entry.newer && (await runsOtherVersion(redis, keys)))
      return { entries, more: true, awaitsNewer: true }
    entries.push(entryOf(entry, decodePlaces(settled[entry.id], entry.count)))
  }
  return { entries, more: rows.length === count, awaitsNewer: false }
}

/** An item of a delivery that is in memory already. */
export function itemOf(delivery: Delivery, entryId: string, place: number): Item {
  const { tries, ...item } = { delivery, chain: orderOf(delivery), tries: 0 }
  return { ...item, tries, observedAtMs: readyMs(delivery), entryId, place, cost: costOf(delivery) }
}

/** An entry as it was read. */
interface ReadEntry {
  count: number
  /** One of each delivery; undefined when nothing can be read. */
  parts?: (Delivery | Unreadable)[]
  whole?: Unreadable
  newer?: boolean
}

/** What the fields of a lane's entry hold. Never throws for what they hold. */
export function readFields(fields: readonly Buffer[]): ReadEntry {
  const counted = countIn(fields)
  const payload = findField(fields, 'z')
  if (!payload) {
    const kept = JSON.stringify(fields.map((field) => field.toString('base64')))
    return { count: counted ?? 1, whole: { detail: 'the entry has no field z', payload: Buffer.from(kept) } }
  }
  try {
    const parts = readEntry(payload)
    if (counted === undefined || parts.length === counted) return { count: parts.length, parts }
    const detail = `the entry holds ${parts.length} deliveries instead of ${counted}`
    return { count: counted, whole: { detail, payload } }
  } catch (error) {
    if (!(error instanceof UnreadableEntryError)) throw error
    return { count: counted ?? 1, whole: { detail: error.message, payload }, newer: error.newer }
  }
}

/** The number of deliveries in the field `n` of an entry; undefined when it is missing or no number. */
export function countIn(fields: readonly Buffer[]): number | undefined {
  const text = findField(fields, 'n')?.toString() ?? ''
  return /^[1-9]\d{0,3}$/.test(text) ? Number(text) : undefined
}

/** While an update is under way; the others would keep as a dead letter what it could deliver. */
async function runsOtherVersion(redis: Redis, keys: Keys): Promise<boolean> {
  const reports = await readReports(redis, keys)
  return reports.some((it) => it.version !== version)
}

/** Entry id → acknowledged places. The whole hash where it is small; of a large one, which others wrote, what these entries need. */
async function readSettled(
  redis: Redis,
  key: string,
  [cursor, flat]: [string, string[]],
  entries: readonly { id: string }[],
): Promise<Record<string, string>> {
  const settled: Record<string, string> = {}
  if (String(cursor) === '0' || entries.length === 0) {
    for (let i = 0; i < flat.length; i += 2) settled[flat[i] as string] = flat[i + 1] as string
    return settled
  }
  const values = await redis.hmget(key, ...entries.map(({ id }) => id))
  for (const [i, { id }] of entries.entries()) {
    const value = values[i]
    if (value != null) settled[id] = value
  }
  return settled
}

function entryOf(
  { id, count, parts, whole }: ReadEntry & { id: string },
  settled: Set<number>,
): LaneEntryRead {
  const open = Array.from({ length: count }, (_, place) => place).filter((place) => !settled.has(place))
  const unreadable: UnreadableItem[] = whole && open.length > 0 ? [{ ...whole, places: open }] : []
  const items: Item[] = []
  for (const place of parts ? open : []) {
    const part = parts?.[place]
    if (!part) continue
    if (isUnreadable(part)) unreadable.push({ ...part, places: [place] })
    else items.push(itemOf(part, id, place))
  }
  return { id, count, settled, items, unreadable }
}

/** The value of a field of a stream entry. */
export function findField(fields: readonly Buffer[], name: string): Buffer | undefined {
  for (let i = 0; i < fields.length; i += 2) if (fields[i]?.toString() === name) return fields[i + 1]
  return undefined
}

/** The acknowledged places of an entry with so many deliveries; what is no place of it is ignored. */
export function decodePlaces(text: string | null | undefined, count: number): Set<number> {
  const places = text ? text.split(',').map(Number) : []
  return new Set(places.filter((place) => Number.isInteger(place) && place >= 0 && place < count))
}
