import { hostname } from 'node:os'
import { silentLog } from '../../src/observe/log.ts'
import { keysOf, slotsOf } from '../../src/store/keys.ts'
import { LaneSlots, type LaneSlotsParts } from '../../src/store/lanes/lane-slots.ts'
import { LiveProcesses } from '../../src/store/lanes/live-processes.ts'
import { openRedis } from '../../src/store/redis/connection.ts'
import { createTroubles } from '../../src/store/redis/redis-fault.ts'
import { startRedis } from '../servers/redis.ts'

/** The slots of workers that deliver nothing, on a real Redis. */
export async function startSlotsBed() {
  const stack = new AsyncDisposableStack()
  const server = stack.use(await startRedis())
  const redis = openRedis(server.url, 'work', silentLog)
  stack.defer(() => redis.disconnect())
  const keys = keysOf('test')

  function startSlots(about: Partial<LaneSlotsParts> = {}): LaneSlots {
    const slots = new LaneSlots({
      ...{ redis, keys, log: silentLog, troubles: createTroubles(silentLog), clock: Date },
      processes: new LiveProcesses('taker'),
      sinks: () => ['hook'],
      onTaken() {},
      onLost() {},
      onGone() {},
      drain: async () => true,
      onKept() {},
      onBeat() {},
      onOutOfMemory() {},
      ...about,
    })
    stack.defer(() => slots.close())
    slots.start()
    return slots
  }

  /** A worker that owns all slots and whose heartbeat stops, as if its event loop were blocked. */
  async function putSilentWorker(id: string, about: object): Promise<void> {
    const beat = { id, host: hostname(), pid: process.pid, sinks: ['hook'], beat: 7, ...about }
    const tokens = slotsOf('hook').flatMap((slot) => [slot, `${id}:1`])
    await redis
      .multi()
      .hset(keys.workers, id, JSON.stringify(beat))
      .hset(keys.slots, ...tokens, 'version', 1)
      .exec()
  }
  return { redis, keys, startSlots, putSilentWorker, [Symbol.asyncDispose]: () => stack.disposeAsync() }
}
