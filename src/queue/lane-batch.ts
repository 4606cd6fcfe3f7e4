import type { Redis } from 'ioredis'
import type { Delivery } from '../delivery.ts'
import { version } from '../version.ts'
import { isUnreadable, readEntry, readyMs, type Unreadable, UnreadableEntryError } from './entry.ts'
import { readReports } from './instances.ts'
import type { Keys } from './keys.ts'
import { valuesOf } from './replies.ts'

/** One delivery as it lies in a lane. */
export interface Item {
  delivery: Delivery
  /** Of the object, as its name: sinks may order by it, and one that was made again must not overtake its end. */
  uid: string
  observedAtMs: number
  entryId: string
  /** Its place in the entry. */
  place: number
  /** How often it failed alone before. */
  tries: number
}

/** The head of a lane: what is not settled yet, in order, and the entries it lies in. */
export interface Head {
  items: Item[]
  /** Since when every attempt of this lane failed; undefined while it succeeds. */
  failingSinceMs: number | undefined
  entries: Map<string, { count: number; settled: Set<number> }>
  /** There may be more behind its last entry. */
  more: boolean
  /** Of the objects in it, about. */
  bytes: number
  /** What cannot be read: to be kept as dead letters. */
  unreadable: UnreadableItem[]
  /** Entries of which everything is settled, although they are still there. */
  finished: string[]
  /** Its next entry is of a newer version, which runs elsewhere and can read it. */
  awaitsNewer: boolean
}

/** Deliveries of one entry that cannot be read: one, or all of them. */
export interface UnreadableItem extends Unreadable {
  entryId: string
  places: readonly number[]
}

/** How many entries are read at once; each holds at most 60 deliveries. */
const ENTRIES = 4
const MORE_ENTRIES = 16
/** Beyond that a lane waits for what is set aside at its head. */
const MAX_ENTRIES = 200
/** How many notes of a lane's progress are read with it: more than one has, as a rule. */
const PROGRESS_PAGE = 1_000
/** A failure longer ago is no part of an outage: nobody tried meanwhile. Sinks may ask for pauses of an hour. */
const OUTAGE_GAP_MS = 7_200_000

export async function readHead(redis: Redis, keys: Keys, lane: string, nowMs: number): Promise<Head> {
  return readOn(redis, keys, lane, { ...NOTHING_READ, more: true }, nowMs)
}

export const NOTHING_READ: Head = {
  items: [],
  failingSinceMs: undefined,
  entries: new Map(),
  more: false,
  bytes: 0,
  unreadable: [],
  finished: [],
  awaitsNewer: false,
}

