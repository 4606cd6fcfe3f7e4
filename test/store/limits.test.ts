import { expect, test } from 'vitest'
import type { Evaluate, Evaluator, Source } from '../../src/model/change.ts'
import { createMetrics } from '../../src/observe/metrics.ts'
import { GONE_AFTER_MS } from '../../src/store/commit/evaluate.ts'
import { keysOf } from '../../src/store/keys.ts'
import { readLedger } from '../../src/store/ledger.ts'
import { encodeState } from '../../src/store/limits/limit-states.ts'
import { fireTimers } from '../../src/store/limits/limit-timers.ts'
import { waitFor } from '../wait-for.ts'
import { type BedLimits, limitedRouting, smallLimits } from './limits-bed.ts'
import { change, SOURCE } from './objects.ts'
import { never, startStoreBed } from './store-bed.ts'

const OTHER: Source = { ...SOURCE, key: 'others', title: 'others' }
/** Later than whatever the limits of these tests wait for. */
const LATER_MS = 3_600_000

async function startLimitsBed(
  options: BedLimits & { rules?: ReadonlySet<string>; redisArgs?: string[] } = {},
) {
  let routing: Evaluator = limitedRouting(smallLimits(options), options.rules)
  const it = await startStoreBed({ routing: () => routing, redisArgs: options.redisArgs ?? [] })
  let attempts = 0

  /** A session of a process of its own that watches, from an empty index on. */
  async function watch(source = SOURCE) {
    const session = await it.newStore().open(source, never)
    await session.beginSeed(never)
    await session.endList('1', never)
    return session
  }

  /** Tells of deliveries as the tests name them: `once-a1`, or `digest 3` for a digest. */
  const told = async () =>
    (await it.deliveries()).map(({ event, rule, notice }) =>
      notice?.kind === 'digest' ? `${rule} of ${notice.count}` : `${rule} ${event.name}`,
    )

  return {
    ...it,
    watch,
    told,
    ledger: () => readLedger(it.reader, it.keys, { verify: true }),
    rule: async (name: string) => (await readLedger(it.reader, it.keys, { verify: true })).rules[name],
    /** A process that decides what is due, at some time. */
    fire(nowMs = Date.now() + LATER_MS, instance = 'one') {
      const { commitConnection, metrics } = it.newStore()
      const parts = {
        commitConnection,
        keys: it.keys,
        instance,
        stages: {
          evaluator: () => routing,
          enqueued: (lanes: readonly { lane: string }[]) =>
            void it.woken.push(...lanes.map(({ lane }) => lane)),
        },
        clock: { now: () => nowMs },
        metrics,
      }
      return fireTimers(parts, `${instance}/${++attempts}`, never)
    },
    use(next: BedLimits & { rules?: ReadonlySet<string> }) {
      routing = limitedRouting(smallLimits(next), next.rules)
    },
  }
}

const balanced = { balanced: true, verified: true }

test('what a limit suppresses is counted, and what it lets pass is told, in one transaction with the position', async () => {
  await using it = await startLimitsBed()
  const session = await it.watch()
  await session.commit([change('ADDED', 'once-a1', 2), change('ADDED', 'x', 3)], '3', never)
  await session.commit([change('ADDED', 'once-a2', 4), change('ADDED', 'once-b1', 5)], '5', never)
  expect(await it.told()).toEqual(['once a1', 'all x', 'once b1'])
  const ledger = await it.ledger()
  expect(ledger).toMatchObject(balanced)
  expect(ledger.watches[SOURCE.key]).toMatchObject({ observed: 4, matched: 3, limited: 1, unmatched: 0 })
  expect(ledger.rules['once']).toMatchObject({ matched: 3, sent: 2, suppressed: { throttle: 1 } })
  expect(ledger.rules['all']).toMatchObject({ matched: 1, sent: 1 })
  expect(Date.now() - (ledger.rules['once']?.lastMatchMs ?? 0)).toBeLessThan(60_000)
})

