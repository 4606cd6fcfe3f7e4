import { expect, onTestFinished, test, vi } from 'vitest'
import { askHealth, watchSinkHealth } from '../../../src/app/sink-set/health.ts'
import { createSinkSet } from '../../../src/app/sink-set/set.ts'
import type { SinkConfig } from '../../../src/config/schema.ts'
import { silentLog } from '../../../src/observe/log.ts'
import type { Health, Outcome, Sink, SinkType } from '../../../src/sink/index.ts'
import { contextOf, messageOf } from '../../sinks/bed.ts'
import { waitFor } from '../../wait-for.ts'

const never = new AbortController().signal

/** A type whose sinks answer when they are told, and note what becomes of them. */
function scripted() {
  const events: string[] = []
  const answers: (() => void)[] = []
  const type: SinkType<{ token: string }> = {
    apiVersion: 1,
    type: 'scripted',
    config: undefined as never,
    open({ token }) {
      if (token === 'bad') throw new Error('cannot be opened')
      events.push(`open ${token}`)
      return {
        deliver: () =>
          new Promise<Outcome[]>((resolve) => {
            answers.push(() => resolve([{ kind: 'rejected', reason: 'rejected', detail: token }]))
          }),
        async close() {
          events.push(`close ${token}`)
        },
      }
    },
  }
  const configOf = (token: string) => ({ name: 'out', type: 'scripted', options: { token }, source: token })
  return { events, answers, configOf, type: type as SinkType }
}

/** A set with these, and a way to exchange them; gives the names of what was opened. */
async function setOf(type: SinkType, configs: readonly SinkConfig[], openLimitMs?: number) {
  const limit = openLimitMs === undefined ? {} : { openLimitMs }
  const set = createSinkSet({ contextOf: () => contextOf(), log: silentLog, ...limit })
  async function change(...next: SinkConfig[]): Promise<readonly string[]> {
    const prepared = await set.prepare(next, () => type)
    prepared.use()
    return prepared.opened
  }
  await change(...configs)
  return { set, change }
}

test('a sink that is opened anew takes the next batch, and the old one is closed after its last', async () => {
  const { events, answers, configOf, type } = scripted()
  const { set, change } = await setOf(type, [configOf('old')])
  const sink = set.sinks.get('out')!
  const first = sink.deliver([messageOf()], never)
  expect(await change(configOf('new'))).toEqual(['out'])
  const second = sink.deliver([messageOf()], never)
  expect(events).toEqual(['open old', 'open new'])
  for (const answer of answers) answer()
  expect([(await first)[0], (await second)[0]]).toMatchObject([{ detail: 'old' }, { detail: 'new' }])
  await waitFor(() => events.includes('close old'), { what: 'the old sink to be closed' })
  await set.close()
  expect(events).toEqual(['open old', 'open new', 'close old', 'close new'])
})

test('a sink whose options are as before is left alone', async () => {
  const { events, configOf, type } = scripted()
  const { set, change } = await setOf(type, [configOf('old')])
  expect(await change(configOf('old'))).toEqual([])
  expect(events).toEqual(['open old'])
  await set.close()
})

test('one that cannot be opened leaves all others as they were, and what was opened beside it is closed', async () => {
  const { events, answers, configOf, type } = scripted()
  const { set, change } = await setOf(type, [configOf('old')])
  const refused = change(configOf('new'), { ...configOf('bad'), name: 'other' })
  await expect(refused).rejects.toThrow('the sink "other" cannot be opened: cannot be opened')
  const outcome = set.sinks.get('out')!.deliver([messageOf()], never)
  answers[0]!()
  expect(await outcome).toMatchObject([{ detail: 'old' }])
  expect(events).toEqual(['open old', 'open new', 'close new'])
  expect([...set.sinks.keys()]).toEqual(['out'])
  await set.close()
})

test('nothing is exchanged before all of it is', async () => {
  const { events, configOf, type } = scripted()
  const { set } = await setOf(type, [configOf('old')])
  const prepared = await set.prepare([configOf('new'), { ...configOf('new'), name: 'more' }], () => type)
  expect([...set.sinks.keys()]).toEqual(['out'])
  await prepared[Symbol.asyncDispose]()
  expect(events).toEqual(['open old', 'open new', 'open new', 'close new', 'close new'])
  await set.close()
})

test.each<[string, () => unknown]>([
  ['returns nothing', () => {}],
  [
    'throws',
    () => {
      throw new Error('closed before')
    },
  ],
])('a sink whose close %s is exchanged, and closed at the end', async (_, close) => {
  const { configOf, type } = scripted()
  const open: SinkType['open'] = async (...given) => ({
    ...(await type.open(...given)),
    close: close as () => Promise<void>,
  })
  const { set, change } = await setOf({ ...type, open }, [configOf('old')])
  expect(await change(configOf('new'))).toEqual(['out'])
  await expect(set.close()).resolves.toBeUndefined()
})

test('a removed sink works until it is dropped, and is not dropped when it is back', async () => {
  const { events, configOf, type } = scripted()
  const named = (name: string) => ({ ...configOf(name), name })
  const { set, change } = await setOf(type, [named('a'), named('b')])
  await change(named('a'))
  expect([...set.sinks.keys()]).toEqual(['a', 'b'])
  await change(named('a'), named('b'))
  await set.drop('b')
  expect([...set.sinks.keys()]).toEqual(['a', 'b'])
  await change(named('a'))
  await set.drop('b')
  expect(events).toEqual(['open a', 'open b', 'close b'])
  expect(await change(named('a'), named('b'))).toEqual(['b'])
  await set.close()
})

