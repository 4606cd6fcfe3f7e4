import type { Redis } from 'ioredis'
import type { Delivery } from '../../model/delivery.ts'
import { TimeSlice } from '../../text/yielding.ts'
import { isQuarantine, type Keys, sinkOf } from '../keys.ts'
import { readHash } from '../redis/scan.ts'
import { readLane } from './lane-reader.ts'
import { lanesIn } from './register.ts'

/** A delivery in its lane. */
export interface WaitingDelivery {
  sink: string
  lane: string
  delivery: Delivery
  /** Its object fails while others succeed. */
  isQuarantined: boolean
}

export interface WaitingBounds {
  /** So many deliveries are looked at. */
  most?: number
  /** For so long. */
  withinMs?: number
}

const PAGE = 100
const MOST = 50_000

/** Returns the deliveries that wait and are wanted; `isComplete` is false if more wait than are looked at. */
export async function findWaiting(
  { redis, keys }: { redis: Redis; keys: Keys },
  isWanted: (delivery: Delivery) => boolean,
  { most = MOST, withinMs = Number.POSITIVE_INFINITY }: WaitingBounds = {},
): Promise<{ waiting: WaitingDelivery[]; isComplete: boolean }> {
  const waiting: WaitingDelivery[] = []
  const endMs = performance.now() + withinMs
  const timeSlice = new TimeSlice()
  let left = most
  for (const [lane, count] of lanesIn(await readHash(redis, keys.pending))) {
    if (count <= 0) continue
    for (let start = '-'; start !== ''; ) {
      if (performance.now() > endMs) return { waiting, isComplete: false }
      const { entries, more } = await readLane(redis, keys, lane, start, PAGE)
      for (const { delivery } of entries.flatMap(({ items }) => items)) {
        if (left-- === 0) return { waiting, isComplete: false }
        if (isWanted(delivery))
          waiting.push({ sink: sinkOf(lane), lane, delivery, isQuarantined: isQuarantine(lane) })
      }
      const last = entries.at(-1)
      start = more && last ? `(${last.id}` : ''
      if (timeSlice.isDue()) await timeSlice.take()
    }
  }
  return { waiting, isComplete: true }
}
