import { expect, test } from 'vitest'
import { createLimits } from '../../../src/rules/limits/limits.ts'
import { MemoryLimits } from '../../../src/rules/limits/memory.ts'
import { clusterEvent, POD } from '../events.ts'
import { eventOf, inShort, limitedOf, limitsIn, openBed, openReloads, START_MS, type Written } from './bed.ts'

const at = (...seconds: number[]) => seconds.map((it) => ({ at: it }))

test('the newest event is sent after a quiet time, with the number of those that it replaced', () => {
  const bed = openBed({ debounce: { quiet: '30s' } })
  bed.run(...at(0, 10, 20))
  expect(bed.counts()).toEqual({ matched: 3, waiting: 1, debounce: 2 })
  expect(bed.until(49)).toEqual([])
  expect(bed.until(50)).toEqual(['50 web +2'])
  expect(JSON.parse(String(bed.deliveries[0]?.objectJson))).toMatchObject({ at: 20 })
  expect(bed.deliveries[0]?.suppressed).toEqual({ count: 2, since: '2026-11-21T10:00:00.000Z' })
  expect(bed.counts()).toEqual({ matched: 3, sent: 1, debounce: 2 })
  expect(bed.memory.size).toBe(0)
})

test('where it is never quiet, the newest is sent after atMost', () => {
  const bed = openBed({ debounce: { quiet: '10s', atMost: '25s' } })
  expect(bed.run(...at(...Array.from({ length: 11 }, (_, i) => 5 * i)))).toEqual(['25 web +4', '50 web +4'])
})

test('by default it waits ten times the quiet time at most', () => {
  const bed = openBed({ debounce: { quiet: '10s' } })
  expect(bed.run(...at(...Array.from({ length: 21 }, (_, i) => 5 * i)))).toEqual(['100 web +19'])
})

test('an object that is deleted and created again is the same one: its newest state is sent', () => {
  const bed = openBed({ debounce: { quiet: '30s' } })
  bed.run({ at: 0, uid: 'first', type: 'DELETED' }, { at: 5, uid: 'second', type: 'ADDED' })
  expect(bed.until(100)).toEqual(['35 web +1'])
  expect(bed.deliveries[0]?.event).toMatchObject({ type: 'ADDED' })
})

test.each<[what: string, per: string]>([
  ['regarding', 'regarding'],
  ['owner, of an object without one', 'owner'],
])('objects of two groups that share kind and name wait by themselves: %s', (_, per) => {
  const limits = createLimits([{ name: 'r', ...limitsIn({ debounce: { per, quiet: '30s' } }) }])
  const memory = new MemoryLimits(limits)
  const service = (group: string) => ({
    event: clusterEvent({ resource: { ...POD, group, kind: 'Service', plural: 'services' } }),
    matches: [{ rule: 'r', sinks: ['s'], holds: true, entered: true }],
  })
  memory.apply([service(''), service('serving.knative.dev')], START_MS)
  expect(memory.advance(START_MS + 100_000).flatMap(({ outcome }) => outcome.deliveries)).toHaveLength(2)
})

test('each group key waits by itself', () => {
  const bed = openBed({ debounce: { per: 'namespace', quiet: '30s' } })
  bed.run(
    { at: 0, name: 'a', namespace: 'shop' },
    { at: 1, name: 'b', namespace: 'shop' },
    { at: 2, name: 'c', namespace: 'pay' },
  )
  expect(bed.until(100)).toEqual(['31 b +1', '32 c'])
})

test('the last to arrive is the newest, also after a clock was set back', () => {
  const bed = openBed({ debounce: { quiet: '30s' } })
  const limited = (seconds: number, object: object) => [limitedOf({ at: seconds, object })]
  bed.memory.apply(limited(10, { state: 'old' }), START_MS + 10_000)
  bed.memory.apply(limited(5, { state: 'new' }), START_MS + 5_000)
  const [step] = bed.memory.advance(START_MS + 100_000)
  expect(step?.outcome.deliveries.map(({ objectJson }) => String(objectJson))).toEqual(['{"state":"new"}'])
})