test('deliveries of limits and others stay in the order of their events', async () => {
  await using it = await startLimitsBed()
  const session = await it.watch()
  const names = ['x1', 'once-a', 'x2', 'x3', 'once-b', 'x4']
  await session.commit(
    names.map((name, i) => change('ADDED', name, i + 2)),
    '9',
    never,
  )
  expect(await it.told()).toEqual(['all x1', 'once a', 'all x2', 'all x3', 'once b', 'all x4'])
})

test('a commit without limited rules asks Redis for nothing about limits', async () => {
  await using it = await startLimitsBed()
  const session = await it.watch()
  const commands = async () => {
    const stats = await it.reader.info('commandstats')
    const of = (name: string) => Number(new RegExp(`cmdstat_${name}:calls=(\\d+)`).exec(stats)?.[1] ?? 0)
    return {
      watch: of('watch'),
      mget: of('mget'),
      exec: of('exec'),
      evalsha: of('evalsha'),
      zrange: of('zrange'),
    }
  }
  const before = await commands()
  await session.commit([change('ADDED', 'x', 2)], '2', never)
  const after = await commands()
  expect(after).toEqual({
    ...{ watch: before.watch, mget: before.mget + 1, exec: before.exec },
    ...{ evalsha: before.evalsha + 1, zrange: before.zrange },
  })
})

test('two sources on one shared state: every event is counted once, and one of them is told', async () => {
  await using it = await startLimitsBed()
  const [first, second] = [await it.watch(), await it.watch(OTHER)]
  const each = 60
  async function load(session: typeof first, prefix: string) {
    for (let i = 0; i < each; i++)
      await session.commit([change('ADDED', `once-a${prefix}${i}`, i + 2)], String(i + 2), never)
  }
  await Promise.all([load(first, 'l'), load(second, 'r')])
  expect(await it.told()).toHaveLength(1)
  const ledger = await it.ledger()
  expect(ledger).toMatchObject(balanced)
  expect(ledger.rules['once']).toMatchObject({ matched: 120, sent: 1, suppressed: { throttle: 119 } })
  expect(
    Buffer.from((await it.reader.getBuffer(it.keys.limit('once:a'))) ?? '')
      .subarray(17)
      .toString(),
  ).toBe('120')
})

test('a commit that loses again and again gets a turn of its own', async () => {
  await using it = await startLimitsBed()
  const [large, small] = [await it.watch(), await it.watch(OTHER)]
  const order: string[] = []
  let held = it.proxy.hold('exec')
  const commit = large.commit([change('ADDED', 'once-a', 2)], '2', never).then(() => order.push('large'))
  for (let loss = 1; loss <= 3; loss++) {
    await held.seen
    await small.commit([change('ADDED', `once-a${loss}`, loss + 1)], String(loss + 1), never)
    expect(await it.reader.exists(it.keys.limitsTurn)).toBe(0)
    const next = it.proxy.hold('exec')
    held.release()
    held = next
  }
  await held.seen
  expect(await it.reader.exists(it.keys.limitsTurn)).toBe(1)
  const other = small.commit([change('ADDED', 'once-a9', 9)], '9', never).then(() => order.push('small'))
  const looks = async () => /cmdstat_get:calls=(\d+)/.exec(await it.reader.info('commandstats'))?.[1]
  const before = await looks()
  await waitFor(async () => (await looks()) !== before, { what: 'the other one to wait' })
  held.release()
  await Promise.all([commit, other])
  expect(order).toEqual(['large', 'small'])
  expect(await it.reader.exists(it.keys.limitsTurn)).toBe(0)
  expect(await it.rule('once')).toMatchObject({ matched: 5, sent: 1 })
})

