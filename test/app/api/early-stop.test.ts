import { Redis } from 'ioredis'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { HISTORY_BOUNDS, historyPage } from '../../../src/app/api/history.ts'
import { storyOf } from '../../../src/app/api/story.ts'
import type { HistoryRecord } from '../../../src/model/history-record.ts'
import { findDeliveries } from '../../../src/store/history/find-deliveries.ts'
import { packHistory } from '../../../src/store/history/history-format.ts'
import { objectTarget } from '../../../src/store/history/history-target.ts'
import { readHistoryPage } from '../../../src/store/history/read-history.ts'
import { keysOf } from '../../../src/store/keys.ts'
import { type RedisServer, startRedis } from '../../servers/redis.ts'

const ENTRIES = 2_500
const BEGIN_MS = 1_790_000_000_000
const keys = keysOf('test')
let server: RedisServer
let redis: Redis

function recordOf(name: string, atMs: number): HistoryRecord {
  const place = { kind: 'ConfigMap', namespace: 'shop', name }
  return {
    ...{
      outcome: 'delivered',
      atMs,
      rule: name === 'oldest' ? 'rare' : 'all',
      sinks: ['good'],
      attempts: [],
    },
    event: { id: `c/uid-${name}/1/ADDED`, type: 'ADDED', apiVersion: 'v1', ...place },
  }
}

/** One object is in the oldest record of both streams, and nowhere else. */
beforeAll(async () => {
  server = await startRedis()
  redis = new Redis(server.url)
  for (const key of [keys.history, keys.suppressed]) {
    const pipeline = redis.pipeline()
    for (let i = 0; i < ENTRIES; i++) {
      const record = recordOf(i === 0 ? 'oldest' : `other-${i}`, BEGIN_MS + i)
      pipeline.xadd(key, `${BEGIN_MS + i}-1`, 'z', packHistory([[record]]))
    }
    await pipeline.exec()
  }
})
afterAll(async () => {
  redis?.disconnect()
  await server?.[Symbol.asyncDispose]()
})

const NO_SIGNAL = new AbortController().signal
const OLDEST = { kind: 'ConfigMap', namespace: 'shop', name: 'oldest' }
const OLDEST_ID = 'c/uid-oldest/1/ADDED'
const TIGHT = {
  bytes: { ...HISTORY_BOUNDS, bytes: 0 },
  time: { ...HISTORY_BOUNDS, withinMs: 0 },
  records: { ...HISTORY_BOUNDS, records: 400 },
}

interface Page<Item> {
  items: readonly Item[]
  next?: string | undefined
  stoppedAtMs?: number | undefined
}

/** All items, page by page, and where pages stopped early. */
async function allOf<Item>(pageOf: (cursor: string | undefined) => Promise<Page<Item>>) {
  const [items, stops]: [Item[], number[]] = [[], []]
  let cursor: string | undefined
  do {
    const page = await pageOf(cursor)
    items.push(...page.items)
    if (page.stoppedAtMs !== undefined) stops.push(page.stoppedAtMs)
    expect(page.stoppedAtMs !== undefined && page.next === undefined).toBe(false)
    cursor = page.next
  } while (cursor !== undefined)
  return { items, stops }
}

test.each(['bytes', 'time'] as const)(
  'a search without a match ends by its bound of %s, and goes on by its cursor to the oldest record',
  async (bound) => {
    const { items, stops } = await allOf((cursor) =>
      historyPage({ redis, keys }, { ...OLDEST, limit: 10, cursor }, {}, NO_SIGNAL, TIGHT[bound]),
    )
    expect(items).toMatchObject([{ event: { name: 'oldest' } }, { event: { name: 'oldest' } }])
    expect(stops.length).toBeGreaterThanOrEqual(2)
    expect(stops).toEqual(stops.toSorted((a, b) => b - a))
    const [first = 0] = stops
    expect(first).toBeGreaterThan(BEGIN_MS)
    expect(first).toBeLessThan(BEGIN_MS + ENTRIES)
  },
)

test('a filter that Redis does not know counts what was read', async () => {
  const { items, stops } = await allOf((cursor) =>
    historyPage({ redis, keys }, { rule: 'rare', limit: 10, cursor }, {}, NO_SIGNAL, TIGHT.records),
  )
  expect(items).toHaveLength(2)
  expect(stops.length).toBeGreaterThanOrEqual((2 * ENTRIES) / 400 - 1)
})

test('the story of an object ends early, with where it stopped, and goes on', async () => {
  const { items, stops } = await allOf((cursor) =>
    storyOf({ redis, keys }, OLDEST, { limit: 10, cursor }, {}, NO_SIGNAL, TIGHT.bytes),
  )
  // Its two records may be on one page, as one item, or on two.
  const outcomes = items.flatMap((item) => item.outcomes.map((outcome) => ({ ...item, outcome })))
  const expected = { id: OLDEST_ID, name: 'oldest', outcome: { sink: 'good', outcome: 'delivered' } }
  expect(outcomes).toMatchObject([expected, expected])
  expect(stops.length).toBeGreaterThanOrEqual(2)
})

test('what is known of an event is incomplete where not all of the history was read', async () => {
  const target = objectTarget(OLDEST.kind, OLDEST.namespace, OLDEST.name)
  const find = (history = HISTORY_BOUNDS) => findDeliveries({ redis, keys }, target, () => true, { history })
  expect(await find()).toMatchObject({ isComplete: true, records: [{}, {}] })
  expect(await find(TIGHT.bytes)).toMatchObject({ isComplete: false, records: [] })
})

test('without bounds everything is read, each record once', async () => {
  const names: string[] = []
  for await (const { record } of readHistoryPage(redis, keys, {})) if (record) names.push(record.event.name)
  expect(names).toHaveLength(2 * ENTRIES)
  expect(new Set(names).size).toBe(ENTRIES)
})

test('a page of large entries ends before the reply is too large, and the next one goes on', async () => {
  const large = keysOf('large')
  const title = Array.from({ length: 600_000 }, () => Math.random().toString(36).slice(2, 3)).join('')
  for (let i = 0; i < 12; i++)
    await redis.xadd(
      large.history,
      '*',
      'z',
      packHistory([[{ ...recordOf(`large-${i}`, BEGIN_MS + i), title }]]),
    )
  const names: string[] = []
  for await (const { record } of readHistoryPage(redis, large, {})) if (record) names.push(record.event.name)
  expect(names).toEqual(Array.from({ length: 12 }, (_, i) => `large-${11 - i}`))
})
