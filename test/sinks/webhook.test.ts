import { once } from 'node:events'
import { createServer as createHttpServer } from 'node:http'
import { createServer } from 'node:net'
import { type CloudEvent, HTTP } from 'cloudevents'
import { Webhook } from 'standardwebhooks'
import { expect, test, vi } from 'vitest'
import webhook from '../../sinks/webhook/index.ts'
import { outcomeOfStatus, retryAfterMs } from '../../src/sink/answer.ts'
import { Exchange } from '../../src/sink/exchange.ts'
import { createHttpClient, limitsOf } from '../../src/sink/http.ts'
import type { Message, Outcome } from '../../src/sink/index.ts'
import { type Answer, startReceiver } from '../servers/receiver.ts'
import { messageOf, openSink } from './bed.ts'

const SECRET = `whsec_${Buffer.from('a-secret-of-thirty-two-bytes-or-so').toString('base64')}`
const OLD_SECRET = `whsec_${Buffer.from('another-secret-of-thirty-two-bytes').toString('base64')}`
const never = new AbortController().signal

function message(name = 'web', version = '7', object: object = {}): Message {
  return messageOf({ name, version, object })
}

async function validate(options: object) {
  const checked = await webhook.config['~standard'].validate(options)
  return checked as { value: never; issues?: { message: string }[] }
}

const open = (options: object) => openSink(webhook, options)

async function deliverTo(answer: Answer, options: object = {}): Promise<Outcome | undefined> {
  await using hook = await startReceiver()
  hook.answer(() => answer)
  await using sink = await open({ url: hook.url, ...options })
  const [outcome] = await sink.deliver([message()], never)
  return outcome
}

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

test.each<[number, string, string?]>([
  [200, 'delivered'],
  [202, 'delivered'],
  [204, 'delivered'],
  [301, 'retry', 'sink'],
  [307, 'retry', 'sink'],
  [400, 'rejected'],
  [405, 'rejected'],
  [413, 'rejected'],
  [415, 'rejected'],
  [418, 'rejected'],
  [422, 'rejected'],
  [401, 'retry', 'sink'],
  [403, 'retry', 'sink'],
  [404, 'retry', 'sink'],
  [407, 'retry', 'sink'],
  [408, 'retry', 'sink'],
  [409, 'retry', 'event'],
  [410, 'retry', 'sink'],
  [425, 'retry', 'sink'],
  [429, 'retry', 'sink'],
  [500, 'retry', 'event'],
  [502, 'retry', 'sink'],
  [503, 'retry', 'sink'],
  [504, 'retry', 'sink'],
])('status %i means %s', async (status, kind, scope) => {
  const outcome = await deliverTo({ status, body: 'why', headers: { location: 'http://169.254.169.254/' } })
  expect(outcome).toMatchObject({ kind, ...(scope && { scope }) })
})

test('a refusal carries the first bytes of the answer', () => {
  expect(outcomeOfStatus(422, undefined, 'no sevens', 0)).toEqual({
    kind: 'rejected',
    reason: 'rejected',
    detail: 'HTTP 422: no sevens',
  })
})

test.each<[string, string | undefined, number | undefined]>([
  ['seconds', '7', 7_000],
  ['an HTTP date', 'Thu, 01 Jan 1970 00:00:10 GMT', 10_000],
  ['a date in the past', 'Thu, 01 Jan 1970 00:00:00 GMT', 0],
  ['far too long', '999999', 3_600_000],
  ['nonsense', 'soon', undefined],
  ['nothing', undefined, undefined],
])('Retry-After: %s', (_name, value, expected) => {
  expect(retryAfterMs(value, 0)).toBe(expected)
})

test('a 2xx counts when its status is there, even if the body never ends', async () => {
  await using hook = await startReceiver()
  await using sink = await open({ url: hook.url })
  hook.answer(() => ({ status: 200, body: 'x'.repeat(1_000_000) }))
  expect(await sink.deliver([message()], never)).toEqual([{ kind: 'delivered' }])
})