test('so many states in one commit that they cannot all be watched are guarded all the same', async () => {
  await using it = await startLimitsBed({ waitMs: 60_000 })
  const [large, small] = [await it.watch(), await it.watch(OTHER)]
  // Letters of 600 alphabets: 600 states.
  const name = (i: number) => `digest-${String.fromCodePoint(0x4e00 + i)}`
  const many = Array.from({ length: 600 }, (_, i) => change('ADDED', `${name(i)}-l`, i + 2))
  const held = it.proxy.hold('exec')
  const commit = large.commit(many, '1000', never)
  await held.seen
  // Another process changes one of them between read and write.
  await small.commit([change('ADDED', `${name(3)}-r`, 2)], '2', never)
  held.release()
  await commit
  expect(await it.rule('digest')).toMatchObject({ matched: 601, waiting: 601 })
  expect((await it.ledger()).watches[SOURCE.key]).toMatchObject({ observed: 600, limited: 600 })
  expect(await it.ledger()).toMatchObject(balanced)
  while (await it.fire());
  expect((await it.told()).filter((text) => text === 'digest of 2')).toHaveLength(1)
})

test('a shared state of no use any more goes; one in which something waits never does by itself', async () => {
  await using it = await startLimitsBed()
  const session = await it.watch()
  await session.commit([change('ADDED', 'once-a', 2), change('ADDED', 'digest-b', 3)], '3', never)
  expect(await it.reader.pttl(it.keys.limit('once:a'))).toBeGreaterThan(3_500_000)
  expect(await it.reader.pttl(it.keys.limit('digest:b'))).toBe(-1)
})

test('a digest is told once when its time has come, by one of several processes, and not before', async () => {
  await using it = await startLimitsBed({ waitMs: 60_000 })
  const session = await it.watch()
  for (let i = 0; i < 3; i++)
    await session.commit([change('ADDED', `digest-a${i}`, i + 2)], String(i + 2), never)
  expect(await it.fire(Date.now())).toBe(false)
  expect(await it.told()).toEqual([])
  expect(await it.rule('digest')).toMatchObject({ matched: 3, waiting: 3 })
  await Promise.all(['one', 'two', 'three'].map((name) => it.fire(undefined, name)))
  expect(await it.told()).toEqual(['digest of 3'])
  expect(it.woken).toEqual(['hook/0'])
  expect(await it.rule('digest')).toMatchObject({ matched: 3, digested: 3, waiting: 0, notices: 1 })
  expect(await it.ledger()).toMatchObject(balanced)
  expect(await it.reader.exists(it.keys.limitTimers)).toBe(0)
})

test('what limits kept for long waits for its sink only since it was let go', async () => {
  await using it = await startLimitsBed()
  const session = await it.watch()
  // Observed long ago, as the tests' objects are.
  await session.commit([change('ADDED', 'digest-a', 2)], '2', never)
  const nowMs = Date.now() + LATER_MS
  await it.fire(nowMs)
  expect((await it.ledger()).sinks['hook']?.oldestMs).toBe(nowMs)
  expect((await it.deliveries())[0]?.releasedAt).toBe(new Date(nowMs).toISOString())
})

test('many digests are told in several transactions', async () => {
  await using it = await startLimitsBed()
  const session = await it.watch()
  const letters = Array.from({ length: 50 }, (_, i) => String.fromCodePoint(0x4e00 + i))
  await session.commit(
    letters.map((letter, i) => change('ADDED', `digest-${letter}`, i + 2)),
    '60',
    never,
  )
  let rounds = 0
  while (await it.fire()) rounds++
  expect(rounds).toBeGreaterThan(2)
  expect(await it.told()).toHaveLength(50)
  expect(await it.ledger()).toMatchObject(balanced)
})

test('queue.md: a digest whose EXEC was cut before or after it ran is told once', async () => {
  await using it = await startLimitsBed()
  const session = await it.watch()
  for (let i = 0; i < 10; i++) {
    await session.commit([change('ADDED', `digest-a${i}`, i + 2)], String(i + 2), never)
    if (i % 2 === 0) it.proxy.cutAfter('exec')
    else it.proxy.hold('exec', { cut: true })
    expect(await it.fire(undefined, `process-${i}`)).toBe(true)
  }
  expect(await it.told()).toEqual(Array.from({ length: 10 }, () => 'digest of 1'))
  expect(await it.rule('digest')).toMatchObject({ matched: 10, digested: 10, waiting: 0, notices: 10 })
  expect(await it.ledger()).toMatchObject(balanced)
})

