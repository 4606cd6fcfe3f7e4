import { once } from 'node:events'
import { createServer } from 'node:net'
import { type CloudEvent, HTTP } from 'cloudevents'
import { Webhook } from 'standardwebhooks'
import { expect, test, vi } from 'vitest'
import webhook from '../../../sinks/webhook/index.ts'
import { createHttpClient } from '../../../src/sink/http-client.ts'
import type { Message } from '../../../src/sink/index.ts'
import { UNKNOWN_NAME } from '../../servers/ports.ts'
import { startReceiver } from '../../servers/receiver.ts'
import { waitFor } from '../../wait-for.ts'
import { messageOf, openSink } from '../bed.ts'

const SECRET = `whsec_${Buffer.from('a-secret-of-thirty-two-bytes-or-so').toString('base64')}`
const OLD_SECRET = `whsec_${Buffer.from('another-secret-of-thirty-two-bytes').toString('base64')}`
const never = new AbortController().signal

function message(name = 'web', version = '7', object: object = {}): Message {
  return messageOf({ name, version, object })
}

const open = (options: object) => openSink(webhook, options)

test('a request is a CloudEvent that the cloudevents package reads', async () => {
  await using hook = await startReceiver()
  await using sink = await open({ url: hook.url, headers: { 'x-team': 'shop' } })
  expect(await sink.deliver([message()], never)).toEqual([{ kind: 'delivered' }])
  const [request] = hook.requests
  const event = HTTP.toEvent({
    headers: request!.headers as Record<string, string>,
    body: request!.body,
  }) as CloudEvent
  expect(event).toMatchObject({
    id: 'cluster-uid/uid-web/7/MODIFIED',
    subject: '/api/v1/namespaces/default/configmaps/web',
  })
  expect(event.validate()).toBe(true)
  expect(request?.headers).toMatchObject({ 'x-team': 'shop', 'user-agent': 'kubeherald/test' })
})

test('signatures are those of Standard Webhooks, with the new and the old secret', async () => {
  await using hook = await startReceiver()
  await using sink = await open({ url: hook.url, secret: [SECRET, OLD_SECRET] })
  await sink.deliver([message()], never)
  const { headers, body } = hook.requests[0]!
  for (const secret of [SECRET, OLD_SECRET]) {
    expect(new Webhook(secret).verify(body, headers as Record<string, string>)).toMatchObject({
      specversion: '1.0',
    })
  }
  const other = `whsec_${Buffer.from('a-secret-that-nobody-uses-anywhere').toString('base64')}`
  expect(() => new Webhook(other).verify(body, headers as Record<string, string>)).toThrow()
  expect(() => new Webhook(SECRET).verify(`${body} `, headers as Record<string, string>)).toThrow()
})

test('nobody listening, and a name that does not exist, are tried again', async () => {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as { port: number }
  server.close()
  await using refused = await open({ url: `http://127.0.0.1:${port}/` })
  expect(await refused.deliver([message()], never)).toMatchObject([
    { kind: 'retry', reason: 'network', scope: 'sink' },
  ])
  await using unknown = await open({ url: `http://${UNKNOWN_NAME}/` })
  expect(await unknown.deliver([message()], never)).toMatchObject([
    { kind: 'retry', reason: 'network', scope: 'sink' },
  ])
})

test.each([
  'http://169.254.169.254/latest/meta-data',
  'http://[fe80::1]/',
  'http://[::ffff:169.254.169.254]/',
  'http://metadata.google.internal/',
])('%s is not asked: link-local and metadata addresses are denied', async (url) => {
  const http = createHttpClient({ connections: 1 })
  const outcome = await http.post(new URL(url), {}, Buffer.from('{}'), never)
  await http.close()
  expect(outcome).toMatchObject({ kind: 'retry', reason: 'config', scope: 'sink' })
})

test('deliveries of one object keep their order, different objects go side by side', async () => {
  await using hook = await startReceiver()
  hook.answer(() => ({ status: 200, delayMs: Math.random() * 5 }))
  await using sink = await open({ url: hook.url, concurrency: 8 })
  const batch = Array.from({ length: 60 }, (_, i) => message(`object-${i % 6}`, String(i)))
  expect(await sink.deliver(batch, never)).toEqual(batch.map(() => ({ kind: 'delivered' })))
  for (let i = 0; i < 6; i++) {
    const versions = hook.requests
      .map(({ body }) => JSON.parse(body))
      .filter(({ name }) => name === `object-${i}`)
      .map(({ resourceversion }) => Number(resourceversion))
    expect(versions).toEqual(versions.toSorted((a, b) => a - b))
  }
})

test('a receiver that answers quickly gets more requests at the same time than a slow one', async () => {
  await using hook = await startReceiver()
  let [running, highest] = [0, 0]
  const answerAfter = (delayMs: number) =>
    hook.answer(() => {
      highest = Math.max(highest, ++running)
      setTimeout(() => running--, delayMs)
      return { status: 200, delayMs: delayMs + 5 }
    })
  const batch = Array.from({ length: 400 }, (_, i) => message(`object-${i}`, '1'))
  answerAfter(150)
  await using slow = await open({ url: hook.url })
  await slow.deliver(batch, never)
  expect(highest).toBeGreaterThan(32)
  expect(highest).toBeLessThanOrEqual(64)
  answerAfter(0)
  await using quick = await open({ url: hook.url })
  // Where the machine is busy, the first answers may be late.
  await waitFor(async () => (await quick.deliver(batch, never)) && highest > 64, { what: 'more requests' })
  expect(highest).toBeLessThanOrEqual(128)
})

