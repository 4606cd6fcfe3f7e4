import { once } from 'node:events'
import { createServer as createHttpServer } from 'node:http'
import { createServer } from 'node:net'
import { expect, test, vi } from 'vitest'
import webhook from '../../../sinks/webhook/index.ts'
import { Exchange, limitsOf } from '../../../src/sink/http-client.ts'
import { outcomeOfStatus, retryAfterMs } from '../../../src/sink/http-status.ts'
import type { Outcome } from '../../../src/sink/index.ts'
import { CircuitBreaker } from '../../../src/store/lanes/circuit-breaker.ts'
import { UNKNOWN_NAME } from '../../servers/ports.ts'
import { type Answer, startReceiver } from '../../servers/receiver.ts'
import { waitFor } from '../../wait-for.ts'
import { messageOf, openSink } from '../bed.ts'

const never = new AbortController().signal

async function deliverTo(answer: Answer): Promise<Outcome | undefined> {
  await using hook = await startReceiver()
  await using sink = await openSink(webhook, { url: hook.url, ...(answer.hang && { timeout: '300ms' }) })
  const deliver = async () => (await sink.deliver([messageOf()], never))[0]
  hook.answer(() => answer)
  if (!answer.hang) return await deliver()
  // The limit is for the answer: a machine that pauses may have no connection by then.
  const connected = (it: Outcome | undefined) =>
    it?.kind === 'retry' && it.reason === 'network' ? undefined : it
  return await waitFor(async () => connected(await deliver()), { what: 'a connection' })
}

test.each<[number, string, string?]>([
  [200, 'delivered'],
  [202, 'delivered'],
  [204, 'delivered'],
  [301, 'retry', 'sink'],
  [307, 'retry', 'sink'],
  [400, 'rejected'],
  [413, 'rejected'],
  [418, 'rejected'],
  [422, 'rejected'],
  [401, 'retry', 'sink'],
  [402, 'retry', 'sink'],
  [403, 'retry', 'sink'],
  [404, 'retry', 'sink'],
  [405, 'retry', 'sink'],
  [406, 'retry', 'sink'],
  [407, 'retry', 'sink'],
  [408, 'retry', 'sink'],
  [409, 'retry', 'event'],
  [410, 'retry', 'sink'],
  [415, 'retry', 'sink'],
  [421, 'retry', 'sink'],
  [425, 'retry', 'sink'],
  [426, 'retry', 'sink'],
  [429, 'retry', 'sink'],
  [500, 'retry', 'event'],
  [502, 'retry', 'sink'],
  [503, 'retry', 'sink'],
  [504, 'retry', 'sink'],
])('status %i means %s', async (status, kind, scope) => {
  const outcome = await deliverTo({ status, body: 'why', headers: { location: 'http://169.254.169.254/' } })
  expect(outcome).toMatchObject({ kind, ...(scope && { scope }) })
})

test.each([401, 403, 404, 405, 410])(
  'status %i of an address by a template is of that event, and the others of the call are sent',
  async (status) => {
    await using hook = await startReceiver()
    hook.answer(({ path }) => ({ status: path.endsWith('/missing') ? status : 200 }))
    await using sink = await openSink(webhook, { url: `${hook.url}/{{ name }}`, concurrency: 1 })
    const outcomes = await sink.deliver(
      ['missing', 'there'].map((name) => messageOf({ name })),
      never,
    )
    expect(outcomes).toMatchObject([{ kind: 'retry', scope: 'event' }, { kind: 'delivered' }])
  },
)

test.each([402, 407, 429, 503])(
  'status %i of an address by a template is still of the whole sink',
  async (status) => {
    await using hook = await startReceiver()
    hook.answer(() => ({ status }))
    await using sink = await openSink(webhook, { url: `${hook.url}/{{ name }}` })
    expect(await sink.deliver([messageOf()], never)).toMatchObject([{ kind: 'retry', scope: 'sink' }])
  },
)

test.each([
  ['nginx', 'auth', '<head><title>400 The SSL certificate error</title></head>'],
  ['nginx', 'auth', '<head><title>400 No required SSL certificate was sent</title></head>'],
  ['nginx', 'config', '<center>The plain HTTP request was sent to HTTPS port</center>'],
  ['Go', 'config', 'Client sent an HTTP request to an HTTPS server.\n'],
  ['Apache', 'config', "Reason: You're speaking plain HTTP to an SSL-enabled server port.<br />"],
  ['Tomcat', 'config', 'Bad Request\nThis combination of host and port requires TLS.\n'],
])('a 400 of %s that refuses the connection is a %s fault of the sink: %s', async (_, reason, body) => {
  expect(await deliverTo({ status: 400, body })).toMatchObject({ kind: 'retry', reason, scope: 'sink' })
})

