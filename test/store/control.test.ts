import { expect, onTestFinished, test, vi } from 'vitest'
import { followSilences } from '../../src/app/silences.ts'
import { silentLog } from '../../src/observe/log.ts'
import { createMetrics } from '../../src/observe/metrics.ts'
import {
  acknowledgeIncident,
  forgetAcknowledgements,
  listIncidents,
} from '../../src/store/control/incidents.ts'
import { addSilence, expireSilence, listSilences } from '../../src/store/control/silences.ts'
import { readHistory } from '../../src/store/history/read-history.ts'
import { encodeState } from '../../src/store/limits/limit-states.ts'
import { type Happening, limitsIn, START_MS } from '../rules/limits/bed.ts'
import { waitFor } from '../wait-for.ts'
import { startRealLimits } from './real-limits-bed.ts'
import { never, startStoreBed } from './store-bed.ts'

const DAY_MS = 86_400_000
const DRAFT = {
  match: { rule: 'r' },
  fromMs: START_MS,
  untilMs: START_MS + 60_000,
  reason: 'deploy',
  by: 'alice',
}

test('silences are listed until a day after their end, and end early once', async () => {
  await using it = await startStoreBed()
  const { reader: redis, keys } = it
  const silence = await addSilence(redis, keys, DRAFT, START_MS)
  const later = await addSilence(
    redis,
    keys,
    { ...DRAFT, fromMs: START_MS + 1, untilMs: START_MS + 9 },
    START_MS,
  )
  const states = async (atMs: number) => (await listSilences(redis, keys, atMs)).map(({ state }) => state)
  expect(await states(START_MS)).toEqual(['active', 'pending'])
  expect(await expireSilence(redis, keys, silence.id, START_MS + 5)).toEqual({
    ...silence,
    untilMs: START_MS + 5,
  })
  expect(await expireSilence(redis, keys, silence.id, START_MS + 6)).toEqual({
    ...silence,
    untilMs: START_MS + 5,
  })
  expect(await expireSilence(redis, keys, later.id, START_MS)).toMatchObject({ untilMs: START_MS })
  expect(await expireSilence(redis, keys, 'none', START_MS)).toBeUndefined()
  await redis.hset(keys.silences, 'torn', '{')
  expect(await states(START_MS + 7)).toEqual(['ended', 'ended'])
  expect(await states(START_MS + 5 + DAY_MS)).toEqual([])
})

test('there are at most 1,000 silences, of a bounded size; ended ones make room', async () => {
  await using it = await startStoreBed()
  const { reader: redis, keys } = it
  const add = (atMs: number, match: object = {}) =>
    addSilence(redis, keys, { ...DRAFT, match: { ...match } }, atMs)
  await expect(add(START_MS, { name: Array(2_000).fill('abcdef') })).rejects.toThrow('8192')
  for (let i = 0; i < 1_000; i++) await add(START_MS)
  await expect(add(START_MS)).rejects.toThrow('1,000')
  await add(DRAFT.untilMs + DAY_MS)
})

test('a start reads the silences as soon as Redis is connected', async () => {
  await using it = await startStoreBed()
  const { keys } = it
  const redis = it.reader.duplicate({ lazyConnect: true, enableOfflineQueue: false })
  onTestFinished(() => redis.disconnect())
  const warned = vi.fn()
  const followed = followSilences({
    redis,
    keys,
    metrics: createMetrics(),
    log: { ...silentLog, warn: warned },
    clock: { now: () => START_MS },
    pollMs: 600_000,
  })
  await redis.connect()
  await (await followed).close()
  expect(warned).not.toHaveBeenCalled()
})

