import type { Redis } from 'ioredis'
import type { Delivery } from '../delivery.ts'
import { decodeEntry, readyMs } from './entry.ts'
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
}

/** How many entries are read at once; each holds at most 60 deliveries. */
const ENTRIES = 4
const MORE_ENTRIES = 16
/** Beyond that a lane waits for what is set aside at its head. */
const MAX_ENTRIES = 200
/** A failure longer ago is no part of an outage: nobody tried meanwhile. Sinks may ask for pauses of an hour. */
const OUTAGE_GAP_MS = 7_200_000

export async function readHead(redis: Redis, keys: Keys, lane: string, nowMs: number): Promise<Head> {
  return readOn(
    redis,
    keys,
    lane,
    { items: [], failingSinceMs: undefined, entries: new Map(), more: true, bytes: 0 },
    nowMs,
  )
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
    .hgetall(keys.progress(lane))
    .exec()
  const [rows, progress] = valuesOf(replies) as [[Buffer, Buffer[]][], Record<string, string>]
  const { failing, failed } = progress
  const recent = failing !== undefined && nowMs - Number(failed ?? failing) <= OUTAGE_GAP_MS
  const next: Head = {
    items: [...head.items],
    failingSinceMs: recent ? Number(failing) : undefined,
    entries: new Map(head.entries),
    more: false,
    bytes: head.bytes,
  }
  for (const [id, fields] of rows) addEntry(next, id.toString(), fieldOf(fields, 'z'), progress)
  next.more = rows.length === count && next.entries.size < MAX_ENTRIES
  return next
}

function addEntry(head: Head, entryId: string, payload: Buffer, progress: Record<string, string>): void {
  const deliveries = decodeEntry(payload)
  const settled = decodePlaces(progress[entryId])
  head.entries.set(entryId, { count: deliveries.length, settled })
  for (const [place, delivery] of deliveries.entries()) {
    if (settled.has(place)) continue
    const { kind, namespace, name } = delivery.event
    const uid = delivery.order ?? [kind, namespace, name].join('/')
    const tries = Number(progress[triesField({ entryId, place })] ?? 0)
    head.bytes += delivery.objectJson.length
    head.items.push({ delivery, uid, observedAtMs: readyMs(delivery), entryId, place, tries })
  }
}

/** The value of a field of a stream entry. */
export function fieldOf(fields: readonly Buffer[], name: string): Buffer {
  for (let i = 0; i < fields.length; i += 2)
    if (fields[i]?.equals(Buffer.from(name))) return fields[i + 1] as Buffer
  throw new Error(`a lane entry has no field ${name}`)
}

/** Field of the progress hash that counts the tries of one delivery. */
export function triesField({ entryId, place }: { entryId: string; place: number }): string {
  return `${entryId}/${place}`
}

/** Places as a comma-separated list: at most 60 short numbers. */
export function encodePlaces(places: ReadonlySet<number>): string {
  return [...places].join(',')
}

function decodePlaces(text: string | undefined): Set<number> {
  return new Set(text ? text.split(',').map(Number) : [])
}
