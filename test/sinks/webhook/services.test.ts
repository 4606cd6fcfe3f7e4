import { describe, expect, test } from 'vitest'
import { presetType } from '../../../sinks/webhook/index.ts'
import type { Message } from '../../../src/sink/index.ts'
import { memoryStore } from '../../../src/sink/testkit/context.ts'
import { startReceiver } from '../../servers/receiver.ts'
import { messageOf, openSink } from '../bed.ts'
import { threeMessages, told } from './messages.ts'
import { loadedPresets } from './preset-body.ts'
import { createDiscord, createNtfy } from './services/chats.ts'
import { SERVICES } from './services/index.ts'
import { createElasticsearch, createLoki, createSplunk } from './services/log-stores.ts'
import { createOpsgenie } from './services/pagers.ts'
import { json, named, openAt, type Service } from './services/service.ts'

const never = new AbortController().signal
const DELIVERED = { kind: 'delivered' }

/** Objects that were made to break something: mark-up, size, control characters, half a character. */
function hostile({ name }: Service): Message[] {
  const text = '<b>"x"</b> <@all> [a](https://evil.example.com) *b* _c_ `d` \\ &lt; \u0000\u202e \ud800 😀\n'
  const { markup } = loadedPresets[name]
  return [1, 100, 3_000].map((length) => {
    const long = text.repeat(length)
    const fields = Array.from({ length: 8 }, () => ({ title: text, value: long }))
    const changes = [{ path: text, old: long, new: { x: long } }]
    const about = { kind: text, namespace: text, name: text }
    const summary = { title: long, text: long, quote: long, command: text, fields, changes, about }
    const now = { time: new Date().toISOString() }
    return told({ severity: 'error', ...summary }, markup, { name: `n${length}`, event: now })
  })
}

function ordinary({ name }: Service): Message[] {
  return Object.values(threeMessages(loadedPresets[name].markup)).map((it) => ({
    ...it,
    event: { ...it.event, time: new Date().toISOString() },
  }))
}

describe.each(SERVICES.map((create) => [create().name, create] as const))('%s', (_, create) => {
  test('takes ordinary and hostile messages', async () => {
    await using hook = await startReceiver()
    const service = create()
    await using sink = await openAt(service, hook)
    const messages = [...ordinary(service), ...hostile(service)]
    const outcomes = await sink.deliver(messages, never)
    expect(outcomes).toMatchObject(messages.map(() => DELIVERED))
  })

  test('wrong credentials are a failure of the whole sink, and are not shown', async () => {
    await using hook = await startReceiver()
    const service = create()
    await using sink = await openAt(service, hook, service.wrong.options)
    const outcomes = await sink.deliver(ordinary(service), never)
    expect(outcomes).toMatchObject(Array(3).fill({ kind: 'retry', scope: 'sink' }))
    expect(outcomes[0]).toHaveProperty('reason', expect.stringMatching(/^(auth|config)$/))
    expect(JSON.stringify(outcomes)).not.toMatch(/a-wrong-/)
  })

  test('too many messages are a pause of the whole sink', async () => {
    await using hook = await startReceiver()
    const service = create()
    await using sink = await openAt(service, hook)
    hook.answer(() => service.throttled)
    const [first] = await sink.deliver(ordinary(service), never)
    expect(first).toMatchObject({ kind: 'retry', scope: 'sink' })
    expect(['rate-limited', 'server-error']).toContain((first as { reason: string }).reason)
  })
})

test.each(
  SERVICES.map((create) => create())
    .filter(({ name }) => loadedPresets[name].readsAnswers)
    .map((it) => [it.name, it] as const),
)('%s: a success without its result, such as that of a login page, is none', async (_, service) => {
  await using hook = await startReceiver()
  await using sink = await openAt(service, hook)
  hook.answer(() => ({ status: 200, body: '<html>Sign in</html>' }))
  const [first] = await sink.deliver(ordinary(service), never)
  expect(first).toMatchObject({ kind: 'retry', scope: 'sink', ambiguous: true })
})