test('after a failure the later deliveries of that object are not sent, others are', async () => {
  await using hook = await startReceiver()
  hook.answer(({ body }) => ({ status: JSON.parse(body).name === 'bad' ? 500 : 200 }))
  await using sink = await open({ url: hook.url })
  const outcomes = await sink.deliver([message('bad', '1'), message('good', '1'), message('bad', '2')], never)
  expect(outcomes.map(({ kind }) => kind)).toEqual(['retry', 'delivered', 'retry'])
  expect(hook.requests).toHaveLength(2)
})

test('the id stays the same over all attempts, the timestamp is the attempt’s', async () => {
  await using hook = await startReceiver()
  await using sink = await open({ url: hook.url, secret: SECRET })
  await sink.deliver([message()], never)
  await sink.deliver([message()], never)
  const ids = hook.requests.map(({ headers }) => headers['webhook-id'])
  expect(new Set(ids)).toEqual(new Set(['cluster-uid/uid-web/7/MODIFIED']))
})

test('an address with a password or a query is not told in a failure', async () => {
  await using sink = await open({ url: `http://user:hunter2@${UNKNOWN_NAME}/?token=hunter3` })
  expect(JSON.stringify(await sink.deliver([message()], never))).not.toMatch(/hunter/)
})

test('user and password of the URL are sent as Basic authorization, and nowhere else', async () => {
  await using hook = await startReceiver()
  const url = new URL(hook.url)
  url.username = 'us%C3%A9r'
  url.password = 'p%40ss:w%2Frd'
  await using sink = await open({ url: url.href })
  await sink.deliver([message()], never)
  const [request] = hook.requests
  const pair = Buffer.from('usér:p@ss:w/rd').toString('base64')
  expect(request).toMatchObject({
    path: '/hook',
    headers: { authorization: `Basic ${pair}`, host: url.host },
  })
})

test('a delivery that is stopped ends at once, and its request with it', async () => {
  await using hook = await startReceiver()
  const stop = new AbortController()
  hook.answer(() => {
    stop.abort()
    return { hang: true }
  })
  await using sink = await open({ url: hook.url, concurrency: 1 })
  const outcomes = await sink.deliver([message('a'), message('b')], stop.signal)
  expect(outcomes).toMatchObject([
    { kind: 'retry', scope: 'sink' },
    { kind: 'retry', scope: 'sink' },
  ])
  expect(await sink.deliver([message()], stop.signal)).toMatchObject([{ kind: 'retry', scope: 'sink' }])
  expect(hook.requests).toHaveLength(1)
})

test.each<[string, object]>([
  ['one event a request', {}],
  ['many events a request', { format: 'batch' }],
])(
  '%s: what waits too long for requests of others is left for the next call, and has not failed',
  async (_, more) => {
    await using hook = await startReceiver()
    await using sink = await open({ url: hook.url, concurrency: 1, ...more })
    hook.answer(() => ({ hang: true }))
    const slow = sink.deliver([message('slow')], never)
    await waitFor(() => hook.requests.length === 1, { what: 'the slow request' })
    vi.useFakeTimers({ toFake: ['performance'] })
    try {
      const waiting = sink.deliver([message('a'), message('b')], never)
      // The core stops a call after 60 s, and a request may take 20 s.
      vi.advanceTimersByTime(40_000)
      hook.answer(() => ({ status: 200 }))
      await slow
      expect(await waiting).toEqual([
        { kind: 'later', afterMs: 0 },
        { kind: 'later', afterMs: 0 },
      ])
      expect(hook.requests).toHaveLength(1)
      expect(await sink.deliver([message('a')], never)).toEqual([{ kind: 'delivered' }])
    } finally {
      vi.useRealTimers()
    }
  },
)

test.each([
  ['discord', { 'retry-after': '60' }, 60_000],
  ['grafana-oncall', {}, undefined],
])(
  '%s: messages that wait for a request are not sent into a limit of the rate',
  async (preset, headers, afterMs) => {
    await using hook = await startReceiver()
    await using sink = await open({ url: hook.url, preset, concurrency: 1 })
    hook.answer(() => ({ status: 429, headers }))
    vi.useFakeTimers({ toFake: ['performance'] })
    try {
      const calls = ['a', 'b', 'c'].map((name) => sink.deliver([message(name)], never))
      const later = { kind: 'later', afterMs: expect.any(Number) }
      const limited = { kind: 'retry', reason: 'rate-limited', ...(afterMs && { afterMs }) }
      expect((await Promise.all(calls)).flat()).toMatchObject([limited, later, later])
      expect(hook.requests).toHaveLength(1)
      vi.advanceTimersByTime(60_000)
      hook.answer(() => ({ status: 200 }))
      expect(await sink.deliver([message('b')], never)).toEqual([{ kind: 'delivered' }])
    } finally {
      vi.useRealTimers()
    }
  },
)

test.each<[string, object]>([
  ['one event a request', {}],
  ['many events a request', { format: 'batch' }],
  ['a service with an address for each event', { preset: 'discord', path: '/{{ name }}' }],
])('%s: a limit of the rate may be that of one object, and holds no others back', async (_, more) => {
  const { path = '', ...options } = more as { path?: string }
  await using hook = await startReceiver()
  await using sink = await open({ url: `${hook.url}${path}`, concurrency: 1, ...options })
  hook.answer(() => ({ status: hook.requests.length === 1 ? 429 : 200, headers: { 'retry-after': '60' } }))
  const calls = ['limited', 'b', 'c'].map((name) => sink.deliver([message(name)], never))
  expect((await Promise.all(calls)).flat()).toMatchObject([
    { kind: 'retry', reason: 'rate-limited', afterMs: 60_000 },
    { kind: 'delivered' },
    { kind: 'delivered' },
  ])
})
