import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { balances, type Happening, openBed, type Written } from './bed.ts'
import {
  afterModel,
  countedIncidentModel,
  countModel,
  debounceModel,
  followModel,
  groupModel,
  type Model,
  quietModel,
  throttledIncidentModel,
  throttledStateModel,
  throttleModel,
} from './models.ts'
import { numRuns } from './seed.ts'

const UNTIL = 400
const second = fc.nat({ max: 200 })
const name = fc.constantFrom('a', 'b', 'c')

function inOrder<One extends Happening>(one: fc.Arbitrary<One>): fc.Arbitrary<One[]> {
  return fc.array(one, { maxLength: 40, size: 'max' }).map((some) => some.toSorted((a, b) => a.at - b.at))
}

/** They agree on what is told, and the ledger balances after every step. */
function agree(written: Written, model: Model, happenings: readonly Happening[]): void {
  const bed = openBed(written)
  const told: string[] = []
  for (const happening of happenings) {
    told.push(...bed.run(happening).splice(0))
    for (const counts of bed.memory.counts().values()) expect(counts).toSatisfy(balances)
  }
  told.push(...bed.until(UNTIL))
  expect(told.toSorted()).toEqual(model(happenings, UNTIL).toSorted())
  const counts = bed.counts()
  expect(counts.waiting).toBeUndefined()
}

const plain = inOrder(fc.record({ at: second, name }))
const runs = () => numRuns(100)

test('throttle does what a model does that looks at all that was ever sent', () => {
  void fc.assert(
    fc.property(
      plain,
      fc.integer({ min: 1, max: 60 }),
      fc.integer({ min: 1, max: 4 }),
      (some, every, burst) =>
        agree({ throttle: { every: `${every}s`, burst } }, throttleModel(every, burst), some),
    ),
    runs(),
  )
})

test('after does what a model does that looks at all that came', () => {
  void fc.assert(
    fc.property(
      plain,
      fc.integer({ min: 2, max: 5 }),
      fc.integer({ min: 1, max: 60 }),
      (some, count, within) =>
        agree({ after: { count, within: `${within}s` } }, afterModel(count, within), some),
    ),
    runs(),
  )
})

test('count does what a model does that goes through all counts', () => {
  const counts = inOrder(
    fc.record({
      at: second,
      reason: fc.constant('BackOff'),
      uid: fc.constantFrom('e', 'f'),
      count: fc.integer({ min: 1, max: 60 }),
    }),
  )
  const at = fc.uniqueArray(fc.integer({ min: 1, max: 60 }), { minLength: 1, maxLength: 5 })
  void fc.assert(
    fc.property(
      counts,
      at,
      fc.option(fc.integer({ min: 1, max: 20 }), { nil: undefined }),
      (some, list, every) =>
        agree({ count: { at: list, ...(every !== undefined && { every }) } }, countModel(list, every), some),
    ),
    runs(),
  )
})

test('debounce does what a model does that lets each second pass', () => {
  const spans = fc.tuple(fc.integer({ min: 1, max: 30 }), fc.nat({ max: 60 }))
  void fc.assert(
    fc.property(plain, spans, (some, [quiet, more]) =>
      agree(
        { debounce: { quiet: `${quiet}s`, atMost: `${quiet + more}s` } },
        debounceModel(quiet, quiet + more),
        some,
      ),
    ),
    runs(),
  )
})

test('group does what a model does that lets each second pass', () => {
  const grouped = inOrder(fc.record({ at: second, name, namespace: fc.constantFrom('shop', 'pay') }))
  const spans = fc.tuple(fc.nat({ max: 40 }), fc.integer({ min: 1, max: 80 }), fc.integer({ min: 2, max: 6 }))
  void fc.assert(
    fc.property(grouped, spans, (some, [wait, interval, max]) =>
      agree(
        { group: { by: 'namespace', wait: `${wait}s`, interval: `${interval}s`, max } },
        groupModel(wait, interval, max),
        some,
      ),
    ),
    runs(),
  )
})

const states = inOrder(
  fc
    .record({
      at: second,
      name,
      type: fc.constantFrom<'MODIFIED' | 'DELETED'>('MODIFIED', 'MODIFIED', 'DELETED'),
      holds: fc.boolean(),
      enters: fc.boolean(),
    })
    .map(({ enters, ...it }) => ({ ...it, entered: it.holds && enters })),
)

test('for and resolve do what a model does that looks at each object each second', () => {
  void fc.assert(
    fc.property(states, fc.nat({ max: 60 }), fc.boolean(), (some, seconds, resolves) => {
      const resolve = seconds === 0 || resolves
      agree(
        { ...(seconds > 0 && { for: `${seconds}s` as const }), resolve },
        followModel(seconds, resolve),
        some,
      )
    }),
    runs(),
  )
})

test('for and throttle do what a model does that looks at all that lasts each second', () => {
  const numbers = fc.tuple(
    fc.integer({ min: 1, max: 60 }),
    fc.integer({ min: 1, max: 60 }),
    fc.integer({ min: 1, max: 2 }),
  )
  void fc.assert(
    fc.property(states, numbers, (some, [seconds, every, burst]) =>
      agree(
        { for: `${seconds}s`, throttle: { every: `${every}s`, burst, per: 'rule' } },
        throttledStateModel(seconds, every, burst),
        some,
      ),
    ),
    runs(),
  )
})

test('resolve: {after} does what a model does that lets each second pass', () => {
  void fc.assert(
    fc.property(plain, fc.integer({ min: 1, max: 90 }), (some, after) =>
      agree({ resolve: { after: `${after}s` } }, quietModel(after), some),
    ),
    runs(),
  )
})

test('throttle and resolve: {after} of the same group key do what a model does that throttles each incident', () => {
  const spans = fc.tuple(fc.integer({ min: 1, max: 90 }), fc.integer({ min: 1, max: 60 }))
  void fc.assert(
    fc.property(plain, spans, (some, [every, after]) =>
      agree(
        { throttle: { every: `${every}s` }, resolve: { after: `${after}s` } },
        throttledIncidentModel(every, after),
        some,
      ),
    ),
    runs(),
  )
})

test('count and resolve: {after} do what a model does that counts each incident from one', () => {
  const counts = inOrder(
    fc.record({
      at: second,
      name,
      reason: fc.constant('BackOff'),
      uid: fc.constantFrom('e', 'f'),
      more: fc.nat({ max: 3 }),
      isNew: fc.constantFrom(false, false, false, false, true),
    }),
  ).map((some) => {
    const last = new Map<string, number>()
    return some.map(({ more, isNew, ...it }) => {
      const count = isNew ? 1 : (last.get(it.uid) ?? 0) + more
      last.set(it.uid, count)
      return { ...it, name: it.name === 'c' ? it.uid : it.name, count }
    })
  })
  void fc.assert(
    fc.property(
      counts,
      fc.uniqueArray(fc.integer({ min: 1, max: 12 }), { minLength: 1, maxLength: 3 }),
      fc.option(fc.integer({ min: 1, max: 8 }), { nil: undefined }),
      fc.integer({ min: 1, max: 40 }),
      (some, at, every, after) =>
        agree(
          { count: { at, ...(every !== undefined && { every }) }, resolve: { after: `${after}s` } },
          countedIncidentModel(at, every, after),
          some,
        ),
    ),
    runs(),
  )
})