test('a process has the silences before its first commit, learns of new ones, and keeps them without Redis', async () => {
  await using it = await startStoreBed()
  const { reader: redis, keys } = it
  const clock = { now: () => START_MS }
  const first = await addSilence(redis, keys, { ...DRAFT, match: {} }, START_MS)
  const metrics = createMetrics()
  const follow = () => followSilences({ redis, keys, metrics, log: silentLog, clock, pollMs: 10 })
  const followed = await follow()
  const event = {
    type: 'ADDED',
    apiVersion: 'v1',
    kind: 'Pod',
    path: '/api/v1/namespaces/a/pods/b',
    namespace: 'a',
    name: 'b',
    labels: {},
    annotations: {},
    event: undefined,
  } as const
  const found = (rule: string, atMs = START_MS) => followed.current()?.find(rule, 's', event, atMs)?.id
  expect(found('x')).toBe(first.id)
  await expireSilence(redis, keys, first.id, START_MS)
  await waitFor(() => found('x') === undefined, { what: 'the end' })
  const second = await addSilence(redis, keys, DRAFT, START_MS)
  await waitFor(() => found('r') === second.id, { what: 'the new one' })
  redis.disconnect()
  expect(found('r', DRAFT.untilMs - 1)).toBe(second.id)
  expect(found('r', DRAFT.untilMs)).toBeUndefined()
  await followed.close()
})

test('silenced events are counted by rule and silence, and recorded in the history; the ledger balances', async () => {
  await using it = await startRealLimits([{ name: 'r', ...limitsIn({ throttle: { every: '1s' } }) }])
  const { happen } = await it.watch()
  const silence = await addSilence(it.reader, it.keys, DRAFT, START_MS)
  it.silence([silence])
  await happen({ at: 0 })
  await happen({ at: 1 })
  it.clock.ms = START_MS + 60_000
  await happen({ at: 60 })
  expect(await listSilences(it.reader, it.keys, START_MS)).toMatchObject([{ id: silence.id, suppressed: 2 }])
  const ledger = await it.ledger()
  expect(ledger.balanced).toBe(true)
  expect(ledger.rules['r']).toMatchObject({ matched: 3, sent: 1, suppressed: { silence: 2 } })
  const records = await Array.fromAsync(readHistory(it.reader, it.keys))
  expect(
    records.map(({ limit, silence: id, detail }) => [limit, id, detail?.endsWith('by alice: deploy')]),
  ).toEqual([
    ['silence', silence.id, true],
    ['silence', silence.id, true],
  ])
})

test('events that a silence cannot test are sent, and counted once for each rule until the silence is forgotten', async () => {
  await using it = await startRealLimits([{ name: 'r', ...limitsIn({ throttle: { every: '1s' } }) }])
  const { happen } = await it.watch()
  const draft = { ...DRAFT, match: { name: '/(a|b){1,400}z/' } }
  const silence = await addSilence(it.reader, it.keys, draft, START_MS)
  it.silence([silence])
  const long = { name: 'x'.repeat(5_000), sinks: ['hook', 'other'] }
  await happen({ at: 0, ...long })
  await happen({ at: 0, name: 'web' })
  await happen({ at: 2, ...long })
  const [listed] = await listSilences(it.reader, it.keys, START_MS)
  expect(listed).toMatchObject({ id: silence.id, suppressed: 0, untested: 2 })
  const ledger = await it.ledger()
  expect(ledger.balanced).toBe(true)
  expect(ledger.rules['r']).toMatchObject({ matched: 3, suppressed: {} })
  await listSilences(it.reader, it.keys, DRAFT.untilMs + DAY_MS)
  expect(await it.reader.hlen(it.keys.silenceCounts)).toBe(0)
})

