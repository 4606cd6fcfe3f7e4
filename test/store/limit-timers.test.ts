import { expect, test } from 'vitest'
import type { WatchStatus } from '../../src/model/status.ts'
import { silentLog } from '../../src/observe/log.ts'
import { readLedger } from '../../src/store/ledger.ts'
import { startLimitStateGc } from '../../src/store/limits/limit-state-gc.ts'
import { encodeState } from '../../src/store/limits/limit-states.ts'
import {
  fireTimers,
  startLimitTimers,
  unreadOf,
  unreadSourceOf,
} from '../../src/store/limits/limit-timers.ts'
import { type InstanceReport, publishReport } from '../../src/store/process-reports.ts'
import { unresolved } from '../../src/watch/reflector/reflector-status.ts'
import { waitFor } from '../wait-for.ts'
import { limitedRouting, smallLimits } from './limits-bed.ts'
import { change, SOURCE } from './objects.ts'
import { never, startStoreBed } from './store-bed.ts'

function status(news: Partial<WatchStatus> = {}): WatchStatus {
  const fixed = { key: SOURCE.key, title: SOURCE.title, resourceVersion: '1', lastContactMs: 0 }
  return { ...fixed, phase: 'watching', aliveUntilMs: 0, ready: true, current: true, ...news }
}

const report = (id: string, watches: WatchStatus[], rules: string[] = ['digest']): InstanceReport => ({
  ...{ id, role: 'all', version: '1', host: 'here', pid: 1, startedMs: 0, atMs: 0, sinks: [] },
  ...{ watches, rules: rules.map((rule) => ({ rule })) },
})

/** Something waits for a digest whose time has come. */
async function startTimersBed(rules?: ReadonlySet<string>) {
  const routing = limitedRouting(smallLimits({ waitMs: 1 }), rules)
  const it = await startStoreBed({ routing: () => routing })
  const stack = new AsyncDisposableStack()
  stack.use(it)
  const session = await it.watching()
  await session.commit([change('ADDED', 'digest-a', 2)], '2', never)
  const state = {
    ...{ watches: [status()], hasLimits: true, lost: new Set<string>(), polls: 0 },
    isHeldUp: false,
    fails: false,
  }
  const redis = Object.create(it.reader, {
    zrange: {
      value: (...args: Parameters<typeof it.reader.zrange>) =>
        state.fails ? Promise.reject(new Error('Redis fails')) : it.reader.zrange(...args),
    },
  })
  function start(maxDelayMs = 600_000, idlePollMs = 600_000) {
    const { commitConnection, metrics } = it.newStore()
    const timers = startLimitTimers({
      ...{ keys: it.keys, instance: 'one', metrics, redis },
      commitConnection: { ...commitConnection, isHeldUp: () => state.isHeldUp },
      ...{ clock: Date, log: silentLog, watches: () => state.watches },
      stages: { evaluator: () => routing, enqueued() {} },
      hasLimits() {
        state.polls++
        return state.hasLimits
      },
      lostDebounces: () => state.lost,
      timing: { pollMs: 20, idlePollMs, maxDelayMs, afterFaultMs: 500 },
    })
    stack.defer(() => timers.close())
    return timers
  }
  const looks = async () => {
    const stats = await it.reader.info('commandstats')
    return Number(/cmdstat_zrange:calls=(\d+)/.exec(stats)?.[1] ?? 0)
  }
  return {
    ...it,
    state,
    start,
    looks,
    session,
    enqueued: async () => (await it.deliveries()).length,
    rule: async (name: string) => (await readLedger(it.reader, it.keys, { verify: true })).rules[name],
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  }
}

test('what is due is enqueued when all is read', async () => {
  await using it = await startTimersBed()
  it.start()
  await waitFor(async () => (await it.enqueued()) === 1, { what: 'the digest' })
})

test('what is due is found behind thousands of timers of a rule that only others have', async () => {
  await using it = await startTimersBed(new Set(['digest']))
  const sinceMs = Date.now() - 60_000
  const others = Array.from({ length: 2_500 }, (_, i) => [sinceMs, `elsewhere:${i}`])
  await it.reader.zadd(it.keys.limitTimers, ...others.flat())
  it.start()
  await waitFor(async () => (await it.enqueued()) === 1, { what: 'the digest' })
  expect(await it.reader.zcard(it.keys.limitTimers)).toBe(2_500)
})

