import type { Redis } from 'ioredis'
import { expect, test } from 'vitest'
import { silentLog } from '../../src/log.ts'
import { createCommitLine } from '../../src/queue/commit-line.ts'

const NO_REDIS = {} as Redis
const away = () => Promise.reject(new Error('Connection is closed.'))

test('who is asked to stop does not wait behind another one for a Redis that is away, and does nothing later', async () => {
  const line = createCommitLine({ redis: NO_REDIS, room: async () => {}, onOutOfMemory() {}, log: silentLog })
  const [first, second] = [new AbortController(), new AbortController()]
  let back = false
  let done = 0
  const head = line.run(() => (back ? Promise.resolve('done') : away()), first.signal)
  const behind = line.run(async () => void done++, second.signal)
  second.abort(new Error('stopped'))
  await expect(behind).rejects.toThrow('stopped')
  await expect(line.commit(async () => void done++, second.signal)).rejects.toThrow('stopped')
  back = true
  expect(await head).toBe('done')
  expect(await line.run(async () => 'next', first.signal)).toBe('next')
  expect(done).toBe(0)
})
