import { Duplex } from 'node:stream'
import { expect, test, vi } from 'vitest'
import { followMaster, type Located } from '../../src/store/redis/locate-master.ts'

const at = (port: number) => ({ host: '127.0.0.1', port })

/** Answers of Sentinels, one after the other; the last one stays. */
function follow(...answers: Located[]) {
  return followMaster(async () => (answers.length > 1 ? answers.shift() : answers[0]) as Located)
}

test('Sentinel: one that was cut off leads nobody back to the master before, not even when it alone answers', async () => {
  const { locate } = follow(
    { at: at(2), epoch: 7, agreed: true },
    { at: at(1), epoch: 6, agreed: false },
    { at: at(2), epoch: 7, agreed: false },
  )
  expect(await locate()).toEqual(at(2))
  await expect(locate()).rejects.toThrow(
    'only Sentinels that were cut off answer: 127.0.0.1:1 was the master before',
  )
  expect(await locate()).toEqual(at(2))
})

test('Sentinel: those that were set up anew count from the beginning, and are believed when most agree', async () => {
  const { locate } = follow({ at: at(2), epoch: 7, agreed: true }, { at: at(3), epoch: 0, agreed: true })
  await locate()
  expect(await locate()).toEqual(at(3))
})

test('Sentinel: a connection is left for a newer master, and not for an older one that few know', async () => {
  vi.useFakeTimers()
  const answers: Located[] = [
    { at: at(1), epoch: 6, agreed: true },
    { at: at(2), epoch: 5, agreed: false },
    { at: at(2), epoch: 7, agreed: false },
  ]
  const { locate, leaveWhenMoved } = follow(...answers)
  const stream = new Duplex({ read() {}, write() {} })
  const ended = vi.fn()
  stream.on('error', ended)
  leaveWhenMoved(stream, await locate())
  await vi.advanceTimersByTimeAsync(2_000)
  expect(ended).not.toHaveBeenCalled()
  await vi.advanceTimersByTimeAsync(2_000)
  expect(ended).toHaveBeenCalledWith(new Error('the master is 127.0.0.1:2 now'))
  vi.useRealTimers()
})
