import type { Redis } from 'ioredis'
import type { Delivery } from '../delivery.ts'
import { decodeEntry } from './entry.ts'
import type { Keys } from './keys.ts'

/** One delivery as it lies in a lane. */
export interface Item {
  delivery: Delivery
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
}

/** How many entries a turn reads at once; each holds at most 60 deliveries. */
const ENTRIES = 4

export async function readHead(redis: Redis, keys: Keys, lane: string): Promise<Head> {
  const [[, rows], [, progress]] = (await redis
    .pipeline()
    .xrangeBuffer(keys.lane(lane), '-', '+', 'COUNT', ENTRIES)
    .hgetall(keys.progress(lane))
    .exec()) as [[null, [Buffer, Buffer[]][]], [null, Record<string, string>]]
  const failing = progress['failing']
  const failingSinceMs = failing === undefined ? undefined : Number(failing)
  const head: Head = { items: [], failingSinceMs, entries: new Map() }
  for (const [id, fields] of rows) addEntry(head, id.toString(), fieldOf(fields, 'z'), progress)
  return head
}

function addEntry(head: Head, entryId: string, payload: Buffer, progress: Record<string, string>): void {
  const deliveries = decodeEntry(payload)
  const settled = decodePlaces(progress[entryId])
  head.entries.set(entryId, { count: deliveries.length, settled })
  for (const [place, delivery] of deliveries.entries()) {
    if (settled.has(place)) continue
    const { uid, time } = delivery.event
    const tries = Number(progress[triesField({ entryId, place })] ?? 0)
    head.items.push({ delivery, uid, observedAtMs: Date.parse(time), entryId, place, tries })
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
