import { isByUid, sinkOf } from './lane-names.ts'
import { lanesIn, scanHash } from './pending.ts'
import type { Migration } from './schema.ts'

/** Of BullMQ, which woke lanes by a job for each. */
const LISTS = ['wait', 'active', 'paused'] as const
const SETS = ['delayed', 'prioritized', 'completed', 'failed'] as const
const OTHERS = ['meta', 'id', 'events', 'marker', 'stalled', 'stalled-check', 'pc', 'limiter'] as const

/**
 * Layout 1 chose lanes by the object's uid, so that an object that was made again could overtake its end. What waits in
 * those lanes stays there and is delivered first: lanes by name of the sink wait until they are empty.
 */
export const LANES_BY_NAME: Migration = {
  from: 1,
  to: 2,
  async migrate(redis, keys, write) {
    for await (const page of scanHash(redis, keys.pending)) {
      const lanes = [...lanesIn(page)]
      const former = lanes.filter(([lane, count]) => count > 0 && isByUid(lane)).map(([lane]) => lane)
      const empty = lanes.filter(([, count]) => count === 0).map(([lane]) => lane)
      await write((multi) => {
        if (former.length > 0) multi.sadd(keys.formerLanes, ...former)
        if (empty.length > 0) multi.hdel(keys.pending, ...empty)
        for (const sink of new Set(empty.map(sinkOf))) multi.hincrby(keys.pending, `${sink}/*`, 0)
        for (const [lane] of lanes) multi.unlink(keys.owner(lane), `${keys.bullmq}:lanes:de:${lane}`)
        for (const lane of empty) multi.unlink(keys.lane(lane), keys.progress(lane))
      })
    }
    const queue = (name: string) => `${keys.bullmq}:lanes:${name}`
    const ids = new Set<string>()
    for (const name of LISTS) for (const id of await redis.lrange(queue(name), 0, -1)) ids.add(id)
    for (const name of SETS) for (const id of await redis.zrange(queue(name), '0', '-1')) ids.add(id)
    await write((multi) => {
      for (const id of ids) multi.unlink(queue(id), `${queue(id)}:lock`)
      multi.unlink(...[...LISTS, ...SETS, ...OTHERS].map(queue))
    })
  },
}
