import type { Delivery } from '../delivery.ts'
import { encodeEntries, type LaneEntry } from './entry.ts'
import type { Enqueued } from './lane-feed.ts'

interface PackedLane {
  sink: string
  count: number
  entries: LaneEntry[]
}

/** The deliveries of one commit, packed per lane, in order. */
export type PackedLanes = ReadonlyMap<string, PackedLane>

export function packLanes(
  deliveries: readonly Delivery[],
  laneOf: (delivery: Delivery) => string,
  keepsUp: (lane: string) => boolean = () => false,
): PackedLanes {
  const packed = new Map<string, PackedLane>()
  for (const [lane, some] of Map.groupBy(deliveries, laneOf)) {
    packed.set(lane, {
      sink: (some[0] as Delivery).sink,
      count: some.length,
      entries: encodeEntries(some, { plain: keepsUp(lane) }),
    })
  }
  return packed
}

/**
 * What was written, with the ids that Redis chose: `replies` are those of the commands that `writeLanes` queued. Without replies,
 * when they were lost, only which lanes got something.
 */
export function enqueuedOf(lanes: PackedLanes, replies?: readonly unknown[]): Enqueued[] {
  let at = 0
  return [...lanes].map(([lane, { sink, count, entries }]): Enqueued => {
    if (!replies) return { lane, sink, count }
    const stored = entries.map(({ deliveries }) => ({ id: String(replies[at++]), deliveries }))
    at++
    return { lane, sink, count, stored: { entries: stored, total: Number(replies[at++]) } }
  })
}