test('elasticsearch: each event has its own outcome: stored, refused, or again', async () => {
  await using hook = await startReceiver()
  const store = createElasticsearch()
  const statuses: Record<string, number> = { o1: 400, o2: 429, o3: 503, o4: 404 }
  store.refuseItems(({ document }) => statuses[document.name])
  await using sink = await openAt(store.service, hook)
  const outcomes = await sink.deliver(named(6), never)
  expect(outcomes).toMatchObject([
    DELIVERED,
    { kind: 'rejected', detail: expect.stringContaining('HTTP 400: of_test: of ') },
    { kind: 'retry', reason: 'rate-limited', scope: 'sink' },
    { kind: 'retry', reason: 'server-error', scope: 'event' },
    { kind: 'retry', reason: 'config', scope: 'event' },
    DELIVERED,
  ])
  expect(hook.requests).toHaveLength(1)
  expect(store.documents.map(({ document }) => document.name)).toEqual(['o0', 'o5'])
})

test('elasticsearch: an index that is blocked for lack of disk space is a failure of its own events', async () => {
  await using hook = await startReceiver()
  const { service } = createElasticsearch()
  await using sink = await openAt(service, hook)
  const blocked = {
    status: 429,
    error: {
      type: 'cluster_block_exception',
      reason: 'index [a] blocked by: [TOO_MANY_REQUESTS/12/disk usage exceeded flood-stage watermark];',
    },
  }
  hook.answer(() => json(200, { errors: true, items: [{ create: blocked }, { create: { status: 201 } }] }))
  expect(await sink.deliver(named(2), never)).toMatchObject([
    { kind: 'retry', reason: 'server-error', scope: 'event', detail: expect.stringContaining('flood-stage') },
    DELIVERED,
  ])
})

test('elasticsearch: a repeat is a conflict, so the event is there: stored once, delivered', async () => {
  await using hook = await startReceiver()
  const store = createElasticsearch()
  await using sink = await openAt(store.service, hook)
  // The answer to the first request is lost after its documents were stored.
  let lost = false
  hook.answer((request) => {
    const answer = store.service.answer(request)
    if (lost) return answer
    lost = true
    return { reset: true }
  })
  expect(await sink.deliver(named(3), never)).toMatchObject(Array(3).fill({ kind: 'retry', ambiguous: true }))
  expect(await sink.deliver(named(5, 5, 1), never)).toEqual(Array(5).fill(DELIVERED))
  expect(store.documents.map(({ document }) => document.name)).toEqual(['o0', 'o1', 'o2', 'o3', 'o4'])
})

test('elasticsearch: an event that is refused again does not let a later one of its object pass', async () => {
  await using hook = await startReceiver()
  const store = createElasticsearch()
  store.refuseItems(({ id }) => (id.endsWith('/1/MODIFIED') ? 503 : undefined))
  await using sink = await openAt(store.service, hook)
  // Objects o0, o1, o2, o0, o1, o2.
  const outcomes = await sink.deliver(named(6, 3), never)
  expect(outcomes.map(({ kind }) => kind)).toEqual([
    'delivered',
    'retry',
    'delivered',
    'delivered',
    'retry',
    'delivered',
  ])
  expect(store.documents.map(({ document }) => document.name)).toEqual(['o0', 'o2', 'o0', 'o2'])
})

test('elasticsearch: the index is that of the day, or of a template; its name may make one event a dead letter', async () => {
  await using hook = await startReceiver()
  const store = createElasticsearch()
  await using daily = await openAt(store.service, hook)
  await daily.deliver(named(1), never)
  const index = 'logs-{{ namespace }}-{{ object.suffix }}'
  await using own = await openAt(store.service, hook, { ...store.service.options, index })
  const suffixes = ['a', 'B C', 'd']
  const messages = suffixes.map((suffix, i) => messageOf({ name: `s${i}`, object: { suffix } }))
  expect(await own.deliver(messages, never)).toMatchObject([DELIVERED, { kind: 'rejected' }, DELIVERED])
  expect(store.documents.map((it) => it.index)).toEqual([
    expect.stringMatching(/^kubeherald-\d{4}\.\d\d\.\d\d$/),
    'logs-default-a',
    'logs-default-d',
  ])
})

test('elasticsearch: events that an object named like a date keeps out of the index are retried', async () => {
  await using hook = await startReceiver()
  const store = createElasticsearch()
  await using sink = await openAt(store.service, hook)
  const first = messageOf({ name: '2025-06-15', event: { id: '12345678-90ab/7/ADDED' } })
  expect(await sink.deliver([first], never)).toEqual([DELIVERED])
  expect(store.documents[0]!.document).toMatchObject({ name: '2025-06-15', id: first.id })
  const refused = await sink.deliver([messageOf({ name: 'web' })], never)
  expect(refused).toMatchObject([{ kind: 'retry', reason: 'config', scope: 'event' }])
  // An index with a template takes them.
  store.service.forget?.()
  store.detectDates(false)
  expect(await sink.deliver([first, messageOf({ name: 'web' })], never)).toEqual([DELIVERED, DELIVERED])
})

