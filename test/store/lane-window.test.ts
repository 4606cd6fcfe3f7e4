import { expect, test } from 'vitest'
import { FailingNamespaces } from '../../src/store/lanes/failing-namespaces.ts'
import type { Item } from '../../src/store/lanes/lane-entries.ts'
import { LaneWindow } from '../../src/store/lanes/lane-window.ts'

const failing = new FailingNamespaces()

/** Deliveries such as `a1`, the first of the chain `a`, in calls of a size. */
function callsOf(names: readonly string[], size: number, ordered: boolean): string[][] {
  const window = new LaneWindow()
  const items = new Map(names.map((name) => [{ chain: name[0] } as Item, name]))
  for (const item of items.keys()) window.add(item)
  const calls: string[][] = []
  while (window.size > 0) {
    const call = window.pick({ size, nowMs: 1, ordered, joined: ordered, probe: false, failing })
    calls.push(call.map((item) => items.get(item) ?? ''))
    window.remove(call)
    window.release(call)
  }
  return calls
}

test.each([
  [1, ['a1', 'a2', 'b1', 'a3']],
  [2, ['a1', 'a2', 'b1', 'a3']],
  [8, ['a1', 'a2', 'b1', 'a3']],
])('a lane that is a log is sent in its order, in calls of %d', (size, names) => {
  expect(callsOf(names, size, true).flat()).toEqual(names)
})

test('in other lanes objects take turns', () => {
  expect(callsOf(['a1', 'a2', 'b1', 'a3'], 1, false).flat()).toEqual(['a1', 'b1', 'a2', 'a3'])
})

test.each([
  ['failed', (window: LaneWindow) => window.failed('s', 0, 400, true)],
  ['was slow', (window: LaneWindow) => window.setSlow('s', true)],
] as const)(
  'in a lane that is a log an object that %s has its turn before newer deliveries',
  (_, happened) => {
    const window = new LaneWindow()
    const [a1, s1, a2] = ['a', 's', 'a'].map((chain) => ({ chain }) as Item) as [Item, Item, Item]
    const next = (nowMs: number) =>
      window.pick({ size: 8, ordered: true, joined: true, nowMs, probe: false, failing })
    for (const item of [a1, s1]) window.add(item)
    const call = next(0)
    window.add(a2)
    window.remove([a1])
    window.release(call)
    happened(window)
    expect(next(1_000)).toEqual([s1])
    window.remove([s1])
    expect(next(1_000)).toEqual([a2])
  },
)

test('a probe is of a namespace that does not fail, if there is one, and so is what stays in memory for probes', () => {
  const window = new LaneWindow()
  const failing = new FailingNamespaces()
  const itemOf = (chain: string, namespace: string) => ({ chain, delivery: { event: { namespace } } }) as Item
  const floods = ['f1', 'f2', 'f3'].map((chain) => itemOf(chain, 'noisy'))
  const other = itemOf('other', 'shop')
  for (const item of [...floods, other]) window.add(item)
  failing.failed('noisy')
  window.failed('other', 0, 0, true)
  const probe = () => window.pick({ size: 1, ordered: false, joined: false, nowMs: 1, probe: true, failing })
  expect([...window.allBut(1, failing)]).toEqual(floods)
  expect(window.hasReady(1, failing)).toBe(true)
  expect(probe()).toEqual([other])
  expect(window.hasReady(1, failing)).toBe(false)
  expect(probe()).toEqual([floods[0]])
  failing.passed('noisy')
  expect(window.hasReady(1, failing)).toBe(true)
})
