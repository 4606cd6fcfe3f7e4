import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { Redis } from 'ioredis'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { CHANGES, changeDeadLetters, deadLettersPage } from '../../../src/app/api/dead-letters.ts'
import { encodeEntries } from '../../../src/store/entry.ts'
import { keysOf } from '../../../src/store/keys.ts'
import { type RedisServer, startRedis } from '../../servers/redis.ts'
import { headerFor } from '../../store/objects.ts'

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as () => void

const keys = keysOf('test')
let server: RedisServer
let redis: Redis
beforeAll(async () => {
  server = await startRedis()
  redis = new Redis(server.url)
})
afterAll(async () => {
  redis?.disconnect()
  await server?.[Symbol.asyncDispose]()
})

/** Nothing of them can be read, so a token with namespaces sees none. */
async function store(sink: string, count: number): Promise<void> {
  const fields = [
    'sink',
    sink,
    'lane',
    `${sink}/n1`,
    'rule',
    'all',
    'reason',
    'rejected',
    'detail',
    '',
    'z',
    '?',
  ]
  const pipeline = redis.pipeline()
  for (let i = 0; i < count; i++) pipeline.xadd(keys.deadLetters, '*', ...fields)
  await pipeline.exec()
}

/** Sends a request again with `next` until nothing is left; returns its answers. */
async function drop(choice: object, namespaces?: string[]) {
  const answers: Awaited<ReturnType<typeof changeDeadLetters>>[] = []
  for (let cursor: string | undefined; ; ) {
    const asked = { ...choice, ...(cursor !== undefined && { cursor }) } as { all: true }
    const answer = await changeDeadLetters({ redis, keys }, asked, CHANGES.drop, { namespaces }, 100)
    answers.push(answer)
    expect(answers.length).toBeLessThan(50)
    if (!answer.left) return answers
    expect(answer.next).not.toBe(cursor)
    cursor = answer.next
  }
}

test('a request looks at some dead letters only, and the next one goes on behind them', async () => {
  await store('others', 450)
  await store('wanted', 3)
  const [first, ...rest] = await drop({ sink: 'wanted' })
  expect(first).toMatchObject({ done: 0, left: true })
  expect(rest.length).toBeGreaterThanOrEqual(4)
  expect(rest.at(-1)).toEqual({ done: 3, failed: [], left: false })
})

test('so does one of a token with namespaces, which learns nothing of others', async () => {
  const answers = await drop({ all: true }, ['shop'])
  expect(answers.length).toBeGreaterThanOrEqual(5)
  expect(answers.every(({ done, failed }) => done === 0 && failed.length === 0)).toBe(true)
  expect(await redis.xlen(keys.deadLetters)).toBe(450)
})

test('a request changes at most 500', async () => {
  await store('others', 100)
  const choice = { all: true } as const
  const first = await changeDeadLetters({ redis, keys }, choice, CHANGES.drop, {})
  expect(first).toMatchObject({ done: 500, left: true })
  expect(await redis.xlen(keys.deadLetters)).toBe(50)
  expect(await changeDeadLetters({ redis, keys }, choice, CHANGES.drop, {})).toMatchObject({
    done: 50,
    left: false,
  })
})

test.each([{}, { until: '9999999999999999-9999999999999999' }])(
  'the requests after the first one change what there was then, chosen with %j: what comes meanwhile stays',
  async (bound) => {
    await store('hook', 600)
    const choice = { sink: 'hook', reason: 'rejected', ...bound }
    const first = await changeDeadLetters({ redis, keys }, choice, CHANGES.retry, {})
    expect(first).toMatchObject({ done: 500, left: true })
    await store('hook', 30)
    const rest = { ...choice, cursor: first.next }
    const second = await changeDeadLetters({ redis, keys }, rest, CHANGES.retry, {})
    expect(second).toEqual({ done: 100, failed: [], left: false })
    expect(await redis.xlen(keys.deadLetters)).toBe(30)
    await redis.del(keys.deadLetters)
  },
)

test('a choice with the newest one of a list leaves alone what came after the list', async () => {
  await store('hook', 12)
  const list = (caller: { namespaces?: string[] } = {}) =>
    deadLettersPage({ redis, keys }, { sink: 'hook', limit: 5 }, caller)
  const { newest, total, items } = await list()
  expect([total, newest]).toEqual([12, items[0]?.id])
  expect(await list({ namespaces: ['shop'] })).not.toHaveProperty('newest')
  await store('hook', 3)
  const choice = { sink: 'hook', ...(newest !== undefined && { until: newest }) }
  const answer = await changeDeadLetters({ redis, keys }, choice, CHANGES.drop, {})
  expect(answer).toEqual({ done: 12, failed: [], left: false })
  expect(await list()).toMatchObject({ total: 3 })
})

test.each(['chosen by a sink', 'named'])(
  'what was dropped before Redis failed is answered: dead letters %s',
  async (how) => {
    await redis.del(keys.deadLetters)
    await store('failing', 6)
    const ids = (await redis.xrange(keys.deadLetters, '-', '+')).map(([id]) => id)
    let calls = 0
    const failsLater: typeof CHANGES.drop = async (...args) => {
      if (++calls > 4) throw new Error('Connection is closed.')
      return CHANGES.drop(...args)
    }
    const choice = how === 'named' ? { ids } : { sink: 'failing' }
    const answer = await changeDeadLetters({ redis, keys }, choice, failsLater, {})
    expect(answer.done).toBe(4)
    if (how === 'named') expect(answer.failed.map(({ id }) => id)).toEqual(ids.slice(4))
    else expect(answer).toMatchObject({ left: true, next: expect.any(String) })
    await expect(changeDeadLetters({ redis, keys }, choice, failsLater, {})).rejects.toThrow('closed')
    const rest = how === 'named' ? choice : { ...choice, cursor: answer.next as string }
    expect(await changeDeadLetters({ redis, keys }, rest, CHANGES.drop, {})).toMatchObject({
      done: 2,
      left: false,
    })
  },
)

test('a page of large dead letters does not hold their objects', async () => {
  await redis.del(keys.deadLetters)
  const size = 8 * 2 ** 20
  const objectJson = Buffer.from(JSON.stringify({ data: 'x'.repeat(size) }))
  const [entry] = encodeEntries([
    { sink: 'hook', rule: 'all', event: headerFor('large', '1', 'MODIFIED', 'uid-large'), objectJson },
  ])
  const about = { sink: 'hook', lane: 'hook/n1', rule: 'all', reason: 'rejected', z: entry?.payload ?? '' }
  const fields = Object.entries(about).flat()
  for (let i = 0; i < 12; i++) await redis.xadd(keys.deadLetters, '*', ...fields)
  const held: number[] = []
  const read = redis.xrangeBuffer.bind(redis)
  vi.spyOn(redis, 'xrangeBuffer').mockImplementation(((...args: Parameters<typeof read>) => {
    // The second collection waits for the sweeper of the first one.
    collect()
    collect()
    held.push(process.memoryUsage().arrayBuffers)
    return read(...args)
  }) as typeof redis.xrangeBuffer)
  for (let cursor: string | undefined; ; ) {
    const { items, next } = await deadLettersPage({ redis, keys }, { limit: 500, cursor }, {})
    expect(items.every(({ event }) => event?.name === 'large')).toBe(true)
    if (next === undefined) break
    cursor = next
  }
  vi.restoreAllMocks()
  expect(held).toHaveLength(12)
  expect(Math.max(...held) - (held[0] ?? 0)).toBeLessThan(4 * size)
})