test('what waits for `debounce` is due as soon as its rule loses it', async () => {
  await using it = await startTimersBed(new Set(['digest']))
  const laterMs = Date.now() + 3_600_000
  const states = { 'lost:a': 'debounce', 'lost:b': 'group', 'kept:c': 'debounce' }
  for (const [key, limit] of Object.entries(states)) {
    const text = JSON.stringify({ v: 1, limit, rule: key.split(':')[0], waiting: 1 })
    const state = { text, expiresAfterMs: 7_200_000, dueMs: laterMs, waiting: 1 }
    await it.reader.set(it.keys.limit(key), encodeState(state, Date.now()))
    await it.reader.zadd(it.keys.limitTimers, laterMs, key)
  }
  it.start()
  await waitFor(async () => (await it.enqueued()) === 1, { what: 'a look before the reload' })
  const score = async (key: string) => Number(await it.reader.zscore(it.keys.limitTimers, key))
  expect(await score('lost:a')).toBe(laterMs)
  it.state.lost = new Set(['lost'])
  await waitFor(async () => (await score('lost:a')) <= Date.now(), { what: 'a time that has come' })
  expect([await score('lost:b'), await score('kept:c')]).toEqual([laterMs, laterMs])
})

test('a timer that comes long before its state, of a rule that no process has, is set to the time of its state', async () => {
  const routing = limitedRouting(smallLimits({}), new Set(['digest']))
  await using it = await startStoreBed({ routing: () => routing })
  const dueMs = Date.now() + 3_600_000
  const text = JSON.stringify({ v: 1, limit: 'debounce', rule: 'lost', waiting: 1 })
  const state = encodeState({ text, expiresAfterMs: 7_200_000, dueMs, waiting: 1 }, Date.now())
  await it.reader.set(it.keys.limit('lost:a'), state)
  await it.reader.zadd(it.keys.limitTimers, Date.now() - 360_000, 'lost:a')
  const { commitConnection, metrics } = it.newStore()
  const stages = { evaluator: () => routing, enqueued() {} }
  const parts = { commitConnection, keys: it.keys, instance: 'one', stages, clock: Date, metrics }
  await fireTimers(parts, 'one/1', never)
  expect(await fireTimers(parts, 'one/2', never)).toBe(false)
  expect(Number(await it.reader.zscore(it.keys.limitTimers, 'lost:a'))).toBe(dueMs)
  expect(await it.reader.getBuffer(it.keys.limit('lost:a'))).toEqual(state)
})

test('it waits while a source is behind, and not any longer', async () => {
  await using it = await startTimersBed()
  it.state.watches = [status({ current: false })]
  it.start()
  const before = await it.looks()
  await waitFor(async () => (await it.looks()) > before + 5, { what: 'some looks' })
  expect(await it.enqueued()).toBe(0)
  it.state.watches = [status()]
  await waitFor(async () => (await it.enqueued()) === 1, { what: 'the digest' })
})

test('it waits as long as Redis takes no commits', async () => {
  await using it = await startTimersBed()
  it.state.isHeldUp = true
  it.state.watches = [status({ current: false })]
  it.start(50)
  await new Promise((resolve) => setTimeout(resolve, 500))
  expect(await it.enqueued()).toBe(0)
  it.state.isHeldUp = false
  await waitFor(async () => (await it.enqueued()) === 1, { what: 'the digest' })
})

test('it does not wait longer than for any other for a watch whose own keys hold it up', async () => {
  await using it = await startTimersBed()
  const held = status({ key: 'b', current: false, behind: { ms: 90_000, waitsFor: 'redis' } })
  it.state.watches = [status(), held]
  it.start(100)
  await waitFor(async () => (await it.enqueued()) === 1, { what: 'the digest' })
})

test('after a fault of Redis it waits until the reports of other processes are newer', async () => {
  await using it = await startTimersBed()
  it.state.fails = true
  it.start()
  await waitFor(() => it.state.polls > 3, { what: 'some looks' })
  const fromMs = performance.now()
  it.state.fails = false
  await waitFor(async () => (await it.enqueued()) === 1, { what: 'the digest' })
  expect(performance.now() - fromMs).toBeGreaterThan(300)
})