test('an EXEC of a digest that arrives late, after another process told it, is discarded', async () => {
  await using it = await startLimitsBed()
  const session = await it.watch()
  await session.commit([change('ADDED', 'digest-a', 2)], '2', never)
  const late = it.proxy.hold('exec', { cut: true })
  const slow = it.fire(undefined, 'slow')
  await late.seen
  await it.fire(undefined, 'quick')
  late.release()
  await slow
  expect(await it.told()).toEqual(['digest of 1'])
  expect(await it.ledger()).toMatchObject(balanced)
})

test('what lasts is told by the session of its source, and what ended before is not', async () => {
  await using it = await startLimitsBed({ lastMs: 50 })
  const session = await it.watch()
  await session.commit([change('ADDED', 'lasting-a', 2), change('ADDED', 'lasting-b', 3)], '3', never)
  expect(session.dueMs).toBeGreaterThan(Date.now() - 1_000)
  await session.commit([change('DELETED', 'lasting-b', 4)], '4', never)
  await waitFor(() => (session.dueMs ?? 0) <= Date.now(), { what: 'the time' })
  await session.expire(never)
  await session.expire(never)
  expect(await it.told()).toEqual(['lasting a'])
  expect(session.dueMs).toBeUndefined()
  expect(session.checkpoint?.resourceVersion).toBe('4')
  expect(await it.rule('lasting')).toMatchObject({ matched: 2, sent: 1, waiting: 0, suppressed: { for: 1 } })
  expect(await it.ledger()).toMatchObject(balanced)
  expect(await it.reader.exists(it.keys.ownLimits(SOURCE.key), it.keys.ownLimitTimers(SOURCE.key))).toBe(0)
})

test('a session that opens knows what is due, and one that was fenced tells nothing', async () => {
  await using it = await startLimitsBed({ lastMs: 1 })
  const first = await it.watch()
  await first.commit([change('ADDED', 'lasting-a', 2)], '2', never)
  const second = await it.newStore().open(SOURCE, never)
  expect(second.dueMs).toBe(first.dueMs)
  await expect(first.expire(never)).rejects.toThrow('another process moved the position')
  await waitFor(() => (second.dueMs ?? 0) <= Date.now(), { what: 'the time' })
  await second.expire(never)
  expect(await it.told()).toEqual(['lasting a'])
})

test('queue.md: what lasted is told once when EXECs are cut before or after they ran', async () => {
  await using it = await startLimitsBed({ lastMs: 1 })
  const session = await it.watch()
  for (let i = 0; i < 10; i++) {
    await session.commit([change('ADDED', `lasting-${i}`, i + 2)], String(i + 2), never)
    await waitFor(() => (session.dueMs ?? 0) <= Date.now(), { what: 'the time' })
    if (i % 2 === 0) it.proxy.cutAfter('exec')
    else it.proxy.hold('exec', { cut: true })
    await session.expire(never)
    expect(session.dueMs).toBeUndefined()
  }
  expect(await it.told()).toEqual(Array.from({ length: 10 }, (_, i) => `lasting ${i}`))
  expect(await it.ledger()).toMatchObject(balanced)
})

test('states that a decision asks for only then are read, and guarded, too: what lasted goes on into a digest', async () => {
  await using it = await startLimitsBed({ lastMs: 1 })
  const session = await it.watch()
  for (const [i, name] of ['slow-a1', 'slow-a2'].entries()) {
    await session.commit([change('ADDED', name, i + 2)], String(i + 2), never)
    await waitFor(() => (session.dueMs ?? 0) <= Date.now(), { what: 'the time' })
    await session.expire(never)
  }
  expect(await it.told()).toEqual([])
  await it.fire()
  expect(await it.told()).toEqual(['slow of 2'])
  expect(await it.rule('slow')).toMatchObject({ matched: 2, digested: 2, waiting: 0 })
  expect(await it.ledger()).toMatchObject(balanced)
})

