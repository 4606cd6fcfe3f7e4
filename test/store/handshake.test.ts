import { expect, test, vi } from 'vitest'
import { silentLog } from '../../src/observe/log.ts'
import { openRedis, reachRedis } from '../../src/store/redis/connection.ts'
import { startRedis } from '../servers/redis.ts'
import { waitFor } from '../wait-for.ts'

const said = (url: string) =>
  reachRedis(url).then(
    () => 'reached',
    (error: Error) => error.message,
  )

test('a database that may not be used, or is not there, is told, and nothing is written into another', async () => {
  await using server = await startRedis()
  expect(await said(`${server.url}/99`)).toContain(
    'DB index is out of range; the number after the address in redis.url is of no database that it has',
  )
  await server.command('ACL', 'SETUSER', 'default', '-select')
  expect(await said(`${server.url}/3`)).toContain('may not run SELECT (NOPERM)')
  expect(await said(`${server.url}/3`)).toContain('ACL SETUSER … +select')
  const redis = openRedis(`${server.url}/3`, 'work', silentLog)
  const blocking = redis.duplicate() // as BullMQ makes one
  const faults = { redis: 0, blocking: 0 }
  redis.on('error', () => void faults.redis++)
  blocking.on('error', () => void faults.blocking++)
  const writes = [redis.set('a', '1'), blocking.connect().then(() => blocking.set('b', '1'))]
  for (const write of writes) write.catch(() => {})
  await waitFor(() => faults.redis > 2 && faults.blocking > 0, { what: 'some attempts' })
  expect(await server.command('KEYS', '*')).toEqual([])
  // Once it may, what waited is written where it belongs.
  await server.command('ACL', 'SETUSER', 'default', '+select')
  await writes[0]
  expect(await server.command('KEYS', '*')).toEqual([])
  expect(await redis.keys('*')).toContain('a')
  redis.disconnect()
  blocking.disconnect()
})

test('a permission for SELECT that is taken away while it runs leads no reconnect into another database', async () => {
  await using server = await startRedis()
  const redis = openRedis(`${server.url}/3`, 'work', silentLog)
  await redis.set('a', '1')
  let faults = 0
  redis.on('error', () => void faults++)
  await server.command('ACL', 'SETUSER', 'default', '-select')
  redis.disconnect(true)
  const write = redis.set('b', '1')
  await waitFor(() => faults > 1, { what: 'some attempts' })
  await server.command('ACL', 'SETUSER', 'default', '+select')
  await write
  expect((await redis.keys('*')).toSorted()).toEqual(['a', 'b'])
  expect(await server.command('KEYS', '*')).toEqual([])
  redis.disconnect()
})

test('a password that nobody asks for, and an INFO that is forbidden, print nothing', async () => {
  const warn = vi.spyOn(console, 'warn')
  await using server = await startRedis()
  const words = { url: server.url, password: 'PASSWORD' }
  const open = await reachRedis(words)
  open.disconnect()
  await server.command('ACL', 'SETUSER', 'kh', 'on', '>PASSWORD', '~*', '+@all', '-info')
  const mute = await reachRedis({ ...words, username: 'kh' })
  expect(await mute.ping()).toBe('PONG')
  await expect(mute.info()).rejects.toThrow('NOPERM')
  mute.disconnect()
  expect(warn).not.toHaveBeenCalled()
  warn.mockRestore()
})
