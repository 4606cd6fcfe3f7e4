import { expect, test } from 'vitest'
import { silentLog } from '../../src/observe/log.ts'
import { keysOf } from '../../src/store/keys.ts'
import { openRedis } from '../../src/store/redis/connection.ts'
import { keepSalt, readSalt, storeOf } from '../../src/store/redis/layout.ts'
import { startRedis } from '../servers/redis.ts'
import { waitFor } from '../wait-for.ts'

test('processes on one Redis have one salt, also those that start after it lost its data; another Redis has another', async () => {
  await using server = await startRedis()
  await using other = await startRedis()
  const keys = keysOf('test')
  const [redis, elsewhere] = [server, other].map(({ url }) => openRedis(url, 'work', silentLog))
  if (!redis || !elsewhere) throw new Error('two connections')
  const salt = await readSalt(redis, keys)
  const kept = keepSalt(redis, keys, salt)
  await server.command('FLUSHALL')
  await waitFor(async () => (await redis.exists(keys.salt)) === 1, { what: 'the salt to be stored again' })
  expect(await readSalt(redis, keys)).toEqual(salt)
  expect(storeOf(await readSalt(elsewhere, keys))).not.toBe(storeOf(salt))
  kept.close()
  redis.disconnect()
  elsewhere.disconnect()
})
