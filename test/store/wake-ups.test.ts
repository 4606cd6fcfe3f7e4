import { isDeepStrictEqual } from 'node:util'
import { expect, test } from 'vitest'
import { silentLog } from '../../src/observe/log.ts'
import { keysOf, slotOf } from '../../src/store/keys.ts'
import { createWaker, listen } from '../../src/store/lanes/waker.ts'
import { openRedis } from '../../src/store/redis/connection.ts'
import { createTroubles, type Troubles } from '../../src/store/redis/redis-fault.ts'
import { startRedis } from '../servers/redis.ts'
import { waitFor } from '../wait-for.ts'

/** A process that commits may believe for a second that a dead worker lives: what it leaves there must not stay. */

async function startBed() {
  const stack = new AsyncDisposableStack()
  const server = stack.use(await startRedis())
  const open = () => {
    const redis = openRedis(server.url, 'work', silentLog)
    stack.defer(() => redis.disconnect())
    return redis
  }
  const [redis, keys] = [open(), keysOf('test')]
  const newParts = () => ({
    ...{ redis, keys, log: silentLog, troubles: createTroubles(silentLog) },
    ...{ queueConnection: open(), workerConnection: open(), onOutOfMemory() {} },
  })
  const parts = newParts()
  const waker = createWaker(parts)
  await redis.hset(keys.slots, 'hook/1', 'dead:1', 'hook/2', 'live:1')
  await redis.hset(keys.workers, 'live', '{}')
  return {
    waker,
    queueConnection: parts.queueConnection,
    /** Gives the slot of a lane to a worker. */
    assign: (lane: string, worker: string) => redis.hset(keys.slots, slotOf(lane), `${worker}:1`),
    keysOfWakeUps: async (worker: string) =>
      (await redis.keys('*')).filter((key) => key.includes(`wake-${worker}`)),
    /** Receives the wake-ups of `live`. Returns its troubles with Redis. */
    listen(onLane: (lane: string) => void): Troubles {
      const parts = newParts()
      const listener = listen(parts, 'live', onLane)
      stack.defer(() => listener.close())
      return parts.troubles
    },
    /** Makes Redis refuse writes, or accept them again. */
    refuseWrites: (isRefused: boolean) =>
      server.command('CONFIG', 'SET', 'min-replicas-to-write', isRefused ? '1' : '0'),
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  }
}

test('wake-ups of a worker without a heartbeat leave no keys, those of others do', async () => {
  await using it = await startBed()
  it.waker.wake(['hook/n1', 'hook/n2'])
  await it.waker.close()
  expect(await it.keysOfWakeUps('dead')).toEqual([])
  expect(await it.keysOfWakeUps('live')).not.toEqual([])
})

test('a lane is woken again after Redis refused the end of its wake-up', async () => {
  await using it = await startBed()
  let wakeUps = 0
  const troubles = it.listen(async () => {
    if (++wakeUps === 1) await it.refuseWrites(true)
  })
  it.waker.wake(['hook/n2'])
  await waitFor(() => troubles.first(), { what: 'a refusal of the end of the first wake-up' })
  await it.refuseWrites(false)
  const isWoken = () => {
    it.waker.wake(['hook/n2'])
    return wakeUps > 1
  }
  await waitFor(isWoken, { what: 'another wake-up of the lane' })
})

test('workers that are gone leave no listeners at the connection', async () => {
  await using it = await startBed()
  // Until it is ready the connection has listeners of its own.
  await it.queueConnection.ping()
  const listeners = () =>
    it.queueConnection.eventNames().map((name) => it.queueConnection.listenerCount(name))
  const before = listeners()
  const lanes = Array.from({ length: 5 }, (_, i) => `chat/n${i}`)
  for (const lane of lanes) await it.assign(lane, `gone-${lane}`)
  it.waker.wake(lanes)
  await it.waker.close()
  await waitFor(() => isDeepStrictEqual(listeners(), before), {
    what: () => `${before} listeners, not ${listeners()}`,
  })
})
