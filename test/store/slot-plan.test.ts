import { expect, test } from 'vitest'
import { DEAD_AFTER_MS, type Heartbeat, WorkerLiveness } from '../../src/store/lanes/live-processes.ts'
import { planSlots } from '../../src/store/lanes/slot-plan.ts'

const none = Array.from({ length: 16 }, (): string | undefined => undefined)
const counts = (plan: readonly (string | undefined)[]) =>
  Object.fromEntries(
    Map.groupBy(plan, (owner) => owner ?? 'nobody')
      .entries()
      .map(([owner, some]) => [owner, some.length]),
  )

test('one worker gets all slots, several get shares that differ by one', () => {
  expect(counts(planSlots(['a'], none))).toEqual({ a: 16 })
  expect(counts(planSlots(['a', 'b', 'c'], none))).toEqual({ a: 6, b: 5, c: 5 })
  expect(counts(planSlots([], none))).toEqual({ nobody: 16 })
  expect(
    counts(
      planSlots(
        Array.from({ length: 20 }, (_, i) => `w${i}`),
        none,
      ),
    )['nobody'],
  ).toBeUndefined()
})

test('an owner keeps what it has, up to its share', () => {
  const before = planSlots(['a', 'b'], none)
  const after = planSlots(['a', 'b', 'c'], before)
  expect(counts(after)).toMatchObject({ c: 5 })
  expect(after.every((owner, i) => owner === before[i] || owner === 'c')).toBe(true)
  expect(planSlots(['a', 'b', 'c'], after)).toEqual(after)
})

test('what a dead worker had goes to the others, and nothing else moves', () => {
  const before = planSlots(['a', 'b', 'c'], none)
  const after = planSlots(
    ['a', 'b'],
    before.map((owner) => (owner === 'c' ? undefined : owner)),
  )
  expect(after.every((owner, i) => before[i] === 'c' || owner === before[i])).toBe(true)
  expect(counts(after)).toEqual({ a: 8, b: 8 })
})

const beat = (id: string, about: Partial<Heartbeat> = {}): Heartbeat => ({
  ...{ id, host: id, place: id, pid: 1, sinks: [], beat: 1, released: 0 },
  ...about,
})
const ids = (live: readonly Heartbeat[]) => live.map(({ id }) => id)

test('a worker is dead when its heartbeat stands still for as long as we look', () => {
  const liveness = new WorkerLiveness('self')
  const beats = (n: number) => [beat('self'), beat('other', { beat: n })]
  for (let ms = 0; ms < DEAD_AFTER_MS; ms += 1_000)
    expect(ids(liveness.look(beats(1), ms))).toEqual(['self', 'other'])
  expect(ids(liveness.look(beats(1), DEAD_AFTER_MS))).toEqual(['self'])
  expect(ids(liveness.look(beats(2), DEAD_AFTER_MS + 1_000))).toEqual(['self', 'other'])
})

test('a Redis that was away for long makes nobody dead', () => {
  const liveness = new WorkerLiveness('self')
  const beats = [beat('self'), beat('other')]
  liveness.look(beats, 0)
  expect(ids(liveness.look(beats, 60_000))).toEqual(['self', 'other'])
})

test('one whose process has ended is dead immediately', () => {
  const liveness = new WorkerLiveness('self')
  const beats = [beat('self'), beat('ended'), beat('other')]
  expect(ids(liveness.look(beats, 0, new Set(['ended', 'self'])))).toEqual(['self', 'other'])
})

test('our host and pid in another process namespace make nobody dead: replicas may share both', () => {
  const liveness = new WorkerLiveness('self')
  const beats = [beat('self', { host: 'node' }), beat('other', { host: 'node' })]
  for (let ms = 0; ms < DEAD_AFTER_MS; ms += 500)
    expect(ids(liveness.look(beats, ms))).toEqual(['self', 'other'])
})
