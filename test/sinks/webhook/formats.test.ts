import { type CloudEvent, HTTP } from 'cloudevents'
import { Webhook } from 'standardwebhooks'
import { expect, test } from 'vitest'
import webhook from '../../../sinks/webhook/index.ts'
import { percentEncoded } from '../../../sinks/webhook/request.ts'
import { type ReceivedRequest, startReceiver } from '../../servers/receiver.ts'
import { messageOf, openSink } from '../bed.ts'

const SECRET = `whsec_${Buffer.from('a-secret-of-thirty-two-bytes-or-so').toString('base64')}`
const never = new AbortController().signal
const HOSTILE = 'a "quote", \\ back\nnew line \u0000 \u202e {{ name }} %41 ünï \ud83d\ude00 </script>'

function read({ headers, body }: ReceivedRequest) {
  return HTTP.toEvent({ headers: headers as Record<string, string>, body }) as CloudEvent | CloudEvent[]
}

test('binary: attributes in headers, the data as body, and the cloudevents package reads what structured says', async () => {
  await using hook = await startReceiver()
  const message = messageOf({ name: 'web', object: { a: 'ünï', n: 1 } })
  for (const format of ['structured', 'binary']) {
    await using sink = await openSink(webhook, { url: hook.url, format, secret: SECRET })
    expect(await sink.deliver([message], never)).toEqual([{ kind: 'delivered' }])
  }
  const [structured, binary] = hook.requests
  expect(binary!.headers['content-type']).toBe('application/json')
  const event = read(binary!) as CloudEvent
  expect(event.validate()).toBe(true)
  expect(event.toJSON()).toEqual((read(structured!) as CloudEvent).toJSON())
  expect(new Webhook(SECRET).verify(binary!.body, binary!.headers as Record<string, string>)).toMatchObject({
    type: 'MODIFIED',
    object: { a: 'ünï', n: 1 },
  })
})

test('binary: what headers cannot hold is percent-encoded, and comes out as it was', async () => {
  await using hook = await startReceiver()
  await using sink = await openSink(webhook, { url: hook.url, format: 'binary' })
  await sink.deliver([messageOf({ event: { name: HOSTILE, cluster: 'prod\r\nx-evil: 1' } })], never)
  const { headers } = hook.requests[0]!
  expect(decodeURIComponent(String(headers['ce-name']))).toBe(HOSTILE)
  expect(decodeURIComponent(String(headers['ce-cluster']))).toBe('prod\r\nx-evil: 1')
  expect(headers).not.toHaveProperty('x-evil')
  expect(percentEncoded('Euro € 😀 100% "x"')).toBe('Euro%20%E2%82%AC%20%F0%9F%98%80%20100%25%20%22x%22')
})

const named = (count: number, uids = count) =>
  Array.from({ length: count }, (_, i) => messageOf({ name: `o${i % uids}`, version: String(i) }))

function versionsOf({ body }: ReceivedRequest): number[] {
  return JSON.parse(body).map((it: { resourceversion: string }) => Number(it.resourceversion))
}

test('batch: many events a request, in their order, read by the cloudevents package and signed', async () => {
  await using hook = await startReceiver()
  const options = { url: hook.url, format: 'batch', batch: { max: 4 }, secret: SECRET }
  await using sink = await openSink(webhook, options)
  const outcomes = await sink.deliver(named(10), never)
  expect(outcomes).toEqual(Array(10).fill({ kind: 'delivered' }))
  expect(hook.requests.map(versionsOf)).toEqual([
    [0, 1, 2, 3],
    [4, 5, 6, 7],
    [8, 9],
  ])
  const [request] = hook.requests
  expect(request!.headers['content-type']).toMatch(/^application\/cloudevents-batch\+json/)
  const events = read(request!) as CloudEvent[]
  expect(events.map((it) => it.validate())).toEqual([true, true, true, true])
  new Webhook(SECRET).verify(request!.body, request!.headers as Record<string, string>)
})

test('batch: the same events have the same webhook-id, however often they are tried', async () => {
  await using hook = await startReceiver()
  await using sink = await openSink(webhook, { url: hook.url, format: 'batch' })
  for (const count of [3, 3, 2, 1]) await sink.deliver(named(count), never)
  const ids = hook.requests.map(({ headers }) => headers['webhook-id'])
  expect(ids[0]).toMatch(/^batch_[0-9a-f]{40}$/)
  expect(ids[1]).toBe(ids[0])
  expect(ids[2]).not.toBe(ids[0])
  expect(ids[3]).toBe('cluster-uid/uid-o0/0/MODIFIED')
})