/** Reads behind what was read: all of that is set aside. */
export async function readOn(
  redis: Redis,
  keys: Keys,
  lane: string,
  head: Head,
  nowMs: number,
): Promise<Head> {
  const last = [...head.entries.keys()].at(-1)
  const count = last === undefined ? ENTRIES : MORE_ENTRIES
  const replies = await redis
    .pipeline()
    .xrangeBuffer(keys.lane(lane), last === undefined ? '-' : `(${last}`, '+', 'COUNT', count)
    .hscan(keys.progress(lane), 0, 'COUNT', PROGRESS_PAGE)
    .exec()
  const [rows, notes] = valuesOf(replies) as [[Buffer, Buffer[]][], [string, string[]]]
  const read = rows.map(([id, fields]) => ({ id: id.toString(), ...readFields(fields) }))
  const progress = await readProgress(redis, keys.progress(lane), notes, read)
  const { failing, failed } = progress
  const recent = failing !== undefined && nowMs - Number(failed ?? failing) <= OUTAGE_GAP_MS
  const next: Head = {
    items: [...head.items],
    failingSinceMs: recent ? Number(failing) : undefined,
    entries: new Map(head.entries),
    more: false,
    bytes: head.bytes,
    unreadable: [...head.unreadable],
    finished: [...head.finished],
    awaitsNewer: false,
  }
  for (const entry of read) {
    if (entry.newer && (await runsOtherVersion(redis, keys))) return { ...next, awaitsNewer: true }
    addEntry(next, entry, progress)
  }
  next.more = rows.length === count && next.entries.size < MAX_ENTRIES
  return next
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

/** How many deliveries an entry counts itself; undefined when it does not tell. */
export function countIn(fields: readonly Buffer[]): number | undefined {
  const text = findField(fields, 'n')?.toString() ?? ''
  return /^[1-9]\d{0,3}$/.test(text) ? Number(text) : undefined
}

/** While an update is under way; the others would keep as a dead letter what it could deliver. */
async function runsOtherVersion(redis: Redis, keys: Keys): Promise<boolean> {
  const reports = await readReports(redis, keys)
  return reports.some((it) => it.version !== version)
}

/** The whole hash where it is small, as ever; of a large one, which others wrote, what these entries need. */
async function readProgress(
  redis: Redis,
  key: string,
  [cursor, flat]: [string, string[]],
  entries: readonly (ReadEntry & { id: string })[],
): Promise<Record<string, string>> {
  if (String(cursor) === '0') return pairsOf(flat)
  const names = ['failing', 'failed']
  for (const { id: entryId, count } of entries) {
    names.push(entryId)
    for (let place = 0; place < count; place++) names.push(triesField({ entryId, place }))
  }
  const values = await redis.hmget(key, ...names)
  return pairsOf(names.flatMap((name, i) => (values[i] == null ? [] : [name, values[i]])))
}

function pairsOf(flat: readonly string[]): Record<string, string> {
  const pairs: Record<string, string> = {}
  for (let i = 0; i < flat.length; i += 2) pairs[flat[i] as string] = flat[i + 1] as string
  return pairs
}

function addEntry(
  head: Head,
  { id: entryId, count, parts, whole }: ReadEntry & { id: string },
  progress: Record<string, string>,
): void {
  const settled = decodePlaces(progress[entryId], count)
  head.entries.set(entryId, { count, settled })
  if (settled.size === count) return void head.finished.push(entryId)
  const open = Array.from({ length: count }, (_, place) => place).filter((place) => !settled.has(place))
  if (whole) head.unreadable.push({ ...whole, entryId, places: open })
  for (const place of parts ? open : []) {
    const delivery = parts?.[place]
    if (!delivery) continue
    if (isUnreadable(delivery)) {
      head.unreadable.push({ ...delivery, entryId, places: [place] })
      continue
    }
    const { kind, namespace, name } = delivery.event
    const uid = delivery.order ?? [kind, namespace, name].join('/')
    const tries = Number(progress[triesField({ entryId, place })] ?? 0)
    head.bytes += delivery.objectJson.length
    head.items.push({
      delivery,
      uid,
      observedAtMs: readyMs(delivery),
      entryId,
      place,
      tries: Number.isSafeInteger(tries) && tries > 0 ? tries : 0,
    })
  }
}

/** The value of a field of a stream entry. */
export function findField(fields: readonly Buffer[], name: string): Buffer | undefined {
  for (let i = 0; i < fields.length; i += 2) if (fields[i]?.toString() === name) return fields[i + 1]
  return undefined
}

/** Field of the progress hash that counts the tries of one delivery. */
export function triesField({ entryId, place }: { entryId: string; place: number }): string {
  return `${entryId}/${place}`
}

/** Places as a comma-separated list: at most 60 short numbers. */
export function encodePlaces(places: ReadonlySet<number>): string {
  return [...places].join(',')
}

/** The settled places of an entry with so many deliveries; what is no place of it is ignored. */
export function decodePlaces(text: string | null | undefined, count: number): Set<number> {
  const places = text ? text.split(',').map(Number) : []
  return new Set(places.filter((place) => Number.isInteger(place) && place >= 0 && place < count))
}