test('elasticsearch: an answer that is none of a bulk request delivers nothing', async () => {
  await using hook = await startReceiver()
  const { service } = createElasticsearch()
  await using sink = await openAt(service, hook)
  hook.answer(() => ({ status: 200, body: '{"items":[]}' }))
  expect(await sink.deliver(named(2), never)).toMatchObject(
    Array(2).fill({ kind: 'retry', scope: 'sink', ambiguous: true }),
  )
})

test('elasticsearch: with reasons longer than what is read, fewer events are asked for at a time', async () => {
  await using hook = await startReceiver()
  const { service } = createElasticsearch()
  await using sink = await openAt(service, hook)
  const answer = { create: { status: 400, error: { type: 'parsing', reason: 'x'.repeat(300_000) } } }
  hook.answer(({ body }) => json(200, { items: Array(body.trimEnd().split('\n').length / 2).fill(answer) }))
  const outcomes = await sink.deliver(named(16, 16), never)
  expect(outcomes).toMatchObject(Array(16).fill({ kind: 'rejected' }))
  expect(hook.requests).toHaveLength(3)
})

test('elasticsearch: body replaces the document', async () => {
  await using hook = await startReceiver()
  const store = createElasticsearch()
  const body = { who: '{{ name }}', labels: '{{ labels | json }}' }
  await using sink = await openAt(store.service, hook, { ...store.service.options, body })
  await sink.deliver(named(1), never)
  expect(store.documents[0]!.document).toEqual({ '@timestamp': expect.any(String), who: 'o0', labels: '{}' })
})

test('loki: what waited for hours is stored behind newer lines of its stream, with its own time in the line', async () => {
  await using hook = await startReceiver()
  const loki = createLoki()
  await using sink = await openAt(loki.service, hook)
  const at = (name: string, agoMs: number) =>
    messageOf({ name, event: { time: new Date(Date.now() - agoMs).toISOString() } })
  const old = at('old', 5 * 3_600_000)
  expect(await sink.deliver([at('new', 0), old], never)).toEqual([DELIVERED, DELIVERED])
  expect(JSON.parse(loki.lines[1]!.line)).toMatchObject({ name: 'old', time: old.event.time })
})

test('loki: a clock that is ahead of the clock of Loki makes no dead letters', async () => {
  await using hook = await startReceiver()
  const loki = createLoki({ now: () => Date.now() - 900_000 })
  await using sink = await openAt(loki.service, hook)
  const event = { time: new Date().toISOString() }
  const messages = ['a', 'b', 'c'].map((name) => messageOf({ name, event }))
  expect(await sink.deliver(messages, never)).toMatchObject(
    Array(3).fill({ kind: 'retry', reason: 'config', scope: 'sink' }),
  )
  expect(hook.requests).toHaveLength(1)
})

test('loki: streams have labels with few values, also where Events regard objects of invented kinds', async () => {
  await using hook = await startReceiver()
  const loki = createLoki()
  await using sink = await openAt(loki.service, hook, { ...loki.service.options, labels: { team: 'shop' } })
  const messages = Array.from({ length: 20 }, (_, i) =>
    told(
      { about: { kind: `Kind${i}`, namespace: `n${i}`, name: 'x' } },
      {},
      { name: `e${i}`, event: { kind: 'Event' } },
    ),
  )
  await sink.deliver(messages, never)
  expect(new Set(loki.lines.map(({ labels }) => JSON.stringify(labels)))).toHaveLength(1)
  expect(loki.lines[0]!.labels).toEqual({
    ...{ service_name: 'kubeherald', cluster: 'test', namespace: 'default', kind: 'Event' },
    ...{ severity: 'info', team: 'shop' },
  })
})

test('splunk: an index that the token must not use is for the operator, and rejects nothing', async () => {
  await using hook = await startReceiver()
  const service = createSplunk()
  await using sink = await openAt(service, hook, { ...service.options, index: 'other' })
  expect(await sink.deliver(named(3), never)).toMatchObject(
    Array(3).fill({ kind: 'retry', reason: 'config', scope: 'sink' }),
  )
  expect(hook.requests).toHaveLength(1)
})