test('what became due after all was read is left to the next look', async () => {
  await using it = await startTimersBed()
  const routing = limitedRouting(smallLimits({ waitMs: 1 }))
  const { commitConnection, metrics } = it.newStore()
  const stages = { evaluator: () => routing, enqueued() {} }
  const parts = { commitConnection, keys: it.keys, instance: 'one', stages, clock: Date, metrics }
  const [, score = ''] = await it.reader.zrange(it.keys.limitTimers, '0', '0', 'WITHSCORES')
  await waitFor(() => Date.now() > Number(score), { what: 'its time' })
  expect(await fireTimers(parts, 'one/1', never, Number(score) - 1)).toBe(false)
  expect(await fireTimers(parts, 'one/2', never, Number(score))).toBe(true)
})

test('it waits for a source that nobody reads, but not for ever', async () => {
  await using it = await startTimersBed()
  it.state.watches = [status({ phase: 'standby', current: false })]
  const startedMs = performance.now()
  it.start(500)
  await waitFor(async () => (await it.enqueued()) === 1, { what: 'the digest' })
  expect(performance.now() - startedMs).toBeGreaterThan(490)
})

test('a source that another process reads is read', async () => {
  await using it = await startTimersBed()
  it.state.watches = [status({ phase: 'standby', current: false })]
  await publishReport(it.reader, it.keys, report('other', [status()]))
  it.start()
  await waitFor(async () => (await it.enqueued()) === 1, { what: 'the digest' })
})

test('what this process reported of a source before it fell behind does not count', async () => {
  await using it = await startTimersBed()
  it.state.watches = [status({ current: false })]
  await publishReport(it.reader, it.keys, report('one', [status()]))
  it.start()
  const { polls } = it.state
  await waitFor(() => it.state.polls > polls + 5, { what: 'some looks' })
  expect(await it.enqueued()).toBe(0)
  it.state.watches = [status()]
  await waitFor(async () => (await it.enqueued()) === 1, { what: 'the digest' })
})

test('a reconnect that is over does not shorten the wait for a source that another process reads', async () => {
  await using it = await startTimersBed()
  const maxDelayMs = 500
  const timer = async (dueMs: number) => {
    const [key = ''] = await it.reader.zrange(it.keys.limitTimers, '0', '0')
    await it.reader.zadd(it.keys.limitTimers, dueMs, key)
  }
  const someLooks = async () => {
    const { polls } = it.state
    await waitFor(() => it.state.polls > polls + 3, { what: 'some looks' })
  }
  const elsewhere = async (news: Partial<WatchStatus>) => {
    await publishReport(it.reader, it.keys, report('other', [status({ key: 'b', ...news })]))
    await it.reader.persist(it.keys.instance('other'))
  }
  const standby = status({ key: 'b', phase: 'standby', current: false })
  await timer(Date.now() + 3_600_000)
  await elsewhere({})
  it.state.watches = [status({ current: false }), standby]
  it.start(maxDelayMs)
  await someLooks()
  const behindMs = performance.now()
  it.state.watches = [status(), standby]
  await someLooks()
  await waitFor(() => performance.now() - behindMs > maxDelayMs, { what: 'that to be long ago' })
  await elsewhere({ current: false })
  const dueMs = performance.now()
  await timer(1)
  await waitFor(async () => (await it.enqueued()) === 1, { what: 'the digest' })
  expect(performance.now() - dueMs).toBeGreaterThan(maxDelayMs - 10)
})

test('all is read when each source is, here or elsewhere, or has nothing to read', () => {
  const standby = status({ phase: 'standby', current: false })
  const { current: _, ...older } = status()
  const unread = new Set([SOURCE.key])
  expect(unreadOf([], [])).toEqual(new Set())
  expect(unreadOf([status(), status({ phase: 'waiting-for-kind', current: false })], [])).toEqual(new Set())
  expect(unreadOf([standby], [])).toEqual(unread)
  expect(unreadOf([standby], [report('other', [status({ current: false })])])).toEqual(unread)
  expect(unreadOf([standby], [report('older', [older])])).toEqual(new Set())
  expect(unreadOf([status({ phase: 'resolving', current: false })], [])).toEqual(unread)
})

