import { expect, test } from 'vitest'
import type { Item } from '../../src/store/lanes/lane-reader.ts'
import { LaneWindow } from '../../src/store/lanes/lane-window.ts'

/** Deliveries such as `a1`, the first of the chain `a`, in calls of a size. */
function callsOf(names: readonly string[], size: number, ordered: boolean): string[][] {
  const window = new LaneWindow()
  const items = new Map(names.map((name) => [{ chain: name[0] } as Item, name]))
  for (const item of items.keys()) window.add(item)
  const calls: string[][] = []
  while (window.size > 0) {
    const call = window.pick({ size, nowMs: 1, ordered, joined: ordered, probe: false })
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
