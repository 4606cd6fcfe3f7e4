import { expect, test } from 'vitest'
import type { Call } from '../../src/store/lanes/calls.ts'
import type { Item } from '../../src/store/lanes/lane-entries.ts'
import { chainsToMove, type Held } from '../../src/store/lanes/lane-quarantine.ts'

const waiting = (count: number) => Array.from({ length: count }, () => ({}) as Item)

/** A call that began at `startedMs`, with `count` deliveries of the chain behind it. */
function called(chain: string, startedMs: number, count: number): Held {
  const call: Call = { items: [], startedMs, probe: undefined, noted: false }
  return { why: 'call', chain, waiting: waiting(count), call }
}

/** A chain that failed at `failedMs` and was asked to wait. */
function asked(chain: string, failedMs: number, count: number): Held {
  return { why: 'pause', chain, waiting: waiting(count), failedMs, dueMs: 90_000 }
}

const large: Held = { why: 'large', chain: 'large', waiting: waiting(1), dueMs: 0 }

/** 100 deliveries are in memory: 25 of them are much. The sink accepted something last at 5,000 ms. */
const FACTS = { size: 100, passedMs: 5_000, quickMs: 5_000, isFull: false }

test.each<[string, Held[], Partial<typeof FACTS>, string[]]>([
  ['much behind a call while others pass', [called('a', 1_000, 25), called('b', 1_000, 0)], {}, ['a', 'b']],
  ['little behind a call', [called('a', 1_000, 24)], {}, []],
  ['much behind a call, and nothing passed since it began', [called('a', 6_000, 50)], {}, []],
  [
    'much behind several calls while others pass quickly',
    [called('a', 1_000, 13), called('b', 1_000, 12)],
    {},
    ['a', 'b'],
  ],
  [
    'the same while others pass slowly',
    [called('a', 1_000, 13), called('b', 1_000, 12)],
    { quickMs: 500 },
    [],
  ],
  ['much behind one that was asked to wait, while others pass', [asked('a', 4_000, 25)], {}, ['a']],
  ['much behind one that was asked to wait, and nothing passed since', [asked('a', 6_000, 50)], {}, []],
  ['calls and pauses count together', [asked('a', 4_000, 13), called('b', 1_000, 12)], {}, ['a', 'b']],
  ['few in memory: one delivery is not much', [called('a', 1_000, 1)], { size: 3 }, []],
  [
    'full memory: what was asked to wait, and large ones that failed, however little waits',
    [asked('a', 6_000, 1), large, called('b', 6_000, 1)],
    { isFull: true },
    ['a', 'large'],
  ],
  [
    'full memory: much behind a call, although nothing passes',
    [called('a', 6_000, 25)],
    { isFull: true },
    ['a'],
  ],
])('%s', (_, held, facts, moved) => {
  expect(chainsToMove(held, { ...FACTS, ...facts }).map(({ chain }) => chain)).toEqual(moved)
})
