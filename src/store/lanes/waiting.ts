import type { Redis } from 'ioredis'
import type { Delivery } from '../../model/delivery.ts'
import { TimeSlice } from '../../text/yielding.ts'
import { isQuarantine, type Keys, sinkOf } from '../keys.ts'
import { readHash } from '../redis/scan.ts'
import { readLane } from './lane-reader.ts'
import { PageSize } from './page-size.ts'
import { lanesIn } from './register.ts'

/** A delivery, for the most part without its object, which is large and not needed to find it. */
export type FoundDelivery = Omit<Delivery, 'objectJson'> & Partial<Pick<Delivery, 'objectJson'>>

/** A delivery in its lane. */
export interface WaitingDelivery {
  sink: string
  lane: string
  delivery: FoundDelivery
  /** Its object fails while others succeed. */
  isQuarantined: boolean
}

export interface WaitingBounds {
  /** So many deliveries are looked at. */
  most?: number
  /** For so long. */
  withinMs?: number
  /** So many of those found keep their object; none by default. */
  objects?: number
}

/** Entries of one read, at most: each has up to 60 deliveries. */
const MOST_ENTRIES = 16
const MOST = 50_000

/** Returns the deliveries that wait and are wanted; `isComplete` is false if more wait than are looked at. */
export async function findWaiting(
  { redis, keys }: { redis: Redis; keys: Keys },
  isWanted: (delivery: FoundDelivery) => boolean,
  { most = MOST, withinMs = Number.POSITIVE_INFINITY, objects = 0 }: WaitingBounds = {},
): Promise<{ waiting: WaitingDelivery[]; isComplete: boolean }> {
  const waiting: WaitingDelivery[] = []
  const endMs = performance.now() + withinMs
  const timeSlice = new TimeSlice()
  let left = most
  for (const [lane, count] of lanesIn(await readHash(redis, keys.pending))) {
    if (count <= 0) continue
    const page = new PageSize(MOST_ENTRIES)
    for (let start = '-'; start !== ''; ) {
      if (performance.now() > endMs) return { waiting, isComplete: false }
      const { entries, more } = await readLane(redis, keys, lane, start, page.count)
      const read = entries.flatMap(({ items }) => items)
      for (const { delivery } of read) {
        if (left-- === 0) return { waiting, isComplete: false }
        if (!isWanted(delivery)) continue
        const found = waiting.length < objects ? delivery : withoutObject(delivery)
        waiting.push({ sink: sinkOf(lane), lane, delivery: found, isQuarantined: isQuarantine(lane) })
      }
      page.note(
        entries.length,
        read.reduce((sum, { cost }) => sum + cost, 0),
      )
      const last = entries.at(-1)
      start = more && last ? `(${last.id}` : ''
      if (timeSlice.isDue()) await timeSlice.take()
    }
  }
  return { waiting, isComplete: true }
}

export function withoutObject({ objectJson: _, ...header }: Delivery): FoundDelivery {
  return header
}
