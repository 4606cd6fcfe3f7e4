import { expect, test } from 'vitest'
import {
  deadLetterBytes,
  excess,
  isSoon,
  type LaneExtent,
  type Measured,
  type MeasuredLane,
  oldestOf,
  reachedInMs,
  sinkBytes,
  tooManyOf,
  tooOldOf,
  withMeasured,
} from '../../src/store/bounds/queue-bounds.ts'

const GATE = 0.8
const MB = 1e6

const unset = (count: number) =>
  new Map(Array.from({ length: count }, (_, i): [string, undefined] => [`sink-${i}`, undefined]))

const sum = (numbers: Iterable<number>) => [...numbers].reduce((total, it) => total + it, 0)

test.each([1, 2, 7, 40])(
  'all of %i sinks and the dead letters at their bounds stay far below the memory gate',
  (count) => {
    const maxmemory = 24 * MB
    const all = sum(sinkBytes(maxmemory, unset(count)).values()) + deadLetterBytes(maxmemory, undefined)
    expect(all).toBeLessThanOrEqual(maxmemory * (GATE - 0.25))
    expect(all).toBeGreaterThan(maxmemory * 0.4)
  },
)

test('sinks without a bound share what the others leave, and get a little in any case', () => {
  const own = new Map([...unset(2), ['audit', 20 * MB]] as [string, number | undefined][])
  expect(Object.fromEntries(sinkBytes(100 * MB, own))).toEqual({
    'sink-0': 10 * MB,
    'sink-1': 10 * MB,
    audit: 20 * MB,
  })
  own.set('audit', 70 * MB)
  expect(sinkBytes(100 * MB, own).get('sink-0')).toBe(MB)
})

test('sinks that were removed keep a bound, and take nothing from those of the configuration', () => {
  const removed = new Map([
    ...[0, 1, 2].map((i) => [`old-${i}`, undefined] as const),
    ['audit', 20 * MB] as const,
  ])
  expect(Object.fromEntries(sinkBytes(100 * MB, unset(1), removed))).toEqual({
    'sink-0': 40 * MB,
    'old-0': 5 * MB,
    'old-1': 5 * MB,
    'old-2': 5 * MB,
    audit: 20 * MB,
  })
})

test('without a memory limit of Redis bounds have a fixed size', () => {
  const bytes = [...sinkBytes(0, unset(3)).values()]
  expect(new Set(bytes).size).toBe(1)
  expect(bytes[0]).toBeGreaterThan(100 * MB)
  expect(deadLetterBytes(0, undefined)).toBeGreaterThan(100 * MB)
  expect(deadLetterBytes(0, 5 * MB)).toBe(5 * MB)
})

test('nothing is given up within the bound; beyond it a tenth becomes free', () => {
  expect(excess(100, 100)).toBe(0)
  expect(excess(101, 100)).toBe(11)
})

const lane = (name: string, bytes: number, oldestMs: number, newestMs: number): LaneExtent => ({
  ...{ lane: name, bytes, oldestMs, newestMs },
})

test('the oldest of all lanes go first, whatever lane they are in', () => {
  const lanes = [lane('old', 100, 0, 100), lane('new', 100, 200, 300), lane('both', 100, 50, 250)]
  expect([...oldestOf(lanes, 50).bytes.keys()]).not.toContain('new')
  const quotas = oldestOf(lanes, 125).bytes
  expect(quotas.get('old')).toBeCloseTo(100, 0)
  expect(quotas.get('both')).toBeCloseTo(25, 0)
  expect(sum(quotas.values())).toBeCloseTo(125, 0)
  expect(sum(oldestOf(lanes, 1_000).bytes.values())).toBeCloseTo(300, 0)
  expect(oldestOf(lanes, 0).bytes.size).toBe(0)
})

test('of a burst with one time no more is given up than is wanted', () => {
  const lanes = [lane('a', 100, 5, 5), lane('b', 300, 5, 5)]
  expect(Object.fromEntries(oldestOf(lanes, 40).bytes)).toEqual({ a: 10, b: 30 })
})

/** A lane of deliveries of 50 bytes. */
const measured = (name: string, deliveries: number, oldestMs: number, newestMs: number): MeasuredLane => ({
  ...lane(name, deliveries * 50, oldestMs, newestMs),
  ...{ deliveries, perDelivery: 50 },
})

test('a lane gives up what was observed before the bound, however much that is', () => {
  const lanes = [measured('old', 10, 999, 5_000), measured('at', 10, 1_000, 5_000)]
  expect(tooOldOf(lanes, 1_000)).toEqual([
    { lane: 'old', most: Number.POSITIVE_INFINITY, beforeMs: 1_000, waiting: 10 },
  ])
})

test.each<[what: string, lanes: MeasuredLane[], unmeasured: number, maxBytes: number, most: object]>([
  ['nothing at the bound', [measured('a', 10, 0, 0)], 0, 500, {}],
  // 1,000 bytes to 810.
  ['the oldest lane', [measured('a', 10, 0, 0), measured('b', 10, 500, 500)], 0, 900, { a: 4 }],
  // Half of 190 bytes.
  ['the part of measured lanes', [measured('a', 10, 0, 0)], 500, 900, { a: 2 }],
  ['nothing before a lane is measured', [], 2_000, 900, {}],
  // 1,000 bytes to 405: 500 of the first, 95 of the second.
  [
    'a whole lane and more',
    [measured('a', 10, 0, 0), measured('b', 10, 500, 1_500)],
    0,
    450,
    { a: 10, b: 2 },
  ],
  // 820 of 1,000 bytes, which are those of the first 820 ms.
  ['no newer delivery', [{ ...measured('a', 2, 0, 1_000), bytes: 1e3, perDelivery: 500 }], 0, 200, { a: 1 }],
])('beyond the bound in bytes goes: %s', (_, lanes, unmeasured, maxBytes, most) => {
  const quotas = tooManyOf(lanes, unmeasured, maxBytes)
  expect(Object.fromEntries(quotas.map((quota) => [quota.lane, quota.most]))).toEqual(most)
  for (const quota of quotas) {
    expect(quota.beforeMs).toBe(Number.POSITIVE_INFINITY)
    expect(quota.waiting).toBe(lanes.find((it) => it.lane === quota.lane)?.deliveries)
  }
})

/** One measurement each 15 s. */
const trendOf = (...bytes: number[]) =>
  bytes.reduce<Measured[]>((trend, it, i) => withMeasured(trend, { atMs: i * 15_000, bytes: it }), [])

test('tells when a bound is reached, if it goes on like this', () => {
  expect(reachedInMs(trendOf(0, 10, 20, 30, 40, 50), 100)).toBe(75_000)
  expect(reachedInMs(trendOf(0, 10, 20), 100)).toBeUndefined()
  expect(reachedInMs(trendOf(50, 40, 30, 20, 10, 0), 100)).toBeUndefined()
  expect(reachedInMs(trendOf(50, 80, 90, 95, 100, 120), 100)).toBe(0)
})

test('a trend forgets what is longer ago than a quarter of an hour', () => {
  const rising = Array.from({ length: 60 }, (_, i) => i * 10)
  const falling = Array.from({ length: 70 }, (_, i) => 600 - i)
  expect(reachedInMs(trendOf(...rising, ...falling), 10_000)).toBeUndefined()
})

test('a small queue that grows fast is no news', () => {
  expect(isSoon(5, 100, 60_000)).toBe(false)
  expect(isSoon(15, 100, 60_000)).toBe(true)
  expect(isSoon(15, 100, 24 * 3_600_000)).toBe(false)
  expect(isSoon(15, 100, undefined)).toBe(false)
})