test('while kinds are not resolved, each source is unread that nobody reads', () => {
  const unresolved = status({ key: 'ConfigMap', title: 'ConfigMap', phase: 'resolving', current: false })
  expect(unreadSourceOf([unresolved], [])(SOURCE.key)).toBe(true)
  expect(unreadSourceOf([unresolved], [report('other', [status()])])(SOURCE.key)).toBe(false)
  expect(unreadSourceOf([unresolved, status()], [])(SOURCE.key)).toBe(false)
  // Its watch was removed.
  expect(unreadSourceOf([status({ key: 'another' })], [])(SOURCE.key)).toBe(false)
})

test('where no rule has limits nobody asks for timers, after a first look', async () => {
  await using it = await startTimersBed()
  it.state.hasLimits = false
  it.start()
  // What another configuration left is enqueued all the same.
  await waitFor(async () => (await it.enqueued()) === 1, { what: 'the digest' })
  const someTurns = async () => {
    const { polls } = it.state
    await waitFor(() => it.state.polls > polls + 3, { what: 'some turns' })
  }
  await waitFor(
    async () => {
      const before = await it.looks()
      await someTurns()
      return (await it.looks()) === before
    },
    { what: 'no look any more' },
  )
  const last = await it.looks()
  await it.reader.zadd(it.keys.limitTimers, 1, 'digest:lost')
  await someTurns()
  expect(await it.looks()).toBe(last)
})

test('what waits for objects of a source that no process wants is given up, and so are counts of removed rules', async () => {
  await using it = await startTimersBed()
  const store = it.newStore()
  const session = await store.open({ ...SOURCE, key: 'former' }, never)
  await session.beginSeed(never)
  await session.endList('1', never)
  await session.commit([change('ADDED', 'lasting-a', 2), change('ADDED', 'x', 3)], '3', never)
  const other = report('other', [status()], [])
  await publishReport(it.reader, it.keys, other)
  const former = startLimitStateGc({
    ...{
      redis: it.reader,
      commitConnection: store.commitConnection,
      keys: it.keys,
      store,
      clock: Date,
      log: silentLog,
    },
    ...{ watches: () => [status({ key: 'ours' })], rules: () => ['digest'], untracked: () => [] },
    timing: { pollMs: 20, unwantedMs: 100, rememberedMs: 1 },
  })
  await waitFor(async () => (await it.rule('lasting'))?.waiting !== 1, { what: 'it to be given up' })
  // Nothing waits in them, and nobody has them.
  await waitFor(async () => (await it.reader.zrange(it.keys.rules, '0', '-1')).join() === 'digest', {
    what: 'the counts of removed rules to go',
  })
  await former.close()
  expect(await it.reader.exists(it.keys.ruleLedger('lasting'), it.keys.ruleLedger('all'))).toBe(0)
  expect(await readLedger(it.reader, it.keys, { verify: true })).toMatchObject({
    balanced: true,
    verified: true,
    rules: { digest: { waiting: 1 } },
  })
})

test('a process that gives up what waits for objects of a source leaves the source to others', async () => {
  await using it = await startTimersBed()
  await it.session.commit([change('ADDED', 'lasting-a', 3)], '3', never)
  await publishReport(it.reader, it.keys, report('one', []))
  // It goes on, as one that reports again does.
  await it.reader.persist(it.keys.instance('one'))
  const store = it.newStore(undefined, undefined, 'one')
  const gc = startLimitStateGc({
    ...{
      redis: it.reader,
      commitConnection: store.commitConnection,
      keys: it.keys,
      store,
      clock: Date,
      log: silentLog,
    },
    ...{ watches: () => [], rules: () => ['digest', 'lasting'], untracked: () => [] },
    timing: { pollMs: 10, unwantedMs: 1 },
  })
  const other = it.newStore(undefined, undefined, 'other')
  await waitFor(
    async () => {
      const { instance, ownerAlive } = (await other.peek(SOURCE, never)) ?? {}
      return instance === 'one' && ownerAlive === false
    },
    { what: 'the source to have no owner' },
  )
  await gc.close()
  expect(await it.rule('lasting')).toMatchObject({ waiting: 0 })
})

