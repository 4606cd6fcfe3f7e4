import type { Delivery } from '../../model/delivery.ts'
import { isQuarantine, sinkOf } from '../../store/keys.ts'
import { readLane } from '../../store/lanes/lane-reader.ts'
import { lanesIn } from '../../store/lanes/register.ts'
import { readHash } from '../../store/redis/scan.ts'
import type { OpenQueue } from './open-queue.ts'

/** A delivery in its lane. */
interface WaitingDelivery {
  sink: string
  delivery: Delivery
  /** Its object fails while others succeed. */
  isQuarantined: boolean
}

const PAGE = 100
/** So many deliveries are looked at. */
const MOST = 50_000

/** Returns the deliveries that wait and are wanted; `isComplete` is false if more wait than are looked at. */
export async function findWaiting(
  { redis, keys }: OpenQueue,
  isWanted: (delivery: Delivery) => boolean,
): Promise<{ waiting: WaitingDelivery[]; isComplete: boolean }> {
  const waiting: WaitingDelivery[] = []
  let left = MOST
  const lanes = lanesIn(await readHash(redis, keys.pending))
  for (const [lane, count] of lanes) {
    if (count <= 0) continue
    for (let start = '-'; start !== ''; ) {
      const { entries, more } = await readLane(redis, keys, lane, start, PAGE)
      for (const { delivery } of entries.flatMap(({ items }) => items)) {
        if (left-- === 0) return { waiting, isComplete: false }
        if (isWanted(delivery))
          waiting.push({ sink: sinkOf(lane), delivery, isQuarantined: isQuarantine(lane) })
      }
      const last = entries.at(-1)
      start = more && last ? `(${last.id}` : ''
    }
  }
  return { waiting, isComplete: true }
}