test('a repeated commit decides by the time of the first try', async () => {
  await using it = await startLimitsBed({ waitMs: 1_000 })
  const session = await it.watch()
  const held = it.proxy.hold('exec', { cut: true })
  const commit = session.commit([change('ADDED', 'digest-a', 2)], '2', never)
  await held.seen
  const triedMs = Date.now()
  await commit
  const [, dueMs] = await it.reader.zrange(it.keys.limitTimers, '0', '0', 'WITHSCORES')
  expect(Number(dueMs) - 1_000).toBeLessThanOrEqual(triedMs)
})

test('rules are asked once, however often a commit is repeated for what others wrote', async () => {
  const routing = limitedRouting(smallLimits({}))
  const asked: string[] = []
  const evaluate: Evaluate = (source, transitions) => {
    asked.push(...transitions.map(({ name }) => name))
    return routing.evaluate(source, transitions)
  }
  await using it = await startStoreBed({ routing: () => ({ ...routing, evaluate }) })
  const session = await it.watching()
  for (const repeats of [1, 2]) {
    const held = it.proxy.hold('exec', { cut: repeats === 2 })
    const commit = session.commit([change('ADDED', `once-a${repeats}`, repeats + 1)], `${repeats + 1}`, never)
    await held.seen
    await it.reader.set(
      it.keys.limit('once:a'),
      encodeState({ text: '1', expiresAfterMs: 60_000 }, Date.now()),
    )
    held.release()
    await commit
  }
  expect(asked).toEqual(['once-a1', 'once-a2'])
  expect((await readLedger(it.reader, it.keys, { verify: true })).rules['once']).toMatchObject({
    ...{ matched: 2, sent: 0, suppressed: { throttle: 2 } },
  })
})

test('a first list, and a kind that is gone, give up what waits for the objects that were', async () => {
  await using it = await startLimitsBed()
  const session = await it.watch()
  const some = Array.from({ length: 450 }, (_, i) => change('ADDED', `lasting-${i}`, i + 2))
  await session.commit(some, '500', never)
  expect(await it.rule('lasting')).toMatchObject({ waiting: 450 })
  await session.beginSeed(never)
  expect(await it.rule('lasting')).toMatchObject({ waiting: 0, suppressed: { gone: 450 } })
  await session.endList('600', never)
  await session.commit([change('ADDED', 'lasting-a', 601)], '601', never)
  await session.markAbsent(never)
  expect(await it.rule('lasting')).toMatchObject({ matched: 451, sent: 0, waiting: 0 })
  expect(session.dueMs).toBeUndefined()
  expect(await it.ledger()).toMatchObject(balanced)
})

test('a reload in the middle of a waiting group: the rule as it is now decides; of a rule that is gone it is told, later', async () => {
  await using it = await startLimitsBed({ rules: new Set(['digest', 'lasting', 'all']) })
  const session = await it.watch()
  await session.commit([change('ADDED', 'digest-a', 2), change('ADDED', 'lasting-b', 3)], '3', never)
  it.use({ rules: new Set(['all']) })
  // Another process may still have the rule: it is left alone at first.
  expect(await it.fire(Date.now() + 61_000)).toBe(false)
  expect(await it.rule('digest')).toMatchObject({ waiting: 1 })
  it.use({ rules: new Set(['digest', 'lasting', 'all']), waitMs: 5 })
  await session.commit([change('ADDED', 'digest-a2', 4)], '4', never)
  expect(await it.fire(Date.now() + 61_000)).toBe(true)
  expect(await it.told()).toEqual(['digest of 2'])
  await session.commit([change('ADDED', 'digest-c', 5)], '5', never)
  it.use({ rules: new Set(['all']) })
  expect(await it.fire(Date.now() + 61_000 + GONE_AFTER_MS)).toBe(true)
  expect(await it.rule('digest')).toMatchObject({ matched: 3, digested: 3, waiting: 0, suppressed: {} })
  expect(await it.told()).toEqual(['digest of 2', 'digest of 1'])
  expect(await it.ledger()).toMatchObject(balanced)
})

