import { expect, test } from 'vitest'
import { silentLog } from '../../src/observe/log.ts'
import { keysOf } from '../../src/store/keys.ts'
import { createWaker } from '../../src/store/lanes/waker.ts'
import { openRedis } from '../../src/store/redis/connection.ts'
import { createTroubles } from '../../src/store/redis/redis-fault.ts'
import { startRedis } from '../servers/redis.ts'

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
  const waker = createWaker({
    ...{ redis, keys, log: silentLog, troubles: createTroubles(silentLog) },
    ...{ queueConnection: open(), workerConnection: open(), onOutOfMemory() {} },
  })
  await redis.hset(keys.slots, 'hook/1', 'dead:1', 'hook/2', 'live:1')
  await redis.hset(keys.workers, 'live', '{}')
  return {
    waker,
    keysOfWakeUps: async (worker: string) =>
      (await redis.keys('*')).filter((key) => key.includes(`wake-${worker}`)),
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
