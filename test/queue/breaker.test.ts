import { expect, test } from 'vitest'
import { createBreaker } from '../../src/queue/breaker.ts'
import type { Item } from '../../src/queue/lane-batch.ts'
import { createSuspects } from '../../src/queue/suspects.ts'

function clockAt(startMs: number) {
  let now = startMs
  return {
    now: () => now,
    pass(ms: number) {
      now += ms
    },
  }
}

test('an answer to what was begun before the failure does not end the pause that the sink asked for', () => {
  const clock = clockAt(1_000)
  const breaker = createBreaker(clock, () => 0.5)
  const begunMs = clock.now()
  clock.pass(10)
  expect(breaker.failed(7_000)).toBe(7_000)
  expect(breaker.succeeded(begunMs)).toBe(false)
  expect(breaker.admit().kind).toBe('wait')
  clock.pass(7_001)
  expect(breaker.admit().kind).toBe('probe')
  expect(breaker.succeeded(clock.now())).toBe(true)
  expect(breaker.admit().kind).toBe('go')
})

test('objects that were set aside take turns with the others', () => {
  const suspects = createSuspects(() => 1)
  const items = ['bad', 'worse', 'good', 'fine'].map((uid) => ({ uid })) as Item[]
  suspects.setAside('bad', 0, undefined)
  suspects.setAside('worse', 0, undefined)
  const pick = (othersFirst: boolean, nowMs: number) =>
    suspects.pick(items, { size: 10, single: false, othersFirst, nowMs }).map(({ uid }) => uid)
  expect(pick(false, 100)).toEqual(['good', 'fine'])
  expect(pick(false, 600)).toEqual(['bad'])
  expect(pick(true, 600)).toEqual(['good', 'fine'])
  suspects.passed('bad')
  expect(pick(true, 600)).toEqual(['bad', 'good', 'fine'])
})