test('batch: no request holds more bytes than it may, unless one event alone does', async () => {
  await using hook = await startReceiver()
  await using sink = await openSink(webhook, { url: hook.url, format: 'batch', batch: { maxBytes: 3_000 } })
  const padded = [400, 400, 5_000, 400, 400, 400].map((n, i) =>
    messageOf({ name: `o${i}`, version: String(i), object: { pad: 'x'.repeat(n) } }),
  )
  expect(await sink.deliver(padded, never)).toEqual(Array(6).fill({ kind: 'delivered' }))
  expect(hook.requests.map(versionsOf)).toEqual([[0, 1], [2], [3, 4, 5]])
})

test('batch: 413 is asked again in halves, down to the one event that is too large', async () => {
  await using hook = await startReceiver()
  hook.answer((request) => ({ status: versionsOf(request).includes(5) ? 413 : 200 }))
  await using sink = await openSink(webhook, { url: hook.url, format: 'batch' })
  const outcomes = await sink.deliver(named(8), never)
  expect(outcomes.map(({ kind }) => kind)).toEqual(
    [0, 1, 2, 3, 4, 5, 6, 7].map((i) => (i === 5 ? 'rejected' : 'delivered')),
  )
  const accepted = hook.requests.filter(({ status }) => status === 200).flatMap(versionsOf)
  expect(accepted).toEqual([0, 1, 2, 3, 4, 6, 7])
})

test('batch: one answer counts for all, and no event overtakes one of its object that failed', async () => {
  await using hook = await startReceiver()
  hook.answer((request) => ({ status: versionsOf(request).includes(1) ? 500 : 200 }))
  await using sink = await openSink(webhook, { url: hook.url, format: 'batch', batch: { max: 3 } })
  // Objects o0 to o4, each twice.
  const outcomes = await sink.deliver(named(10, 5), never)
  expect(outcomes.map(({ kind }) => kind)).toEqual([
    ...['retry', 'retry', 'retry', 'delivered', 'delivered'],
    ...['retry', 'retry', 'retry', 'delivered', 'delivered'],
  ])
  expect(hook.requests.flatMap(versionsOf)).toEqual([0, 1, 2, 3, 4, 8, 9])
})

test('batch: when the whole receiver fails nothing more is sent', async () => {
  await using hook = await startReceiver()
  hook.answer(() => ({ status: 503, headers: { 'retry-after': '7' } }))
  await using sink = await openSink(webhook, { url: hook.url, format: 'batch', batch: { max: 2 } })
  const outcomes = await sink.deliver(named(6), never)
  expect(outcomes).toMatchObject(Array(6).fill({ kind: 'retry', scope: 'sink', afterMs: 7_000 }))
  expect(hook.requests).toHaveLength(1)
})

test('batch: what is stopped before it is sent is a retry', async () => {
  await using hook = await startReceiver()
  const stop = new AbortController()
  hook.answer(() => {
    stop.abort()
    return { hang: true }
  })
  await using sink = await openSink(webhook, { url: hook.url, format: 'batch', batch: { max: 2 } })
  const outcomes = await sink.deliver(named(4), stop.signal)
  expect(outcomes).toMatchObject(Array(4).fill({ kind: 'retry', scope: 'sink' }))
  expect(outcomes.slice(0, 2)).toMatchObject(Array(2).fill({ ambiguous: true }))
  expect(hook.requests).toHaveLength(1)
})

test('a body is valid JSON whatever stands in the object', async () => {
  await using hook = await startReceiver()
  const body = {
    text: 'Pod {{ name }} says {{ object.message }}',
    list: [{ deep: '{{ object.message }}' }, 7, true, null],
    replicas: '{{ object.replicas | as_is }}',
    constant: 'plain',
  }
  await using sink = await openSink(webhook, { url: hook.url, body, method: 'PUT' })
  const object = { message: HOSTILE, replicas: 3 }
  expect(await sink.deliver([messageOf({ object })], never)).toEqual([{ kind: 'delivered' }])
  const [request] = hook.requests
  expect(request).toMatchObject({
    method: 'PUT',
    headers: { 'content-type': 'application/json; charset=utf-8' },
  })
  expect(JSON.parse(request!.body)).toEqual({
    text: `Pod web says ${HOSTILE}`,
    list: [{ deep: HOSTILE }, 7, true, null],
    replicas: 3,
    constant: 'plain',
  })
})