test('own states of a rule that is gone are given up in the end, and ask for nothing until then', async () => {
  await using it = await startLimitsBed({ lastMs: 1 })
  const session = await it.watch()
  await session.commit([change('ADDED', 'lasting-a', 2)], '2', never)
  it.use({ rules: new Set(['all']) })
  await waitFor(() => (session.dueMs ?? 0) <= Date.now(), { what: 'the time' })
  await session.expire(never)
  // It does not come again at once.
  expect(session.dueMs).toBeGreaterThan(Date.now() + 20_000)
  const overdue = Date.now() - GONE_AFTER_MS - 10
  const value = (await it.reader.hgetBuffer(
    it.keys.ownLimits(SOURCE.key),
    'uid-of-lasting-a:lasting',
  )) as Buffer
  value.writeUIntBE(overdue, 1, 6)
  await it.reader.hset(it.keys.ownLimits(SOURCE.key), 'uid-of-lasting-a:lasting', value)
  await it.reader.zadd(it.keys.ownLimitTimers(SOURCE.key), overdue, 'uid-of-lasting-a:lasting')
  await session.expire(never)
  expect(await it.rule('lasting')).toMatchObject({ waiting: 0, suppressed: { gone: 1 } })
  expect(await it.ledger()).toMatchObject(balanced)
})

test('the clock of the process that looks decides: one an hour behind leaves what waits, one an hour ahead tells it, once', async () => {
  await using it = await startLimitsBed({ waitMs: 30_000 })
  const session = await it.watch()
  await session.commit([change('ADDED', 'digest-a', 2)], '2', never)
  const nowMs = Date.now()
  expect(await it.fire(nowMs - LATER_MS, 'behind')).toBe(false)
  expect(await it.told()).toEqual([])
  expect(await it.fire(nowMs + LATER_MS, 'ahead')).toBe(true)
  expect(await it.told()).toEqual(['digest of 1'])
  for (const process of ['right', 'behind', 'ahead'])
    expect(await it.fire(nowMs + 31_000, process)).toBe(false)
  expect(await it.told()).toEqual(['digest of 1'])
  expect(await it.rule('digest')).toMatchObject({ matched: 1, digested: 1, waiting: 0 })
  expect(await it.ledger()).toMatchObject(balanced)
})

test('what waits when a clock is set back is told when the clock comes to its time again, if not before', async () => {
  await using it = await startLimitsBed({ waitMs: 30_000, lastMs: 1 })
  const session = await it.watch()
  await session.commit([change('ADDED', 'digest-a', 2), change('ADDED', 'lasting-a', 3)], '3', never)
  const dueMs = session.dueMs ?? 0
  // An hour back: nothing is due, nothing is given up.
  for (const agoMs of [LATER_MS, LATER_MS / 2]) expect(await it.fire(Date.now() - agoMs)).toBe(false)
  expect(session.dueMs).toBe(dueMs)
  expect(await it.ledger()).toMatchObject(balanced)
  expect(await it.fire(Date.now() + 30_000)).toBe(true)
  await waitFor(() => dueMs <= Date.now(), { what: 'the time' })
  await session.expire(never)
  expect((await it.told()).toSorted()).toEqual(['digest of 1', 'lasting a'])
  expect(await it.ledger()).toMatchObject(balanced)
})