test('an event whose evaluation was late does not replace one that was due before it', () => {
  const bed = openBed({ debounce: { quiet: '30s' } })
  bed.memory.apply([limitedOf({ at: 0 })], START_MS)
  const late = bed.memory.apply([limitedOf({ at: 40 })], START_MS + 60_000)
  expect(late.deliveries.map(inShort)).toEqual(['web'])
  expect(bed.until(100)).toEqual(['70 web'])
})

test('in the window of mute it waits for the end, and nothing newer is lost', () => {
  const bed = openBed({ debounce: { quiet: '30s' }, mute: { from: '10:00', to: '10:10' } })
  bed.run(...at(0, 300))
  expect(bed.until(599)).toEqual([])
  expect(bed.until(600)).toEqual(['600 web +1'])
  expect(bed.counts()).toEqual({ matched: 2, sent: 1, debounce: 1 })
})

test('a rule that is always muted sends nothing, and the ledger has it', () => {
  const bed = openBed({ debounce: { quiet: '30s' }, mute: { days: 'mon-sun' } })
  bed.run(...at(0, 5))
  expect(bed.until(1_000)).toEqual([])
  expect(bed.counts()).toEqual({ matched: 2, mute: 1, debounce: 1 })
})

test('what waits is outdated once an earlier rule has sent a newer event to all sinks', () => {
  const bed = openBed({ debounce: { quiet: '30s' } })
  bed.run({ at: 0 }, { at: 10, sinks: [] })
  expect(bed.until(100)).toEqual([])
  expect(bed.counts()).toEqual({ matched: 1, debounce: 1 })
})

test('group collects the newest ones', () => {
  const bed = openBed({ debounce: { quiet: '10s' }, group: { by: 'namespace', wait: '20s', interval: '1m' } })
  bed.run({ at: 0, name: 'a' }, { at: 5, name: 'a' }, { at: 8, name: 'b' })
  expect(bed.until(100)).toEqual(['35 digest of 2 +1'])
  expect(bed.counts()).toMatchObject({ matched: 3, digested: 2, debounce: 1 })
})

test('resolve: {after} counts from what is sent', () => {
  const bed = openBed({ debounce: { quiet: '10s' }, resolve: { after: '1m' } })
  expect([...bed.run(...at(0, 5)), ...bed.until(200)].filter((it, i, all) => all.indexOf(it) === i)).toEqual([
    '15 web +1',
    '75 web quiet',
  ])
})

test('a rule that is gone, or has lost the limit, sends what waits', () => {
  for (const rules of [[], [{ name: 'r', ...limitsIn({ throttle: { every: '1m' } }) }]]) {
    const bed = openBed({ debounce: { quiet: '30s' } })
    const { writes } = bed.memory.apply([limitedOf({ at: 0 })], START_MS)
    const [[key = '', state] = []] = writes.shared
    const after = createLimits(rules).expire(
      { shared: [key], own: [] },
      { shared: (it) => (it === key ? state?.text : undefined), own: () => undefined },
      START_MS + 1_000,
    )
    expect(after.deliveries.map(inShort)).toEqual(['web'])
    expect(after.rules.get('r')).toMatchObject({ waiting: -1, sent: 1 })
    expect(after.writes.shared.get(key)).toBeNull()
  }
})

test('beyond the capacity of states an event passes', () => {
  const limits = createLimits([{ name: 'r', ...limitsIn({ debounce: { quiet: '30s' } }) }])
  const event = { event: eventOf({ at: 0 }), matches: limitedOf({ at: 0 }).matches }
  const full = { shared: () => undefined, own: () => undefined, size: () => 10_000 }
  const outcome = limits.apply([event], full, START_MS)
  expect(outcome.deliveries.map(inShort)).toEqual(['web'])
  expect(outcome.atCapacity?.get('r')).toBe(1)
})

/** A rule with `debounce`, one event of which waits, is reloaded without it. */
function withoutDebounce(kept: Written, per?: string) {
  const bed = openReloads({ r: { debounce: { quiet: '30s', ...(per !== undefined && { per }) }, ...kept } })
  expect(bed.apply({ at: 0 })).toEqual([])
  bed.reload({ r: kept })
  return bed
}