test.each([
  ['a reset', { reset: true }, 'network', 'sink'],
  ['no answer in time', { hang: true }, 'timeout', 'event'],
])('%s is tried again', async (_name, answer, reason, scope) => {
  expect(await deliverTo(answer, { timeout: '300ms' })).toMatchObject({ kind: 'retry', reason, scope })
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
  await using unknown = await open({ url: 'http://nowhere.invalid/' })
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
  await using sink = await open({ url: 'http://user:hunter2@nowhere.invalid/?token=hunter3' })
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

test('user and password beside an authorization header are refused', async () => {
  const url = 'http://user:pw@localhost/'
  const { issues } = await validate({ url, headers: { Authorization: 'Bearer of-bad-news' } })
  expect(issues).toMatchObject([
    { path: ['headers', 'Authorization'], message: expect.stringContaining('keep one of the two') },
  ])
})

test.each<[timeout: string | number, message?: string]>([
  ['51s', 'must be at most 50s'],
  ['1m', 'must be at most 50s'],
  ['0s', 'must be longer than 0'],
  ['50s'],
  [20, 'needs a unit: 20s or 20ms'],
  [300, 'needs a unit: 300ms'],
  ['soon', 'must be a duration of at most 50s, such as 500ms or 20s'],
])('timeout: %s', async (timeout, message) => {
  const { issues } = await validate({ url: 'http://localhost/', timeout })
  expect(issues?.[0]?.message).toEqual(message && expect.stringContaining(message))
})

const SECRETS = {
  path: '/hook/T0KEN-IN-PATH?key=T0KEN%2BIN%2FQUERY&T0KEN-BARE',
  headers: { 'x-auth': 'Bearer T0KEN-IN-HEADER', 'x-key': 'T0KEN-&-KEY', cookie: 'sid=T0KEN-COOKIE' },
  secret: SECRET,
}
const TELLTALE = new RegExp(`T0KEN|hunter2|${SECRET.slice(6)}`, 'i')

test.each<[string, (url: URL) => string]>([
  ['the whole URL', (url) => `no ${url.href}`],
  ['the path, as Express does', (url) => `<pre>Cannot POST ${url.pathname}${url.search}</pre>`],
  ['the path in HTML', (url) => `${url.pathname}${url.search}`.replaceAll('&', '&amp;')],
  ['the path in JSON, with escaped slashes', (url) => url.pathname.replaceAll('/', '\\/')],
  ['a token of the path', () => 'no team T0KEN-IN-PATH'],
  ['a value of the query', () => 'T0KEN+IN/QUERY or T0KEN%2BIN%2FQUERY or T0KEN-BARE'],
  ['a header', () => JSON.stringify(SECRETS.headers)],
  ['a token of a header in lower case', () => 'unknown token t0ken-in-header'],
  ['a header in HTML', () => 'T0KEN-&amp;-KEY'],
  ['Basic authorization', () => `Basic ${btoa('someone:hunter2')} is someone:hunter2`],
  ['a password', () => 'wrong password hunter2'],
  ['the signing secret', () => `${SECRET} ${SECRET.slice(6)}`],
  ['a secret that the limit cuts', () => `${' '.repeat(2_038)}T0KEN-IN-HEADER`],
])('an answer that repeats %s does not carry it into the outcome', async (_name, body) => {
  await using hook = await startReceiver()
  const url = new URL(SECRETS.path, hook.url)
  url.username = 'someone'
  url.password = 'hunter2'
  await using sink = await open({ url: url.href, headers: SECRETS.headers, secret: SECRETS.secret })
  hook.answer(() => ({ status: 404, body: body(url) }))
  const [outcome] = await sink.deliver([message()], never)
  expect(outcome).toMatchObject({ kind: 'retry', detail: expect.stringMatching(/^HTTP 404: .*\[redacted\]/) })
  expect(JSON.stringify(outcome)).not.toMatch(TELLTALE)
})

test('what an answer says besides stays readable', async () => {
  const body = 'the token of team shop is not known, see https://example.com/help?topic=tokens'
  const options = { headers: { authorization: 'Bearer T0KEN-IN-HEADER' } }
  expect(await deliverTo({ status: 404, body }, options)).toMatchObject({ detail: `HTTP 404: ${body}` })
})

/** Answers with a status, and then a byte of body now and then, without an end. */
async function startTrickle(status: number) {
  const closed = Promise.withResolvers<void>()
  const server = createHttpServer((_request, response) => {
    response.writeHead(status).write('so')
    const timer = setInterval(() => response.write('.'), 50)
    response.on('close', () => {
      clearInterval(timer)
      closed.resolve()
    })
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as { port: number }
  return {
    url: `http://127.0.0.1:${port}/`,
    closed: closed.promise,
    async [Symbol.asyncDispose]() {
      server.close()
      server.closeAllConnections()
    },
  }
}

test('a success whose body trickles is delivered soon, and its connection given up', {
  timeout: 10_000,
}, async () => {
  await using hook = await startTrickle(200)
  await using sink = await open({ url: hook.url })
  expect(await sink.deliver([message()], never)).toEqual([{ kind: 'delivered' }])
  await hook.closed
})

test('the time limit is over all of an answer: one that trickles is cut, its status decides', async () => {
  await using hook = await startTrickle(422)
  await using sink = await open({ url: hook.url, timeout: '300ms' })
  const [outcome] = await sink.deliver([message()], never)
  expect(outcome).toMatchObject({ kind: 'rejected', detail: expect.stringMatching(/^HTTP 422: so\.*$/) })
  await hook.closed
})

test('an explanation gets 5 s, however it trickles', () => {
  vi.useFakeTimers()
  let outcome: Outcome | undefined
  const decide = (it: Outcome) => {
    outcome = it
  }
  const exchange = new Exchange(decide, 50_000, { host: 'x', secure: false, mask: () => (text) => text })
  vi.advanceTimersByTime(30_000)
  exchange.onResponseStart(undefined, 500, {})
  for (let ms = 0; ms < 4_900; ms += 100) {
    vi.advanceTimersByTime(100)
    exchange.onResponseData(undefined, Buffer.from('.'))
  }
  expect(outcome).toBeUndefined()
  vi.advanceTimersByTime(100)
  expect(outcome).toMatchObject({ detail: `HTTP 500: ${'.'.repeat(49)}` })
  vi.useRealTimers()
})

test('a status may take 15 s, or as long as the timeout says', () => {
  expect(limitsOf(undefined)).toEqual({ connectMs: 3_000, headersMs: 15_000, totalMs: 20_000 })
  expect(limitsOf(40_000)).toEqual({ connectMs: 3_000, headersMs: 40_000, totalMs: 40_000 })
  expect(limitsOf(500)).toEqual({ connectMs: 500, headersMs: 500, totalMs: 500 })
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
