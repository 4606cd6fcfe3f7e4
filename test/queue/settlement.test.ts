import { expect, test } from 'vitest'
import { silentLog } from '../../src/log.ts'
import { openRedis } from '../../src/queue/connection.ts'
import { keysOf } from '../../src/queue/keys.ts'
import type { Head, Item } from '../../src/queue/lane-batch.ts'
import { judge } from '../../src/queue/outcomes.ts'
import { claim, settle } from '../../src/queue/settle.ts'
import { settlementOf } from '../../src/queue/settlement.ts'
import type { Outcome } from '../../src/sink/index.ts'
import { startRedis } from '../servers/redis.ts'
import { DELIVERED, DOWN, ODD } from './lane-bed.ts'

const never = new AbortController().signal

const item = (uid: string, place: number, tries = 0) =>
  ({ uid, place, tries, entryId: '1-0', observedAtMs: 0, delivery: { rule: 'all' } }) as Item

/** Judges a batch of one lane entry; `othersSucceed` elsewhere. */
function settled(items: Item[], outcomes: Outcome[], { othersSucceed = false, failingSinceMs = 0 } = {}) {
  const head: Head = {
    items,
    failingSinceMs: failingSinceMs || undefined,
    entries: new Map([['1-0', { count: items.length, settled: new Set() }]]),
    more: false,
    bytes: 0,
    unreadable: [],
    finished: [],
    awaitsNewer: false,
  }
  const policy = { maxAgeMs: 86_400_000, maxTries: 5 }
  const lane = { nowMs: 1_000, othersSucceed, alone: items.length === 1, failingSinceMs: head.failingSinceMs }
  return settlementOf('hook', 'hook/0', head, judge(items, outcomes, policy, lane), never, 1_000)
}

test('the tries of a delivery are forgotten once it is settled', () => {
  const { tries, finished, partial } = settled([item('a', 0, 3), item('b', 1)], [DELIVERED, ODD])
  expect(Object.fromEntries(tries)).toEqual({ '1-0/0': 0, '1-0/1': 1 })
  expect({ finished, partial: [...partial] }).toEqual({ finished: [], partial: [['1-0', '0']] })
})

test('an outage is noted with its beginning; a failure of one object while others pass is none', () => {
  expect(settled([item('a', 0)], [DOWN]).failing).toEqual({ sinceMs: 1_000, lastMs: 1_000 })
  expect(settled([item('a', 0)], [DOWN], { failingSinceMs: 400 }).failing).toMatchObject({ sinceMs: 400 })
  expect(settled([item('a', 0)], [DOWN], { othersSucceed: true }).failing).toBe('keep')
  expect(settled([item('a', 0)], [DELIVERED], { failingSinceMs: 400 }).failing).toBe('over')
})

test('a settlement that is sent twice counts once, and one of a worker that lost the lane counts not at all', async () => {
  await using server = await startRedis()
  const redis = openRedis(server.url, 'work', silentLog)
  const keys = keysOf('test')
  await redis.hset(keys.pending, 'hook/0', 5)
  const settlement = settled([item('a', 0), item('b', 1)], [DELIVERED, DELIVERED])
  await claim(redis, keys, 'hook/0', 'mine')
  expect(await settle(redis, keys, settlement, 'mine', 'next')).toBe('settled')
  expect(await settle(redis, keys, settlement, 'mine', 'next')).toBe('settled')
  await claim(redis, keys, 'hook/0', 'theirs')
  expect(await settle(redis, keys, settlement, 'next', 'third')).toBe('fenced')
  expect(await redis.hget(keys.sinkLedger('hook'), 'delivered')).toBe('2')
  expect(await redis.hget(keys.pending, 'hook/0')).toBe('3')
  redis.disconnect()
})
