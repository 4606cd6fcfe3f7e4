import { expect, test } from 'vitest'
import { silentLog } from '../../src/log.ts'
import type { Health, Outcome, Sink, SinkType } from '../../src/sink/index.ts'
import { askHealth, watchSinkHealth } from '../../src/sink-set/health.ts'
import { openSinkSet } from '../../src/sink-set/set.ts'
import { contextOf, messageOf } from '../sinks/bed.ts'
import { waitFor } from '../wait-for.ts'

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

const partsOf = (type: SinkType) => ({ typeOf: () => type, contextOf: () => contextOf(), log: silentLog })

test('a sink that is opened anew takes the next batch, and the old one is closed after its last', async () => {
  const { events, answers, configOf, type } = scripted()
  const set = await openSinkSet([configOf('old')], partsOf(type))
  const sink = set.sinks.get('out')!
  const first = sink.deliver([messageOf()], never)
  expect(await set.reopen([configOf('new')])).toEqual(['out'])
  const second = sink.deliver([messageOf()], never)
  expect(events).toEqual(['open old', 'open new'])
  for (const answer of answers) answer()
  expect([(await first)[0], (await second)[0]]).toMatchObject([{ detail: 'old' }, { detail: 'new' }])
  await waitFor(() => events.includes('close old'), { what: 'the old sink to be closed' })
  await set.close()
  expect(events).toEqual(['open old', 'open new', 'close old', 'close new'])
})

test('a sink whose options are as before is left alone; one that cannot be opened leaves the old one at work', async () => {
  const { events, answers, configOf, type } = scripted()
  const set = await openSinkSet([configOf('old')], partsOf(type))
  expect(await set.reopen([configOf('old')])).toEqual([])
  expect(await set.reopen([configOf('bad')])).toEqual([])
  const outcome = set.sinks.get('out')!.deliver([messageOf()], never)
  answers[0]!()
  expect(await outcome).toMatchObject([{ detail: 'old' }])
  expect(events).toEqual(['open old'])
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

test('a sink that takes for ever to open keeps no other from being opened anew', async () => {
  const { events, configOf, type } = scripted()
  const slow = slowly(type)
  const named = (name: string, token: string) => ({ ...configOf(token), name })
  const parts = { ...partsOf(slow.type), reopenLimitMs: 1 }
  const set = await openSinkSet([named('a', 'a1'), named('b', 'b1')], parts)
  expect(await set.reopen([named('a', 'slow'), named('b', 'b2')])).toEqual(['b'])
  slow.go()
  await waitFor(() => events.includes('close slow'), { what: 'what was opened too late to be closed' })
  await set.close()
})

test('a sink that is being opened anew when all are closed is closed, too', async () => {
  const { events, configOf, type } = scripted()
  const slow = slowly(type)
  const set = await openSinkSet([configOf('old')], partsOf(slow.type))
  const reopened = set.reopen([configOf('slow')])
  await set.close()
  slow.go()
  expect(await reopened).toEqual([])
  expect(events).toEqual(['open old', 'close old', 'open slow', 'close slow'])
})

function sinkWithHealth(health: () => Promise<Health>): Sink {
  return { deliver: async () => [], health, close: async () => {} }
}

test('what a sink says of itself is in its status until a delivery says more', async () => {
  const bad: Health = { ok: false, reason: 'auth', detail: 'the token is not valid' }
  const status = { sink: 'out', healthy: true, aside: 0, failingTargets: 0 }
  const sinks = new Map([['out', sinkWithHealth(async () => bad)]])
  const health = watchSinkHealth(sinks, { log: silentLog, clock: { now: () => 1_000 }, statuses: () => [] })
  await waitFor(() => health.merge([status])[0]?.healthy === false, { what: 'the answer' })
  expect(health.merge([status])).toMatchObject([{ lastError: 'auth: the token is not valid' }])
  expect(health.merge([{ ...status, lastDeliveredMs: 2_000 }])).toMatchObject([{ healthy: true }])
  health.close()
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