test('opsgenie: an object and rule is one alert: opened, noted and closed', async () => {
  await using hook = await startReceiver()
  const opsgenie = createOpsgenie()
  const { crash, resolved } = threeMessages({})
  await using pager = await openAt(opsgenie.service, hook)
  await using notes = await openAt(opsgenie.service, hook, { ...opsgenie.service.options, action: 'note' })
  await pager.deliver([crash!], never)
  const [alert] = opsgenie.alerts.values()
  expect(alert).toEqual({ status: 'open', notes: [] })
  await notes.deliver([crash!], never)
  expect(alert!.notes).toEqual([expect.stringContaining('crashes again')])
  await pager.deliver([resolved!], never)
  expect(alert!.status).toBe('closed')
  expect(opsgenie.alerts.size).toBe(1)
})

test('a service that silences bots gets no more in any minute than it takes, from all processes together', async () => {
  await using hook = await startReceiver()
  hook.answer(() => json(200, { errcode: 0 }))
  let nowMs = 10_000
  const context = { store: memoryStore(), clock: { now: () => nowMs } }
  const type = await presetType('wecom')
  const open = () => openSink(type, { url: hook.url, ratePerMinute: 20 }, context)
  await using one = await open()
  await using other = await open()
  const sentMs: number[] = []
  let waiting = named(60)
  while (waiting.length > 0) {
    const half = waiting.length >> 1
    const lanes = [waiting.slice(0, half), waiting.slice(half)]
    const before = hook.requests.length
    const outcomes = (await Promise.all(lanes.map((lane, i) => [one, other][i]!.deliver(lane, never)))).flat()
    sentMs.push(...Array(hook.requests.length - before).fill(nowMs))
    const later = outcomes.flatMap((it) => (it.kind === 'later' ? [it.afterMs] : []))
    waiting = waiting.filter((_, i) => outcomes[i]!.kind === 'later')
    nowMs += Math.min(...later, 15_000)
  }
  expect(sentMs).toHaveLength(60)
  for (const ms of sentMs)
    expect(sentMs.filter((it) => it >= ms && it < ms + 60_000).length).toBeLessThanOrEqual(20)
})

test('a clock that was set back stops no service that silences bots', async () => {
  await using hook = await startReceiver()
  hook.answer(() => json(200, { errcode: 0 }))
  let nowMs = 7_200_000
  const context = { store: memoryStore(), clock: { now: () => nowMs } }
  await using sink = await openSink(await presetType('wecom'), { url: hook.url, ratePerMinute: 20 }, context)
  const first = await Promise.all(named(5).map((it) => sink.deliver([it], never)))
  expect(first.flat().at(-1)).toMatchObject({ kind: 'later' })
  nowMs -= 3_600_000
  expect(await sink.deliver(named(1), never)).toEqual([{ kind: 'delivered' }])
})

test('discord: a link to a host without a dot, which no title may have, is in the text', async () => {
  await using hook = await startReceiver()
  await using sink = await openAt(createDiscord(), hook)
  const crash = threeMessages(loadedPresets.discord.markup)['crash']!
  const linking = (url: string) => ({ ...crash, content: { ...crash.content, links: [{ title: 'x', url }] } })
  const urls = ['http://grafana:3000/d/pod', 'http://10.0.0.7:3000/d/pod', 'http://[fd00::7]:3000/d/pod']
  expect(await sink.deliver(urls.map(linking), never)).toEqual(urls.map(() => DELIVERED))
  const embeds = hook.requests.map(({ body }) => JSON.parse(body).embeds[0])
  for (const [i, { description }] of embeds.entries()) expect(description).toContain(`(${urls[i]})`)
  expect(embeds.map(({ url }) => url)).toEqual([undefined, urls[1], undefined])
})

test('ntfy: long links leave room for the message', async () => {
  await using hook = await startReceiver()
  await using sink = await openAt(createNtfy(), hook)
  const crash = threeMessages({})['crash']!
  const links = ['a', 'b', 'c', 'd'].map((title) => ({ title, url: `https://e.com/?${title.repeat(1_900)}` }))
  const logs = `Log of app:\n${'a line\n'.repeat(300)}panic`
  const outcomes = await sink.deliver([{ ...crash, content: { ...crash.content, links, logs } }], never)
  expect(outcomes).toMatchObject([DELIVERED])
  const { click, message } = JSON.parse(hook.requests[0]!.body)
  expect(click).toBe(links[0]!.url)
  expect(message).toContain('panic')
})