test('an event whose rule lost the limit is evaluated at the present time', () => {
  const muted = withoutDebounce({ mute: { from: '22:00', to: '06:00' } })
  expect(muted.until(999)).toEqual(['30 web'])
  const resolved = withoutDebounce({ resolve: { after: '10m' } })
  expect(resolved.until(999)).toEqual(['30 web', '630 web quiet'])
  const throttled = withoutDebounce({ throttle: { every: '10m' } })
  expect(throttled.until(30)).toEqual(['30 web'])
  expect(throttled.apply({ at: 40 })).toEqual([])
  expect(throttled.counts()).toEqual({ matched: 2, sent: 1, throttle: 1 })
})

test('an event whose rule lost the limit still waits until mute ends', () => {
  const bed = withoutDebounce({ mute: { from: '09:00', to: '10:02' } })
  bed.reload({ r: { mute: { from: '09:00', to: '10:05' } } })
  expect(bed.until(999)).toEqual(['300 web'])
  expect(bed.counts()).toEqual({ matched: 1, sent: 1 })
})

test('after a reload a newer event replaces the one that waits, as before it', () => {
  for (const kept of [{}, { throttle: { every: '1s' } }]) {
    const bed = withoutDebounce(kept)
    // Another reload in between.
    bed.reload({ r: kept })
    expect(bed.apply({ at: 5 })).toEqual(['web +1'])
    expect(bed.until(999)).toEqual([])
    expect(bed.counts()).toEqual({ matched: 2, sent: 1, debounce: 1 })
  }
  const taken = withoutDebounce({})
  expect(taken.apply({ at: 5, sinks: [] })).toEqual([])
  expect(taken.until(999)).toEqual([])
  expect(taken.counts()).toEqual({ matched: 1, debounce: 1 })
})

test('after a reload an event waits on if the newer one does not reach its place among the limits', () => {
  const bed = withoutDebounce({})
  expect(bed.apply({ at: 5, holds: false })).toEqual([])
  expect(bed.until(999)).toEqual(['30 web'])
  const counted = withoutDebounce({ count: { at: [7] } })
  expect(counted.apply({ at: 5, reason: 'BackOff' })).toEqual([])
  expect(counted.until(999)).toEqual(['30 web'])
})

test('after a reload an event of another object does not replace the one that waits: both are sent', () => {
  const bed = withoutDebounce({ throttle: { every: '1s' } }, 'namespace')
  expect(bed.apply({ at: 5, name: 'api' })).toEqual(['web', 'api'])
  expect(bed.until(999)).toEqual([])
  expect(bed.counts()).toEqual({ matched: 2, sent: 2 })
})

test('a newer event replaces the one that waits under the group key of before a reload', () => {
  const bed = openReloads({ r: { debounce: { quiet: '30s', per: 'namespace' } } })
  bed.apply({ at: 0 })
  bed.reload({ r: { debounce: { quiet: '10s' } } })
  expect(bed.apply({ at: 5 })).toEqual([])
  expect(bed.until(999)).toEqual(['15 web +1'])
  expect(bed.counts()).toEqual({ matched: 2, sent: 1, debounce: 1 })
})

test.each<[what: string, reloads: Written[]]>([
  ['its default group key is written out', [{ debounce: { quiet: '30s', atMost: '1m', per: 'regarding' } }]],
  ['the limit is removed and restored', [{}, { debounce: { quiet: '30s', atMost: '1m' } }]],
])('after a reload an event still waits at most for atMost: %s', (_, reloads) => {
  const bed = openReloads({ r: { debounce: { quiet: '30s', atMost: '1m' } } })
  for (const rule of reloads) bed.reload({ r: rule })
  for (const seconds of [0, 20, 40]) expect(bed.apply({ at: seconds })).toEqual([])
  expect(bed.until(60)).toEqual(['60 web +2'])
  expect(bed.counts()).toEqual({ matched: 3, sent: 1, debounce: 2 })
})

test('a rule that tracks states after a reload first sends what waits', () => {
  const bed = openReloads({ r: { debounce: { quiet: '30s' } } })
  bed.apply({ at: 0 })
  bed.reload({ r: { for: '1m' } })
  expect(bed.apply({ at: 5 })).toEqual(['web'])
  expect(bed.until(999)).toEqual(['65 web'])
})