test.each<[string | undefined, number, string]>([
  [undefined, 0, 'retry'],
  [undefined, 1, 'retry'],
  ['retry', 1, 'retry'],
  ['delivered', 0, 'retry'],
  ['delivered', 1, 'delivered'],
  ['delivered', 4, 'delivered'],
])(
  'with repeatConflict %s, 409 to an event that was tried %i times means %s',
  async (repeatConflict, attempt, kind) => {
    await using hook = await startReceiver()
    hook.answer(() => ({ status: 409 }))
    await using sink = await openSink(webhook, { url: hook.url, ...(repeatConflict && { repeatConflict }) })
    const [outcome] = await sink.deliver([messageOf({ attempt })], never)
    expect(outcome?.kind).toBe(kind)
  },
)

test('a refusal carries the first bytes of the answer', () => {
  expect(outcomeOfStatus(422, undefined, 'no sevens', 0)).toEqual({
    kind: 'rejected',
    reason: 'rejected',
    detail: 'HTTP 422: no sevens',
  })
})

test.each<[string, string | string[] | undefined, number | undefined]>([
  ['seconds', '7', 7_000],
  ['two of them, of a receiver and a gateway', ['5', '7'], 7_000],
  ['an HTTP date', 'Thu, 01 Jan 1970 00:00:10 GMT', 10_000],
  ['a date in the past', 'Thu, 01 Jan 1970 00:00:00 GMT', 0],
  ['far too long', '999999', 3_600_000],
  ['a fraction of seconds', '120.0', 120_000],
  ['a fraction of a second', '0.65', 650],
  ['less than nothing', '-1', undefined],
  ['nonsense', 'soon', undefined],
  ['nothing', undefined, undefined],
])('Retry-After: %s', (_name, value, expected) => {
  expect(retryAfterMs(value, 0)).toBe(expected)
})

test('a 2xx counts when its status is there, even if the body never ends', async () => {
  await using hook = await startReceiver()
  await using sink = await openSink(webhook, { url: hook.url })
  hook.answer(() => ({ status: 200, body: 'x'.repeat(1_000_000) }))
  expect(await sink.deliver([messageOf()], never)).toEqual([{ kind: 'delivered' }])
})

test.each([
  ['a reset', { reset: true }, 'network', 'sink'],
  ['no answer in time', { hang: true }, 'timeout', 'event'],
])('%s is tried again', async (_name, answer, reason, scope) => {
  expect(await deliverTo(answer)).toMatchObject({ kind: 'retry', reason, scope })
})

