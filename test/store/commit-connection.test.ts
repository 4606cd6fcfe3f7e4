import type { Redis } from 'ioredis'
import { expect, test } from 'vitest'
import { silentLog } from '../../src/observe/log.ts'
import { createCommitConnection } from '../../src/store/commit/commit-connection.ts'
import { ForeignKeyError } from '../../src/store/redis/redis-fault.ts'

const NO_REDIS = {} as Redis
const away = () => Promise.reject(new Error('Connection is closed.'))

test('who is asked to stop does not wait behind another one for a Redis that is away, and does nothing later', async () => {
  const commitConnection = createCommitConnection({
    redis: NO_REDIS,
    room: async () => {},
    onOutOfMemory() {},
    log: silentLog,
  })
  const [first, second] = [new AbortController(), new AbortController()]
  let back = false
  let done = 0
  const head = commitConnection.run(() => (back ? Promise.resolve('done') : away()), first.signal)
  const behind = commitConnection.run(async () => void done++, second.signal)
  second.abort(new Error('stopped'))
  await expect(behind).rejects.toThrow('stopped')
  await expect(commitConnection.commit(async () => void done++, second.signal)).rejects.toThrow('stopped')
  back = true
  expect(await head).toBe('done')
  expect(await commitConnection.run(async () => 'next', first.signal)).toBe('next')
  expect(done).toBe(0)
})

test('who leaves while Redis is away leaves no trouble behind: the next one finds out', async () => {
  const commitConnection = createCommitConnection({
    redis: NO_REDIS,
    room: async () => {},
    onOutOfMemory() {},
    log: silentLog,
  })
  const stop = new AbortController()
  const left = commitConnection.commit(away, stop.signal)
  while (commitConnection.trouble() === undefined) await new Promise(setImmediate)
  expect(commitConnection.trouble()).toBeDefined()
  stop.abort(new Error('stopped'))
  await expect(left).rejects.toThrow()
  expect(commitConnection.trouble()).toBeUndefined()
  expect(commitConnection.isHeldUp()).toBe(false)
})

test('commits are held up while there is no memory for them', async () => {
  const { promise: room, resolve } = Promise.withResolvers<void>()
  const commitConnection = createCommitConnection({
    redis: NO_REDIS,
    room: () => room,
    onOutOfMemory() {},
    log: silentLog,
  })
  const commit = commitConnection.commit(async () => 'done', new AbortController().signal)
  expect(commitConnection.isHeldUp()).toBe(true)
  resolve()
  expect(await commit).toBe('done')
  expect(commitConnection.isHeldUp()).toBe(false)
})

test('a key that another program wrote holds up only what writes it, and is shown as long as it does', async () => {
  let unwatched = 0
  const redis = { unwatch: async () => void unwatched++ } as unknown as Redis
  const commitConnection = createCommitConnection({
    redis,
    room: async () => {},
    onOutOfMemory() {},
    log: silentLog,
  })
  const { signal } = new AbortController()
  let isForeign = true
  const held = commitConnection.commit(async () => {
    if (isForeign) throw new ForeignKeyError('lane')
    return 'done'
  }, signal)
  expect(await commitConnection.commit(async () => 'other', signal)).toBe('other')
  expect(await commitConnection.run(async () => 'another', signal)).toBe('another')
  expect(commitConnection.trouble()).toContain('the key lane')
  expect(unwatched).toBeGreaterThan(0)
  isForeign = false
  expect(await held).toBe('done')
  expect(commitConnection.trouble()).toBeUndefined()
})