test('an acknowledged incident sends nothing but its resolve notification; the next one is sent', async () => {
  await using it = await startRealLimits([{ name: 'r', ...limitsIn({ resolve: { after: '1m' } }) }])
  const { happen } = await it.watch()
  await happen({ at: 0 })
  const [incident] = (await listIncidents(it.reader, it.keys)).items
  expect(incident).toMatchObject({ rule: 'r', sinceMs: START_MS, notifications: 1 })
  if (!incident) return
  const by = { by: 'alice', atMs: START_MS + 1, reason: 'on it' }
  expect(await acknowledgeIncident(it.reader, it.keys, { rule: 'r', key: 'r:none' }, by)).toBeUndefined()
  expect(await acknowledgeIncident(it.reader, it.keys, incident, by)).toEqual({
    ...incident,
    acknowledged: by,
  })
  it.clock.ms = START_MS + 30_000
  await happen({ at: 30 })
  expect((await listIncidents(it.reader, it.keys)).items).toEqual([{ ...incident, acknowledged: by }])
  expect((await it.ledger()).rules['r']).toMatchObject({
    matched: 2,
    sent: 1,
    suppressed: { acknowledged: 1 },
  })
  const [record] = await Array.fromAsync(readHistory(it.reader, it.keys))
  expect(record).toMatchObject({ limit: 'acknowledged', untilMs: START_MS + 90_000 })
  it.clock.ms = START_MS + 90_000
  expect(await it.fire()).toBe(true)
  expect((await listIncidents(it.reader, it.keys)).items).toEqual([])
  await happen({ at: 100 })
  const ledger = await it.ledger()
  expect(ledger.rules['r']).toMatchObject({ matched: 3, sent: 2, notices: 1 })
  expect(ledger.balanced).toBe(true)
})

test('no acknowledgement is lost between commits of the same incident', async () => {
  await using it = await startRealLimits([{ name: 'r', ...limitsIn({ resolve: { after: '1h' } }) }])
  const { happen } = await it.watch()
  await happen({ at: 0 })
  const [incident] = (await listIncidents(it.reader, it.keys)).items
  if (!incident) throw new Error('no incident')
  let ended = false
  const commits = (async () => {
    for (let at = 1; at <= 60; at++) await happen({ at: 0 })
    ended = true
  })()
  for (let n = 1; !ended; n++) {
    const by = { by: `b${n}`, atMs: n }
    expect(await acknowledgeIncident(it.reader, it.keys, incident, by)).toMatchObject({ acknowledged: by })
    // Other commits write the state meanwhile.
    expect((await listIncidents(it.reader, it.keys)).items[0]?.acknowledged).toEqual(by)
  }
  await commits
  expect((await it.ledger()).balanced).toBe(true)
})

test('the incident of one object is acknowledged until it ends', async () => {
  await using it = await startRealLimits([{ name: 'r', ...limitsIn({ resolve: true }) }])
  const { happen } = await it.watch()
  await happen({ at: 0, uid: 'u' })
  const list = async () => (await listIncidents(it.reader, it.keys)).items
  expect(await list()).toMatchObject([{ rule: 'r', key: 'u:r', notifications: 1 }])
  const by = { by: 'alice', atMs: START_MS }
  expect(await acknowledgeIncident(it.reader, it.keys, { rule: 'r', key: 'u:r' }, by)).toMatchObject({
    notifications: 1,
    acknowledged: by,
  })
  expect(await list()).toMatchObject([{ acknowledged: by }])
  it.clock.ms = START_MS + 20_000
  await happen({ at: 10, uid: 'u', holds: false })
  expect(await list()).toEqual([])
  await happen({ at: 20, uid: 'u' })
  expect((await list())[0]).not.toHaveProperty('acknowledged')
  await forgetAcknowledgements(it.reader, it.keys)
  expect(await it.reader.hlen(it.keys.acknowledged)).toBe(0)
})