test('raw: text as it is written, with a type of its own', async () => {
  await using hook = await startReceiver()
  const options = { url: hook.url, raw: 'kind={{ kind }}\nname={{ name }}\n', contentType: 'text/x-kv' }
  await using sink = await openSink(webhook, options)
  await sink.deliver([messageOf()], never)
  expect(hook.requests[0]).toMatchObject({
    body: 'kind=ConfigMap\nname=web\n',
    headers: { 'content-type': 'text/x-kv' },
  })
})

test('a url is filled in: values are percent-encoded and cannot add a segment, a query or a host', async () => {
  await using hook = await startReceiver()
  const { origin } = new URL(hook.url)
  const url = `${origin}/events/{{ namespace }}/{{ object.x }}?who={{ object.x }}`
  await using sink = await openSink(webhook, { url, body: {} })
  for (const x of ['a/../../b?c=d#e', '@evil.example.com/', 'ünï code', '\ud800'])
    expect(await sink.deliver([messageOf({ object: { x } })], never)).toEqual([{ kind: 'delivered' }])
  expect(hook.requests.map(({ path }) => path)).toEqual([
    '/events/default/a%2F..%2F..%2Fb%3Fc%3Dd%23e?who=a%2F..%2F..%2Fb%3Fc%3Dd%23e',
    '/events/default/%40evil.example.com%2F?who=%40evil.example.com%2F',
    '/events/default/%C3%BCn%C3%AF%20code?who=%C3%BCn%C3%AF%20code',
    '/events/default/%EF%BF%BD?who=%EF%BF%BD',
  ])
})

test.each(['..', '.', '%2e%2E'])(
  'a segment %s of a url is refused: the event is a dead letter',
  async (x) => {
    await using hook = await startReceiver()
    const { origin } = new URL(hook.url)
    const raw = x.startsWith('%') ? ' | raw' : ''
    await using sink = await openSink(webhook, { url: `${origin}/a/{{ object.x${raw} }}/b` })
    const outcomes = await sink.deliver([messageOf({ object: { x } })], never)
    expect(outcomes).toMatchObject([
      { kind: 'rejected', reason: 'render', detail: expect.stringContaining('url') },
    ])
    expect(hook.requests).toEqual([])
  },
)

test.each(['.. ', '..\0\t '])('blanks behind a last segment %j do not hide it', async (x) => {
  await using hook = await startReceiver()
  const { origin } = new URL(hook.url)
  await using sink = await openSink(webhook, { url: `${origin}/a/{{ object.x | raw }}` })
  expect(await sink.deliver([messageOf({ object: { x } })], never)).toMatchObject([
    { kind: 'rejected', reason: 'render' },
  ])
  expect(hook.requests).toEqual([])
})

test('a value that makes a url endless is refused', async () => {
  await using hook = await startReceiver()
  await using sink = await openSink(webhook, { url: `${hook.url}?x={{ object.x }}` })
  const outcomes = await sink.deliver([messageOf({ object: { x: 'x'.repeat(9_000) } })], never)
  expect(outcomes).toMatchObject([{ kind: 'rejected', reason: 'render' }])
})

test('what a batch had delivered counts when it is stopped while it waits for another lane', async () => {
  await using hook = await startReceiver()
  const options = { url: hook.url, format: 'batch', batch: { max: 1 }, concurrency: 1 }
  await using sink = await openSink(webhook, options)
  hook.answer(({ body }) => (body.includes('"web-3"') ? { hang: true } : {}))
  const [first, second, other] = ['web-1', 'web-2', 'web-3'].map((name) => messageOf({ name }))
  const stop = new AbortController()
  const outcomes = sink.deliver([first!, second!], stop.signal)
  const hanging = sink.deliver([other!], stop.signal)
  await expect.poll(() => hook.requests.length).toBe(2)
  stop.abort()
  expect(await outcomes).toMatchObject([{ kind: 'delivered' }, { kind: 'retry', scope: 'sink' }])
  await hanging
})
