import { expect, test } from 'vitest'
import { MOST_STATES } from '../../../src/model/limit.ts'
import { createLimits } from '../../../src/rules/limits/limits.ts'
import { type Happening, inShort, limitedOf, limitsIn, START_MS, type Written } from './bed.ts'

/** A rule that counts by so many values already, and what is decided next by it. */
function openCrowded(written: Written, size = MOST_STATES) {
  const limits = createLimits([{ name: 'r', ...limitsIn(written) }])
  const states = new Map<string, string>()
  const outcomes: ReturnType<typeof limits.apply>[] = []
  const readable = {
    shared: (key: string) => states.get(key),
    own: () => undefined,
    size: () => size + states.size,
  }
  function note(outcome: ReturnType<typeof limits.apply>) {
    outcomes.push(outcome)
    for (const [key, state] of outcome.writes.shared)
      if (state) states.set(key, state.text)
      else states.delete(key)
    return outcome.deliveries.map(inShort)
  }
  return {
    apply: (...happenings: Happening[]) => {
      const nowMs = START_MS + (happenings.at(-1)?.at ?? 0) * 1_000
      return note(limits.apply(happenings.map(limitedOf), readable, nowMs))
    },
    expire: (at: number) =>
      note(limits.expire({ shared: [...states.keys()], own: [] }, readable, START_MS + at * 1_000)),
    crowded: () => outcomes.at(-1)?.atCapacity?.get('r') ?? 0,
    states,
    counts: () => outcomes.at(-1)?.rules.get('r'),
  }
}

const happenings = (count: number): Happening[] =>
  Array.from({ length: count }, (_, i) => ({ at: 0, name: `n${i}` }))

test.each<[string, Written]>([
  ['throttle', { throttle: { per: 'name', every: '10m' } }],
  ['after', { after: { count: 3, within: '10m', per: 'name' } }],
])('%s lets pass what it has no room to count, and says so', (_, written) => {
  const bed = openCrowded(written)
  expect(bed.apply({ at: 0, name: 'a' }, { at: 1, name: 'a' })).toEqual(['a', 'a'])
  expect(bed.crowded()).toBe(2)
  expect(bed.counts()).toMatchObject({ matched: 2, sent: 2 })
  expect(bed.states.size).toBe(0)
})

test('what has its state already goes on to be counted', () => {
  const bed = openCrowded({ throttle: { per: 'name', every: '10m' } }, MOST_STATES - 1)
  expect(bed.apply({ at: 0, name: 'a' })).toEqual(['a'])
  expect(bed.apply({ at: 1, name: 'a' }, { at: 1, name: 'b' })).toEqual(['b'])
  expect(bed.crowded()).toBe(1)
})

test('one decision makes no more states than there is room for, and what is forgotten in it gives its place back', () => {
  const bed = openCrowded({ after: { count: 2, within: '10m', per: 'name' } }, MOST_STATES - 2)
  // a and b wait to be two; c has no room, until a is two.
  const told = bed.apply(
    { at: 0, name: 'a' },
    { at: 0, name: 'b' },
    { at: 0, name: 'c' },
    { at: 1, name: 'a' },
    { at: 2, name: 'c' },
  )
  expect(told).toEqual(['c', 'a +1'])
  expect(bed.crowded()).toBe(1)
  expect(bed.states.size).toBe(2)
})

test('groups that have no room are one: all of it is told, and what has its own group is not in it', () => {
  const bed = openCrowded({ group: { by: 'name', wait: '30s' } }, MOST_STATES - 1)
  expect(bed.apply({ at: 0, name: 'own' }, ...happenings(50))).toEqual([])
  expect(bed.apply({ at: 1, name: 'own' })).toEqual([])
  expect(bed.states.size).toBe(2)
  expect(bed.expire(40)).toEqual(['digest of 2', 'digest of 50'])
  expect(bed.counts()).toMatchObject({ digested: 52, waiting: -52 })
})

test('what has no room is told, and not told to be over', () => {
  const bed = openCrowded({ resolve: { after: '5m', per: 'name' } })
  expect(bed.apply({ at: 0, name: 'a' })).toEqual(['a'])
  expect(bed.states.size).toBe(0)
})
