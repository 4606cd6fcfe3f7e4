import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { WatchProgress } from '../../src/watch/reflector/progress.ts'

const TIMING = { probeAfterMs: 90_000, stalledMs: 90_000 }

beforeEach(() => void vi.useFakeTimers({ toFake: ['performance', 'Date'] }))
afterEach(() => void vi.useRealTimers())

const pass = (seconds: number) => vi.advanceTimersByTime(seconds * 1_000)
const at = (position: string) => () => Promise.resolve(position)
const refused = () => Promise.reject(new Error('503'))
const behindS = (progress: WatchProgress) => progress.behind && progress.behind.ms / 1_000

/** Of a watch that has just listed up to 100. */
function listed(): WatchProgress {
  const progress = new WatchProgress(TIMING, () => 0)
  progress.begin()
  progress.listed('100')
  return progress
}

test('nothing is probed while the position moves', () => {
  const progress = listed()
  for (let minute = 1; minute <= 60; minute++) {
    pass(75)
    expect(progress.isProbeDue).toBe(false)
    progress.reached(String(100 + minute), true)
  }
  expect(progress.behind).toBeUndefined()
})

test('a position that does not move is probed, and the watch is behind from the first probe that is ahead', async () => {
  const progress = listed()
  pass(90)
  expect(progress.isProbeDue).toBe(true)
  await progress.probe(at('100'))
  expect(progress.behind).toBeUndefined()
  pass(89)
  expect(progress.isProbeDue).toBe(false)
  pass(1)
  await progress.probe(at('120'))
  pass(89)
  expect([progress.isProbeDue, progress.stall, behindS(progress)]).toEqual([false, undefined, 89])
  pass(1)
  expect(progress.stall).toBe('stalled')
})

test('a watch that moves towards the probe is behind, and does not list', async () => {
  const progress = listed()
  pass(90)
  await progress.probe(at('120'))
  pass(60)
  progress.reached('110', false)
  pass(60)
  expect([progress.stall, behindS(progress)]).toEqual([undefined, 120])
  progress.reached('120', false)
  expect(progress.behind).toBeUndefined()
})

test('a bookmark that repeats the position is no move', async () => {
  const progress = listed()
  pass(60)
  progress.reached('100', true)
  pass(30)
  expect(progress.isProbeDue).toBe(true)
  await progress.probe(at('120'))
  pass(60)
  progress.reached('100', true)
  pass(30)
  expect(progress.stall).toBe('stalled')
})

test('the clock on the wall may be set', async () => {
  const progress = listed()
  vi.setSystemTime(Date.now() + 3_600_000)
  expect([progress.isProbeDue, progress.behind]).toEqual([false, undefined])
  pass(90)
  await progress.probe(at('120'))
  vi.setSystemTime(Date.now() - 7_200_000)
  pass(10)
  expect(behindS(progress)).toBe(10)
})

test('probes that fail are repeated, and the watch is behind from the first one', async () => {
  const progress = listed()
  pass(90)
  await expect(progress.probe(refused)).rejects.toThrow('503')
  pass(89)
  expect([progress.isProbeDue, progress.stall, behindS(progress)]).toEqual([false, undefined, 89])
  pass(1)
  expect(progress.isProbeDue).toBe(true)
  await progress.probe(at('120'))
  expect(behindS(progress)).toBe(90)
  progress.reached('130', false)
  expect(progress.behind).toBeUndefined()
})

test('a move of positions that cannot be compared counts', async () => {
  const progress = listed()
  progress.listed('a1')
  pass(90)
  await progress.probe(at('b7'))
  pass(1)
  expect(behindS(progress)).toBe(1)
  progress.reached('c3', false)
  expect(progress.behind).toBeUndefined()
})

test('a position that is older asks for a list immediately', async () => {
  const progress = listed()
  pass(90)
  expect(await progress.probe(at('80'))).toBe('regression')
})

/** Seconds until the next probe. */
function untilProbe(progress: WatchProgress): number {
  let seconds = 0
  for (; !progress.isProbeDue; seconds++) pass(1)
  return seconds
}

test('lists that find nothing make probes rare, until a bookmark moves the position in time', async () => {
  const progress = listed()
  const waits: number[] = []
  for (let list = 0; list < 4; list++) {
    waits.push(untilProbe(progress))
    await progress.probe(at('120'))
    pass(90)
    progress.listed('120')
    progress.compared(false)
  }
  expect(waits).toEqual([90, 360, 1_440, 1_440])
  pass(100)
  progress.reached('130', true)
  expect(untilProbe(progress)).toBe(1_440)
  progress.listed('140')
  pass(60)
  progress.reached('150', true)
  expect(untilProbe(progress)).toBe(90)
})

test('a list that finds what the watch missed keeps probes frequent', async () => {
  const progress = listed()
  progress.compared(false)
  progress.listed('120')
  progress.compared(true)
  expect(untilProbe(progress)).toBe(90)
})

test('a bookmark that comes late keeps probes rare, however it is stored', async () => {
  const progress = listed()
  progress.compared(false)
  pass(600)
  await progress.whileStoring(async () => {})
  progress.reached('130', true)
  expect(untilProbe(progress)).toBe(360)
})

test('a probe that the end of its watch cuts off proves nothing', async () => {
  const progress = listed()
  pass(90)
  const end = new AbortController()
  const asked = Promise.withResolvers<void>()
  const stalled = progress.stalled(() => {
    asked.resolve()
    return new Promise((_, reject) => end.signal.addEventListener('abort', () => reject(new Error('cut'))))
  }, end.signal)
  await asked.promise
  end.abort()
  await expect(stalled).rejects.toThrow()
  expect(progress.behind).toBeUndefined()
})

test('a watch that begins again before it has read everything has been behind since it was closed', () => {
  const progress = listed()
  progress.closed()
  pass(50)
  progress.begin()
  pass(50)
  expect(behindS(progress)).toBe(100)
})

test('a probe at the position that a watch has read before is answered when that is read again', async () => {
  const progress = listed()
  progress.reached('120', false)
  pass(90)
  await progress.probe(at('120'), '110')
  pass(10)
  expect(behindS(progress)).toBe(10)
  progress.reached('120', false)
  expect(progress.behind).toBeUndefined()
})
