import type { Redis } from 'ioredis'
import type { Delivery } from '../../model/delivery.ts'
import { version } from '../../version.ts'
import { isUnreadable, readEntry, type Unreadable, UnreadableEntryError } from '../entry.ts'
import type { Keys } from '../keys.ts'
import { readReports } from '../process-reports.ts'
import { valuesOf } from '../redis/script.ts'
import { costOf } from './byte-budget.ts'
import { type Item, itemOf, type LaneEntryRead, type UnreadableItem } from './lane-entries.ts'

interface LaneRead {
  entries: LaneEntryRead[]
  /** There may be more behind. */
  more: boolean
  /** The next entry is of a newer version, which runs elsewhere and can read it. */
  awaitsNewer: boolean
}

/** How many notes of a lane's progress are read with it: more than one has, as a rule. */
const PROGRESS_PAGE = 1_000

/** Reads entries of a lane from `start` on, as XRANGE has it, up to the one with which they cost more than `most` in the byte budget. */
export async function readLane(
  redis: Redis,
  keys: Keys,
  lane: string,
  start: string,
  count: number,
  most = Number.POSITIVE_INFINITY,
): Promise<LaneRead> {
  const replies = await redis
    .pipeline()
    .xrangeBuffer(keys.lane(lane), start, '+', 'COUNT', count)
    .hscan(keys.progress(lane), 0, 'COUNT', PROGRESS_PAGE)
    .exec()
  const [rows, notes] = valuesOf(replies) as [[Buffer, Buffer[]][], [string, string[]]]
  const read: (ReadEntry & { id: string })[] = []
  let cost = 0
  for (const [id, fields] of rows) {
    if (cost > most) break
    const entry = readFields(fields)
    read.push({ id: id.toString(), ...entry })
    for (const part of entry.parts ?? []) cost += isUnreadable(part) ? part.payload.length : costOf(part)
  }
  const acked = await readAcked(redis, keys.progress(lane), notes, read)
  const entries: LaneEntryRead[] = []
  for (const entry of read) {
    if (entry.newer && (await runsOtherVersion(redis, keys)))
      return { entries, more: true, awaitsNewer: true }
    entries.push(entryOf(entry, decodePlaces(acked[entry.id], entry.count)))
  }
  return { entries, more: rows.length === count || read.length < rows.length, awaitsNewer: false }
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
async function readAcked(
  redis: Redis,
  key: string,
  [cursor, flat]: [string, string[]],
  entries: readonly { id: string }[],
): Promise<Record<string, string>> {
  const acked: Record<string, string> = {}
  if (String(cursor) === '0' || entries.length === 0) {
    for (let i = 0; i < flat.length; i += 2) acked[flat[i] as string] = flat[i + 1] as string
    return acked
  }
  const values = await redis.hmget(key, ...entries.map(({ id }) => id))
  for (const [i, { id }] of entries.entries()) {
    const value = values[i]
    if (value != null) acked[id] = value
  }
  return acked
}

function entryOf({ id, count, parts, whole }: ReadEntry & { id: string }, acked: Set<number>): LaneEntryRead {
  const open = Array.from({ length: count }, (_, place) => place).filter((place) => !acked.has(place))
  const unreadable: UnreadableItem[] = whole && open.length > 0 ? [{ ...whole, places: open }] : []
  const items: Item[] = []
  for (const place of parts ? open : []) {
    const part = parts?.[place]
    if (!part) continue
    if (isUnreadable(part)) unreadable.push({ ...part, places: [place] })
    else items.push(itemOf(part, id, place))
  }
  return { id, count, acked, items, unreadable }
}

/** The value of a field of a stream entry. */
export function findField(fields: readonly Buffer[], name: string): Buffer | undefined {
  for (let i = 0; i < fields.length; i += 2) if (fields[i]?.toString() === name) return fields[i + 1]
  return undefined
}

/** Returns the acknowledged places of an entry with `count` deliveries; other numbers are left out. */
export function decodePlaces(text: string | null | undefined, count: number): Set<number> {
  const places = text ? text.split(',').map(Number) : []
  return new Set(places.filter((place) => Number.isInteger(place) && place >= 0 && place < count))
}
