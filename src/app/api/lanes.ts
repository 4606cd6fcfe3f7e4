import type { Redis } from 'ioredis'
import { isQuarantine, type Keys, sinkOf, slotOf } from '../../store/keys.ts'
import { readLane } from '../../store/lanes/read-lane.ts'
import { lanesIn, oldestInLanes } from '../../store/lanes/register.ts'
import { workerOf } from '../../store/lanes/slot-plan.ts'
import { readReports } from '../../store/process-reports.ts'
import { readHash, scanHash } from '../../store/redis/scan.ts'
import { objectTitle } from '../../text/object-title.ts'
import type { Lane, Lanes } from './contract.ts'

const MOST_LANES = 1_000
/** Maximum number of quarantine lanes whose object is read. */
const MOST_OBJECTS = 100

/** Returns the lanes of a sink in which deliveries wait, those with the oldest one first. */
export async function lanesOf(redis: Redis, keys: Keys, sink: string): Promise<Lanes> {
  const waiting = new Map<string, number>()
  let isComplete = true
  for await (const page of scanHash(redis, keys.pending))
    for (const [lane, count] of lanesIn(page)) {
      if (count <= 0 || sinkOf(lane) !== sink) continue
      if (waiting.size < MOST_LANES || waiting.has(lane)) waiting.set(lane, count)
      else isComplete = false
    }
  const [oldest, slots, reports] = await Promise.all([
    oldestInLanes(redis, keys, [...waiting.keys()]),
    readHash(redis, keys.slots),
    readReports(redis, keys),
  ])
  const processes = new Map(reports.map(({ id, host, pid }) => [id, `${host} ${pid}`]))
  const items = [...waiting].map(([lane, pending]): Lane => {
    const oldestMs = oldest.get(lane)
    const process = processes.get(workerOf(slots.get(slotOf(lane))) ?? '')
    return {
      lane,
      pending,
      quarantine: isQuarantine(lane),
      ...(oldestMs !== undefined && { oldestMs }),
      ...(process !== undefined && { process }),
    }
  })
  const sorted = items.toSorted(
    (a, b) => (a.oldestMs ?? Number.POSITIVE_INFINITY) - (b.oldestMs ?? Number.POSITIVE_INFINITY),
  )
  for (const lane of sorted.filter(({ quarantine }) => quarantine).slice(0, MOST_OBJECTS)) {
    const object = await objectIn(redis, keys, lane.lane)
    if (object !== undefined) lane.object = object
  }
  return { items: sorted, isComplete }
}

async function objectIn(redis: Redis, keys: Keys, lane: string): Promise<string | undefined> {
  const { entries } = await readLane(redis, keys, lane, '-', 1)
  const event = entries[0]?.items[0]?.delivery.event
  return event && objectTitle(event)
}
