import type { Delivery } from '../delivery.ts'
import { encodeEntries, type LaneEntry } from './entry.ts'

/** The deliveries of one commit, packed per lane, in order. */
export type PackedLanes = ReadonlyMap<string, { sink: string; count: number; entries: LaneEntry[] }>

export function packLanes(
  deliveries: readonly Delivery[],
  laneOf: (delivery: Delivery) => string,
): PackedLanes {
  const packed = new Map<string, { sink: string; count: number; entries: LaneEntry[] }>()
  for (const [lane, some] of Map.groupBy(deliveries, laneOf)) {
    packed.set(lane, { sink: (some[0] as Delivery).sink, count: some.length, entries: encodeEntries(some) })
  }
  return packed
}