test('what a removed rule knew of objects is forgotten: should it come back, who is in trouble then is in trouble anew', async () => {
  await using it = await startTimersBed()
  await it.session.commit([change('ADDED', 'lasting-a', 3), change('ADDED', 'slow-b', 4)], '4', never)
  const own = it.keys.ownLimits(SOURCE.key)
  const idle = encodeState({ text: '{}', expiresAfterMs: 60_000 }, Date.now())
  for (const field of ['u:lasting', 'u:not-lasting', 'u:slow']) await it.reader.hset(own, field, idle)
  await it.reader.zadd(it.keys.ownLimitTimers(SOURCE.key), Date.now() + 60_000, 'u:lasting')
  const by = JSON.stringify({ by: 'alice', atMs: 1, sinceMs: 1 })
  await it.reader.hset(it.keys.acknowledged, 'u:lasting', by, 'gone:lasting', by)
  const store = it.newStore()
  let rules = ['digest', 'slow', 'lasting']
  let looks = 0
  const former = startLimitStateGc({
    ...{
      redis: it.reader,
      commitConnection: store.commitConnection,
      keys: it.keys,
      store,
      clock: Date,
      log: silentLog,
    },
    watches: () => [status()],
    rules() {
      looks++
      return rules
    },
    untracked: () => [],
    timing: { pollMs: 10, unwantedMs: 50 },
  })
  await waitFor(() => looks > 10, { what: 'some looks' })
  expect(await it.reader.hexists(own, 'u:lasting')).toBe(1)
  // Of a state that cannot be read nobody knows whether it is of the incident.
  expect(await it.reader.hkeys(it.keys.acknowledged)).toEqual(['u:lasting'])
  rules = ['digest', 'slow']
  await waitFor(async () => (await it.reader.hexists(own, 'u:lasting')) === 0, { what: 'it to be forgotten' })
  await waitFor(async () => (await it.reader.exists(it.keys.acknowledged)) === 0, {
    what: 'its acknowledgement to be forgotten',
  })
  await former.close()
  // What waits is decided when its time comes.
  const left = ['u:not-lasting', 'u:slow', 'uid-of-lasting-a:lasting', 'uid-of-slow-b:slow']
  expect((await it.reader.hkeys(own)).toSorted()).toEqual(left)
  expect(await it.reader.zscore(it.keys.ownLimitTimers(SOURCE.key), 'u:lasting')).toBeNull()
  expect(await it.rule('lasting')).toMatchObject({ waiting: 1 })
})

test('what waits for objects of a source is kept while a process wants it, or nobody knows which are wanted', async () => {
  await using it = await startTimersBed()
  await it.session.commit([change('ADDED', 'lasting-a', 3)], '3', never)
  const store = it.newStore()
  let watches = [status({ key: 'kind', phase: 'resolving' })]
  let looks = 0
  const former = startLimitStateGc({
    ...{
      redis: it.reader,
      commitConnection: store.commitConnection,
      keys: it.keys,
      store,
      clock: Date,
      log: silentLog,
    },
    watches() {
      looks++
      return watches
    },
    rules: () => [],
    untracked: () => [],
    timing: { pollMs: 10, unwantedMs: 1, rememberedMs: 1 },
  })
  await waitFor(() => looks > 5, { what: 'some looks' })
  const entries = [{ kind: 'ConfigMap', namespaces: ['pay'], shards: 2 }]
  const undecided = [{ source: { ...SOURCE, title: 'configmaps in pay' }, message: '403 Forbidden' }]
  const plan = { sources: [], waiting: [], unsure: [], undecided, problems: [] }
  watches = unresolved(plan, entries, entries, undefined, new Map())
  await waitFor(() => looks > 10, { what: 'some looks' })
  expect(await it.rule('lasting')).toMatchObject({ waiting: 1 })
  const waiting = { ...plan, waiting: entries, undecided: [] }
  watches = unresolved(waiting, entries, entries, undefined, new Map([['ConfigMap', 'not served any more']]))
  const before = looks
  await waitFor(() => looks > before + 5, { what: 'some looks' })
  expect(await it.rule('lasting')).toMatchObject({ waiting: 1 })
  watches = []
  await publishReport(it.reader, it.keys, report('other', [status()], ['lasting']))
  const reported = looks
  await waitFor(() => looks > reported + 5, { what: 'some looks' })
  expect(await it.rule('lasting')).toMatchObject({ waiting: 1 })
  // Without the report it is wanted by nobody.
  await it.reader.del(it.keys.instance('other'))
  await waitFor(async () => (await it.rule('lasting'))?.waiting !== 1, { what: 'it to be given up' })
  await former.close()
})