/** Answers with a status, and then a byte of body now and then, without an end. */
async function startTrickle(status: number) {
  let open = 0
  const server = createHttpServer((_request, response) => {
    open++
    response.writeHead(status).write('so')
    const timer = setInterval(() => response.write('.'), 50)
    response.on('close', () => {
      clearInterval(timer)
      open--
    })
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as { port: number }
  return {
    url: `http://127.0.0.1:${port}/`,
    closed: () => waitFor(() => open === 0, { what: 'the end of the answers' }),
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
  await using sink = await openSink(webhook, { url: hook.url })
  expect(await sink.deliver([messageOf()], never)).toEqual([{ kind: 'delivered' }])
  await hook.closed()
})

test.each([
  [200, { kind: 'delivered' }],
  [422, { kind: 'rejected', detail: expect.stringMatching(/^HTTP 422: x{2000,2100}/) }],
])('of a body without end only its beginning is read: %i', async (status, expected) => {
  let sent = 0
  const closed = Promise.withResolvers<void>()
  const chunk = 'x'.repeat(64 * 1024)
  const server = createHttpServer((_request, response) => {
    response.writeHead(status)
    const write = () => {
      while (!response.destroyed && response.write(chunk)) sent += chunk.length
      response.once('drain', write)
    }
    write()
    response.on('close', closed.resolve)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as { port: number }
  await using sink = await openSink(webhook, { url: `http://127.0.0.1:${port}/` })
  expect(await sink.deliver([messageOf()], never)).toMatchObject([expected])
  await closed.promise
  // What lies in the buffers of both sockets is no more than that.
  expect(sent).toBeLessThan(32 * 1024 * 1024)
  server.close()
})

test('the time limit is over all of an answer: one that trickles is cut, its status decides', async () => {
  await using hook = await startTrickle(422)
  await using sink = await openSink(webhook, { url: hook.url, timeout: '300ms' })
  // A machine that pauses may have no status by then.
  const hasStatus = ({ kind }: Outcome) => kind !== 'retry'
  const outcome = await waitFor(async () => (await sink.deliver([messageOf()], never)).find(hasStatus), {
    what: 'a status',
  })
  expect(outcome).toMatchObject({ kind: 'rejected', detail: expect.stringMatching(/^HTTP 422: so\.*$/) })
  await hook.closed()
})

test('the time limit of an answer ends exactly then, however it trickles', () => {
  vi.useFakeTimers()
  let outcome: Outcome | undefined
  const decide = (it: Outcome) => {
    outcome = it
  }
  const exchange = new Exchange(decide, 300, { host: 'x', secure: false, mask: () => (text) => text })
  vi.advanceTimersByTime(200)
  exchange.onResponseStart(undefined, 422, {})
  exchange.onResponseData(undefined, Buffer.from('so'))
  vi.advanceTimersByTime(99)
  exchange.onResponseData(undefined, Buffer.from('.'))
  expect(outcome).toBeUndefined()
  vi.advanceTimersByTime(1)
  expect(outcome).toMatchObject({ kind: 'rejected', detail: 'HTTP 422: so.' })
  vi.useRealTimers()
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

test.each<[string, Answer, boolean]>([
  ['no answer in time', { hang: true }, true],
  ['a reset', { reset: true }, true],
  ['504', { status: 504 }, true],
  ['503', { status: 503 }, false],
])('%s: whether it may have arrived is told', async (_name, answer, ambiguous) => {
  const outcome = await deliverTo(answer)
  expect(outcome).toMatchObject({ kind: 'retry' })
  expect((outcome as { ambiguous?: true }).ambiguous ?? false).toBe(ambiguous)
})

test('what never left cannot have arrived', async () => {
  await using sink = await openSink(webhook, { url: `http://${UNKNOWN_NAME}/` })
  const [outcome] = await sink.deliver([messageOf()], never)
  expect(outcome).toMatchObject({ kind: 'retry', detail: `the name ${UNKNOWN_NAME} cannot be resolved` })
  expect(outcome).not.toHaveProperty('ambiguous')
})

test('a receiver that closes idle connections at any moment gets every event', async () => {
  const bodies: string[] = []
  const server = createHttpServer((request, response) => {
    request
      .on('data', (chunk) => bodies.push(String(chunk)))
      .on('end', () => {
        response.end()
        response.socket?.end()
      })
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as { port: number }
  await using sink = await openSink(webhook, { url: `http://127.0.0.1:${port}/`, concurrency: 1 })
  let waiting = Array.from({ length: 20 }, (_, i) => messageOf({ name: `o${i}` }))
  for (let tries = 0; waiting.length > 0 && tries < 50; tries++) {
    const outcomes = await sink.deliver(waiting, never)
    expect(outcomes.every(({ kind }) => kind === 'delivered' || kind === 'retry')).toBe(true)
    waiting = waiting.filter((_, i) => outcomes[i]!.kind !== 'delivered')
  }
  expect(waiting).toEqual([])
  server.close()
})

test('410 rests the sink for a quarter of an hour: then one delivery probes, and its success ends the rest', async () => {
  await using hook = await startReceiver()
  hook.answer(() => ({ status: 410 }))
  await using sink = await openSink(webhook, { url: hook.url })
  const [outcome] = await sink.deliver([messageOf()], never)
  expect(outcome).toMatchObject({ kind: 'retry', reason: 'gone', scope: 'sink', afterMs: 900_000 })
  const clock = { ms: 0, now: () => clock.ms }
  const breaker = new CircuitBreaker(clock, () => 0.5)
  breaker.failed()
  breaker.pause((outcome as { afterMs: number }).afterMs)
  clock.ms = 899_000
  expect(breaker.admit().kind).toBe('wait')
  clock.ms = 900_001
  expect(breaker.admit().kind).toBe('probe')
  hook.answer(() => ({ status: 200 }))
  expect(await sink.deliver([messageOf()], never)).toEqual([{ kind: 'delivered' }])
  breaker.succeeded(clock.ms)
  expect(breaker.admit().kind).toBe('go')
})

test('a Retry-After of 410 counts instead', () => {
  expect(outcomeOfStatus(410, '60', '', 0)).toMatchObject({ reason: 'gone', afterMs: 60_000 })
})

test('a connection that nobody accepts is given up in time', async () => {
  const server = createServer((socket) => socket.pause()).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as { port: number }
  await using sink = await openSink(webhook, { url: `https://127.0.0.1:${port}/`, timeout: '300ms' })
  const [outcome] = await sink.deliver([messageOf()], never)
  expect(outcome).toMatchObject({ kind: 'retry', reason: 'network', scope: 'sink' })
  expect(outcome).not.toHaveProperty('ambiguous')
  server.close()
})