/** Writes states of limits as a commit stores them. */
async function startStates() {
  const it = await startStoreBed()
  const { reader: redis, keys } = it
  const own = async (source: string, key: string, sinceMs: number, more: object = {}) => {
    const state = { v: 1, limit: 'for-resolve', rule: 'r', waiting: 0, sinceMs, atMs: sinceMs, ...more }
    const value = encodeState({ text: JSON.stringify(state), expiresAfterMs: DAY_MS }, START_MS)
    await redis.hset(keys.sources, source, '{}')
    await redis.hset(keys.ownLimits(source), key, value)
    await redis.zadd(keys.ownLimitTimers(source), sinceMs, key)
  }
  const shared = async (key: string, dueMs: number, limit: string) => {
    const last = { header: { kind: 'Pod', name: key }, object: '{}', sinks: ['hook'] }
    const state = { v: 1, limit, rule: 'r', waiting: 0, sinceMs: START_MS, lastMs: START_MS, last, sent: 1 }
    await redis.set(
      keys.limit(key),
      encodeState({ text: JSON.stringify(state), expiresAfterMs: DAY_MS, dueMs }, START_MS),
    )
    await redis.zadd(keys.limitTimers, dueMs, key)
  }
  return Object.assign(it, { own, shared })
}

/** Does something after the first reply of each of these commands, as another client could. */
function afterFirst(redis: object, commands: readonly string[], what: () => Promise<unknown>): void {
  for (const command of commands) {
    const target = redis as Record<string, (...args: unknown[]) => Promise<unknown>>
    const send = target[command]?.bind(redis)
    if (!send) throw new Error(`no command ${command}`)
    let isFirst = true
    target[command] = async (...args) => {
      const reply = await send(...args)
      if (isFirst) {
        isFirst = false
        await what()
      }
      return reply
    }
  }
}

test('a list has each open incident, although other states end between two pages of it; it changes nothing', async () => {
  await using it = await startStates()
  const { reader: redis, keys } = it
  const waiting = { pending: { emission: { header: {}, object: '{}', sinks: ['s'] }, places: {} } }
  const few = Array.from({ length: 20 }, (_, i) => i)
  for (const i of few) {
    await it.own('s1', `p${i}:r`, START_MS - 1_000 + i, waiting)
    await it.shared(`r:w${i}`, START_MS + i, 'other')
  }
  for (let i = 0; i < 200; i++) {
    await it.own('s1', `o${i}:r`, START_MS + i)
    await it.shared(`r:i${i}`, START_MS + 1_000 + i, 'resolve-after')
  }
  const by = { by: 'alice', atMs: START_MS }
  for (let i = 0; i < 200; i++) await acknowledgeIncident(redis, keys, { rule: 'r', key: `o${i}:r` }, by)
  afterFirst(redis, ['zrange', 'zscan', 'hscanBuffer'], async () => {
    await redis.zrem(keys.ownLimitTimers('s1'), ...few.map((i) => `p${i}:r`))
    await redis.hdel(keys.ownLimits('s1'), ...few.map((i) => `p${i}:r`))
    await redis.zrem(keys.limitTimers, ...few.map((i) => `r:w${i}`))
  })
  for (const _ of ['while they end', 'afterwards']) {
    const { items, isComplete } = await listIncidents(redis, keys)
    expect([items.length, isComplete]).toEqual([400, true])
    expect(items.filter(({ acknowledged }) => acknowledged?.by === 'alice')).toHaveLength(200)
  }
  expect(await redis.hlen(keys.acknowledged)).toBe(200)
})

test('an acknowledgement is deleted when no source has the state of its incident; others stay', async () => {
  await using it = await startStates()
  const { reader: redis, keys } = it
  const by = { by: 'alice', atMs: START_MS }
  for (const name of ['open', 'over', 'again', 'ended', 'damaged']) {
    await it.own(name === 'open' ? 's2' : 's1', `${name}:r`, START_MS)
    expect(await acknowledgeIncident(redis, keys, { rule: 'r', key: `${name}:r` }, by)).toMatchObject({
      acknowledged: by,
    })
  }
  // It may begin again before its end was sent.
  await it.own('s1', 'over:r', START_MS, { over: { emission: {}, atMs: START_MS, why: 'ended' } })
  await it.own('s1', 'again:r', START_MS + 1)
  await redis.hdel(keys.ownLimits('s1'), 'ended:r')
  await redis.hset(keys.ownLimits('s1'), 'damaged:r', 'another format')
  expect(await forgetAcknowledgements(redis, keys)).toBe(2)
  expect((await redis.hkeys(keys.acknowledged)).toSorted()).toEqual(['damaged:r', 'open:r', 'over:r'])
  await redis.set(keys.schema, '99')
  await redis.hdel(keys.ownLimits('s1'), 'over:r')
  expect(await forgetAcknowledgements(redis, keys)).toBe(0)
})

