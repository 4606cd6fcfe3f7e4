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

test('of the lanes of a sink that failed one probes at a time, until its probe has ended', () => {
  const clock = clockAt(1_000)
  const breaker = createBreaker(clock, () => 0.5)
  clock.pass(breaker.failed())
  expect(breaker.admit().kind).toBe('probe')
  expect(breaker.admit().kind).toBe('wait')
  breaker.released()
  expect(breaker.admit().kind).toBe('probe')
})

test('failures of lanes that were under way make the pause no longer; one after the pause does', () => {
  const clock = clockAt(1_000)
  const breaker = createBreaker(clock, () => 0.5)
  const firstMs = breaker.failed()
  for (let i = 0; i < 5; i++) expect(breaker.failed()).toBe(firstMs)
  clock.pass(firstMs)
  expect(breaker.failed()).toBe(2 * firstMs)
})

test('a sink may ask for a pause of an hour and no longer', () => {
  const breaker = createBreaker(clockAt(1_000), () => 0.5)
  expect(breaker.failed(86_400_000)).toBe(3_600_000)
})

test('an object that is tried alone waits as long as the sink asked', () => {
  const suspects = createSuspects(() => 1)
  const items = [{ uid: 'bad' }] as Item[]
  suspects.setAside('bad', 0, 60_000)
  const pick = (nowMs: number) => suspects.pick(items, { size: 1, single: false, othersFirst: false, nowMs })
  expect(pick(59_999)).toEqual([])
  expect(pick(60_000)).toEqual(items)
})

test('a probe takes a delivery of an object that has not failed, where there is one', () => {
  const suspects = createSuspects(() => 1)
  const [bad, good] = ['bad', 'good'].map((uid) => ({ uid })) as [Item, Item]
  suspects.failed('bad', 0)
  const pick = (...items: Item[]) =>
    suspects.pick(items, { size: 10, single: true, othersFirst: false, nowMs: 0 })
  expect(pick(bad, good)).toEqual([good])
  expect(pick(bad)).toEqual([bad])
})