/** Opens what is `slow` when it is told to. */
function slowly(scriptedType: SinkType) {
  const go = Promise.withResolvers<void>()
  const type: SinkType = {
    ...scriptedType,
    async open(options, context) {
      if ((options as { token: string }).token === 'slow') await go.promise
      return scriptedType.open(options, context)
    },
  }
  return { type, go: go.resolve }
}

test('a sink that takes for ever to open is a fault, and what it opens in the end is closed', async () => {
  const { events, configOf, type } = scripted()
  const slow = slowly(type)
  const { set, change } = await setOf(slow.type, [configOf('old')], 20)
  await expect(change(configOf('slow'))).rejects.toThrow('opening took more than 20 ms')
  slow.go()
  await waitFor(() => events.includes('close slow'), { what: 'what was opened too late to be closed' })
  await set.close()
})

test('a sink that is being opened anew when all are closed is closed, too', async () => {
  const { events, configOf, type } = scripted()
  const slow = slowly(type)
  const { set, change } = await setOf(slow.type, [configOf('old')])
  const changed = change(configOf('slow'))
  await set.close()
  slow.go()
  await expect(changed).rejects.toThrow('the sinks are closed')
  expect(events).toEqual(['open old', 'close old', 'open slow', 'close slow'])
})

function sinkWithHealth(health: () => Promise<Health>): Sink {
  return { deliver: async () => [], health, close: async () => {} }
}

test('what a sink says of itself is in its status until a delivery says more', async () => {
  const bad: Health = { ok: false, reason: 'auth', detail: 'the token is not valid' }
  const status = { sink: 'out', healthy: true, quarantined: 0, failingTargets: 0 }
  const sinks = new Map([['out', sinkWithHealth(async () => bad)]])
  const health = watchSinkHealth(sinks, { log: silentLog, clock: { now: () => 1_000 }, statuses: () => [] })
  await waitFor(() => health.merge([status])[0]?.healthy === false, { what: 'the answer' })
  expect(health.merge([status])).toMatchObject([{ lastError: 'auth: the token is not valid' }])
  expect(health.merge([{ ...status, lastDeliveredMs: 2_000 }])).toMatchObject([{ healthy: true }])
  health.close()
})

test('a check of a sink that a reload has replaced is not the health of the new one', async () => {
  const old = Promise.withResolvers<Health>()
  const answers = [old.promise, Promise.resolve<Health>({ ok: true })]
  const sinks = new Map([['out', sinkWithHealth(() => answers.shift() as Promise<Health>)]])
  const health = watchSinkHealth(sinks, { log: silentLog, clock: { now: () => 1_000 }, statuses: () => [] })
  health.ask(['out'])
  await new Promise(setImmediate)
  old.resolve({ ok: false, reason: 'timeout', detail: 'no answer' })
  await new Promise(setImmediate)
  const status = { sink: 'out', healthy: true, quarantined: 0, failingTargets: 0 }
  expect(health.merge([status])).toMatchObject([{ healthy: true }])
  health.close()
})

test('a sink is checked again although its last delivery is in the future, because the clock was set back', () => {
  vi.useFakeTimers()
  onTestFinished(() => void vi.useRealTimers())
  let asked = 0
  const sinks = new Map([['out', sinkWithHealth(async () => ({ ok: ++asked > 0 }) as Health)]])
  const status = { sink: 'out', healthy: true, quarantined: 0, failingTargets: 0, lastDeliveredMs: 3_600_000 }
  const parts = { log: silentLog, clock: { now: () => 1_000 }, statuses: () => [status] }
  const health = watchSinkHealth(sinks, parts)
  vi.advanceTimersByTime(60_000)
  expect(asked).toBe(2)
  health.close()
})

test('what a sink warns of is in its status although it delivers; one that cannot be asked warns of nothing', () => {
  const status = { sink: 'out', healthy: true, quarantined: 0, failingTargets: 0 }
  const told = (warnings: () => readonly string[]) => {
    const sink = { ...sinkWithHealth(async () => ({ ok: true })), warnings }
    const parts = { log: silentLog, clock: { now: () => 1_000 }, statuses: () => [] }
    const health = watchSinkHealth(new Map([['out', sink]]), parts)
    health.close()
    return health.merge([{ ...status, lastDeliveredMs: 900 }])
  }
  expect(told(() => ['no buttons: https://user:pw@host', 'x'.repeat(10_000)])).toMatchObject([
    { healthy: true, warnings: [expect.not.stringContaining('pw'), 'x'.repeat(300)] },
  ])
  expect(told(() => [])).toEqual([{ ...status, lastDeliveredMs: 900 }])
  expect(
    told(() => {
      throw new Error('odd')
    }),
  ).toEqual([{ ...status, lastDeliveredMs: 900 }])
})

test('a health check that throws or hangs is an answer', async () => {
  const thrown = sinkWithHealth(() => Promise.reject(new Error('odd')))
  expect(await askHealth(thrown, never)).toEqual({ ok: false, reason: 'unknown', detail: 'odd' })
  const stop = new AbortController()
  const hanging = askHealth(
    sinkWithHealth(() => new Promise(() => {})),
    stop.signal,
  )
  stop.abort()
  expect(await hanging).toMatchObject({ ok: false, reason: 'timeout' })
})

test('what a health check tells carries no password of an address', async () => {
  const detail = 'cannot reach http://someone:hunter2hunter2@peer.example.com/api/'
  for (const health of [
    sinkWithHealth(async () => ({ ok: false, reason: 'network', detail })),
    sinkWithHealth(() => Promise.reject(new Error(detail))),
  ])
    expect(JSON.stringify(await askHealth(health, never))).not.toContain('hunter2')
})