test('a timer whose state is not there any more goes', async () => {
  await using it = await startLimitsBed()
  await it.watch()
  await it.reader.zadd(it.keys.limitTimers, 1, 'digest:lost')
  expect(await it.fire()).toBe(true)
  expect(await it.fire()).toBe(false)
  expect(await it.reader.exists(it.keys.limitTimers)).toBe(0)
})

test('only a count of the states finds what waited and is gone', async () => {
  await using it = await startLimitsBed()
  const session = await it.watch()
  await session.commit([change('ADDED', 'digest-a', 2), change('ADDED', 'lasting-b', 3)], '3', never)
  expect(await it.ledger()).toMatchObject(balanced)
  await it.reader.del(it.keys.limit('digest:a'))
  expect(await readLedger(it.reader, it.keys, { verify: false })).toMatchObject({ balanced: true })
  expect(await it.ledger()).toMatchObject({ balanced: false, verified: true })
})

test('a ledger that a newer version wrote, with a limit that is not known here, balances all the same', async () => {
  await using it = await startLimitsBed()
  const session = await it.watch()
  await session.commit([change('ADDED', 'once-a1', 2)], '2', never)
  await it.reader.hincrby(it.keys.ruleLedger('once'), 'matched', 3)
  await it.reader.hincrby(it.keys.ruleLedger('once'), 'suppressed:hysteresis', 3)
  expect(await it.ledger()).toMatchObject(balanced)
  expect(await it.rule('once')).toMatchObject({ matched: 4, sent: 1, suppressed: { hysteresis: 3 } })
})

test('metrics count what was suppressed, and notices', async () => {
  await using it = await startLimitsBed()
  const metrics = createMetrics()
  const session = await it.newStore(undefined, metrics).open(SOURCE, never)
  await session.beginSeed(never)
  await session.endList('1', never)
  await session.commit([change('ADDED', 'once-a1', 2), change('ADDED', 'once-a2', 3)], '3', never)
  const text = await metrics.registry.metrics()
  expect(text).toContain('kubeherald_changes_limited_total{watch="configmaps"} 1')
  expect(text).toContain('kubeherald_rule_suppressed_total{rule="once",limit="throttle"} 1')
})

test('queue.md: Redis is killed again and again while two sources share a state and digests are told', async () => {
  await using it = await startLimitsBed({ waitMs: 1 })
  const sessions = [await it.watch(), await it.watch(OTHER)]
  let done = 0
  let stopped = false
  const loads = sessions.map(async (session, n) => {
    for (let i = 0; i < 150; i++) {
      const names = [`once-a${n}-${i}`, `digest-a${n}-${i}`]
      const changes = names.map((name, k) => change('ADDED', name, i * 2 + k + 2))
      await session.commit(changes, String(i * 2 + 3), never)
      done++
    }
  })
  const firing = (async () => {
    while (!stopped) await it.fire(Date.now() + LATER_MS, 'fires')
  })()
  for (let round = 1; round <= 3; round++) {
    await waitFor(() => done >= round * 60, { what: 'some commits' })
    await it.server.kill()
    await it.server.restart()
  }
  await Promise.all(loads)
  stopped = true
  await firing
  while (await it.fire());
  const told = await it.told()
  const digested = told
    .filter((it) => it.startsWith('digest'))
    .reduce((sum, text) => sum + Number(text.split(' ').at(-1)), 0)
  expect(digested).toBe(300)
  expect(told.filter((it) => it.startsWith('once'))).toHaveLength(1)
  expect(await it.ledger()).toMatchObject(balanced)
})

test('all keys of limits lie on the node of the others', () => {
  const keys = keysOf('test')
  const all = [
    ...[keys.limit('a'), keys.limitsMoved, keys.limitTimers, keys.ownLimits('a'), keys.ownLimitTimers('a')],
    ...[keys.limitsFired('a'), keys.limitsTurn, keys.rules, keys.ruleLedger('a')],
  ]
  expect(all.every((key) => key.startsWith('{kubeherald:test}:'))).toBe(true)
  expect(new Set(all).size).toBe(all.length)
})