test('no acknowledgement is lost while a source is adopted, nor one that is made meanwhile', async () => {
  await using it = await startStates()
  const { reader: redis, keys } = it
  const by = { by: 'alice', atMs: START_MS }
  await it.own('former', 'u:r', START_MS)
  const adopt = async () => {
    await it.own('new', 'u:r', START_MS)
    await redis.hdel(keys.ownLimits('former'), 'u:r')
  }
  afterFirst(redis, ['hkeys'], adopt)
  expect(await acknowledgeIncident(redis, keys, { rule: 'r', key: 'u:r' }, by)).toMatchObject({
    acknowledged: by,
  })
  afterFirst(redis, ['hkeys'], async () => {
    await it.own('newer', 'u:r', START_MS)
    await redis.hdel(keys.ownLimits('new'), 'u:r')
  })
  expect(await forgetAcknowledgements(redis, keys)).toBe(0)
  await redis.hdel(keys.ownLimits('newer'), 'u:r')
  const next = JSON.stringify({ ...by, by: 'bob', sinceMs: START_MS + 1 })
  const { eval: send } = redis
  redis.eval = (async (...args: Parameters<typeof send>) => {
    await redis.hset(keys.acknowledged, 'u:r', next)
    return send.apply(redis, args)
  }) as typeof send
  expect(await forgetAcknowledgements(redis, keys)).toBe(0)
  expect(await redis.hget(keys.acknowledged, 'u:r')).toBe(next)
})

test('an acknowledged incident is not escalated by a rule with the same conditions; others send, and so does the next incident', async () => {
  const condition = (status: string, minutes: number) => ({
    when: { kind: 'Pod' },
    condition: { type: 'Ready', becomes: status, for: minutes * 60_000 },
  })
  await using it = await startRealLimits([
    { name: 'warn', ...condition('False', 5) },
    { name: 'page', ...condition('False', 30) },
    { name: 'other', ...condition('Unknown', 30) },
  ])
  const { happen, session } = await it.watch()
  const everywhere = async (what: Happening) => {
    for (const rule of ['warn', 'page', 'other']) await happen({ ...what, rule })
  }
  const passes = async (seconds: number) => {
    it.clock.ms = START_MS + seconds * 1_000
    await session.expire(never)
  }
  const sentOf = async () => {
    const { rules } = await it.ledger()
    return ['warn', 'page', 'other'].map((rule) => rules[rule]?.sent)
  }
  await everywhere({ at: 0, uid: 'u' })
  await passes(301)
  expect(await sentOf()).toEqual([1, 0, 0])
  const by = { by: 'cli:alice', atMs: START_MS, reason: 'on it' }
  expect(await acknowledgeIncident(it.reader, it.keys, { rule: 'warn', key: 'u:warn' }, by)).toMatchObject({
    acknowledged: by,
  })
  await passes(1_801)
  expect(await sentOf()).toEqual([1, 0, 1])
  const ledger = await it.ledger()
  expect(ledger.rules['page']?.suppressed).toEqual({ acknowledged: 1 })
  expect(ledger.balanced).toBe(true)
  const records = await Array.fromAsync(readHistory(it.reader, it.keys, {}))
  expect(records.find(({ limit }) => limit === 'acknowledged')).toMatchObject({
    rule: 'page',
    detail: 'by cli:alice: on it',
  })

  await everywhere({ at: 1_900, uid: 'u', holds: false })
  await everywhere({ at: 2_000, uid: 'u' })
  await passes(2_000 + 1_801)
  expect(await sentOf()).toEqual([2, 1, 2])
  expect((await it.ledger()).balanced).toBe(true)
})
