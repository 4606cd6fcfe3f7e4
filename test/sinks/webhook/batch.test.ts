import { expect, test } from 'vitest'
import { createBatches } from '../../../sinks/webhook/batches.ts'
import webhook from '../../../sinks/webhook/index.ts'
import { type ReceivedRequest, startReceiver } from '../../servers/receiver.ts'
import { waitFor } from '../../wait-for.ts'
import { messageOf, openSink } from '../bed.ts'

const never = new AbortController().signal
const EACH = { name: '{{ name }}', version: '{{ object.v | as_is }}', text: '{{ object.text }}' }
const DELIVERED = { kind: 'delivered' }

const named = (count: number, objects = count) =>
  Array.from({ length: count }, (_, i) =>
    messageOf({ name: `o${i % objects}`, object: { v: i, text: 'a\r\nb "c" \u2028 {{ name }}' } }),
  )

const linesOf = ({ body }: ReceivedRequest) =>
  body
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as { v: number; version: number; text: string })
const versionsOf = (request: ReceivedRequest) => linesOf(request).map(({ version }) => version)

test('each as a tree: one line of JSON for each event, whatever it holds', async () => {
  await using hook = await startReceiver()
  await using sink = await openSink(webhook, { url: hook.url, batch: { each: EACH, max: 3 } })
  expect(await sink.deliver(named(5), never)).toEqual(Array(5).fill(DELIVERED))
  expect(hook.requests.map(versionsOf)).toEqual([
    [0, 1, 2],
    [3, 4],
  ])
  expect(hook.requests[0]).toMatchObject({ headers: { 'content-type': 'application/x-ndjson' } })
  expect(hook.requests[0]!.body.endsWith('\n')).toBe(true)
  expect(linesOf(hook.requests[0]!)[0]!.text).toBe('a\r\nb "c" \u2028 {{ name }}')
})

test('each as a list: a line for each of its trees', async () => {
  await using hook = await startReceiver()
  const each = [{ index: { _id: '{{ id }}' } }, EACH]
  await using sink = await openSink(webhook, { url: hook.url, batch: { each } })
  await sink.deliver(named(2), never)
  expect(linesOf(hook.requests[0]!)).toMatchObject([
    { index: {} },
    { version: 0 },
    { index: {} },
    { version: 1 },
  ])
})

test('before, separator and after make a document of it', async () => {
  await using hook = await startReceiver()
  const batch = { each: EACH, before: '{"events":[', separator: ',', after: ']}' }
  await using sink = await openSink(webhook, { url: hook.url, batch })
  await sink.deliver(named(3), never)
  expect(JSON.parse(hook.requests[0]!.body).events).toHaveLength(3)
  expect(hook.requests[0]!.headers['content-type']).toMatch(/^application\/json/)
})

test('each as a text: line breaks in values are written as \\n, so that a line is an event', async () => {
  await using hook = await startReceiver()
  const batch = { each: '{{ name }} {{ object.text }}' }
  await using sink = await openSink(webhook, { url: hook.url, batch })
  await sink.deliver(named(2), never)
  const expected = (name: string) => `${name} a\\nb "c" \\n {{ name }}`
  expect(hook.requests[0]!.body).toBe(`${expected('o0')}\n${expected('o1')}\n`)
  expect(hook.requests[0]!.headers['content-type']).toMatch(/^text\/plain/)
})

test('a text that makes no JSON where JSON is promised is a dead letter; the others are sent', async () => {
  await using hook = await startReceiver()
  const options = { url: hook.url, contentType: 'application/x-ndjson' }
  const texts = ['plain', 'a "quote"', 'also plain']
  const messages = texts.map((text, i) => messageOf({ name: `o${i}`, object: { text } }))
  await using quoted = await openSink(webhook, {
    ...options,
    batch: { each: '{"text":"{{ object.text }}"}' },
  })
  expect(await quoted.deliver(messages, never)).toMatchObject([
    DELIVERED,
    { kind: 'rejected', reason: 'render' },
    DELIVERED,
  ])
  expect(hook.requests.map(({ body }) => body)).toEqual(['{"text":"plain"}\n{"text":"also plain"}\n'])
  const each = '{"text":{{ object.text | json }}}'
  await using good = await openSink(webhook, { ...options, batch: { each } })
  expect(await good.deliver(messages, never)).toEqual(Array(3).fill(DELIVERED))
})

test('an event that is larger than a request may be is sent alone, and refused alone', async () => {
  await using hook = await startReceiver()
  hook.answer(({ body }) => ({ status: body.length > 5_000 ? 413 : 200 }))
  const sizes = [300, 300, 20_000, 300, 300]
  const messages = sizes.map((size, i) =>
    messageOf({ name: `o${i}`, object: { v: i, text: 'x'.repeat(size) } }),
  )
  await using sink = await openSink(webhook, { url: hook.url, batch: { each: EACH, maxBytes: 1_000 } })
  const outcomes = await sink.deliver(messages, never)
  expect(outcomes.map(({ kind }) => kind)).toEqual([
    'delivered',
    'delivered',
    'rejected',
    'delivered',
    'delivered',
  ])
  expect(hook.requests.map(versionsOf)).toEqual([[0, 1], [2], [3, 4]])
})

test('413 to a whole request: halves, and no later event of an object overtakes one that fails', async () => {
  await using hook = await startReceiver()
  hook.answer((request) => {
    const versions = versionsOf(request)
    if (versions.length > 2) return { status: 413 }
    return { status: versions.includes(1) ? 500 : 200 }
  })
  await using sink = await openSink(webhook, { url: hook.url, batch: { each: EACH } })
  // Objects o0, o1, o2, o0, o1, o2, o0, o1.
  const outcomes = await sink.deliver(named(8, 3), never)
  expect(outcomes.map(({ kind }) => kind)).toEqual([
    ...['retry', 'retry', 'delivered', 'retry', 'retry', 'delivered', 'retry', 'retry'],
  ])
  const taken = hook.requests.filter(({ status }) => status === 200).flatMap(versionsOf)
  expect(taken).toEqual([2, 5])
})

test('gzip: every body is compressed, so that a receiver takes all of them or none', async () => {
  await using hook = await startReceiver()
  const options = { url: hook.url, compression: 'gzip', batch: { each: EACH } }
  await using sink = await openSink(webhook, options)
  await sink.deliver(named(100), never)
  await sink.deliver(named(1), never)
  const [large, small] = hook.requests
  expect(Number(large!.headers['content-length'])).toBeLessThan(large!.body.length / 3)
  for (const [request, count] of [
    [large!, 100],
    [small!, 1],
  ] as const) {
    expect(request.headers['content-encoding']).toBe('gzip')
    expect(versionsOf(request)).toHaveLength(count)
  }
})

test('wait: calls of several lanes become one request, and each gets its own outcomes', async () => {
  await using hook = await startReceiver()
  const batch = { each: EACH, wait: '500ms', max: 6 }
  await using sink = await openSink(webhook, { url: hook.url, batch })
  const [a, b, c] = [0, 1, 2].map((i) =>
    [2 * i, 2 * i + 1].map((v) => messageOf({ name: `o${v}`, object: { v } })),
  )
  const unsent = messageOf({ name: 'broken', object: { v: 9 } })
  Object.defineProperty(unsent, 'object', { get: () => ({ v: 9, text: 'x' }) })
  const outcomes = await Promise.all([a!, b!, c!].map((lane) => sink.deliver(lane, never)))
  expect(outcomes).toEqual(Array(3).fill([DELIVERED, DELIVERED]))
  // It was full before its time was over.
  expect(hook.requests.map(versionsOf)).toEqual([[0, 1, 2, 3, 4, 5]])
  await sink.deliver([unsent], never)
  expect(hook.requests).toHaveLength(2)
})

test('wait: a stop does not wait', async () => {
  await using hook = await startReceiver()
  const batch = { each: EACH, wait: '500ms' }
  await using sink = await openSink(webhook, { url: hook.url, batch })
  const stop = new AbortController()
  const outcomes = sink.deliver(named(2), stop.signal)
  stop.abort()
  expect(await outcomes).toMatchObject(Array(2).fill({ kind: 'retry', scope: 'sink' }))
  expect(hook.requests).toEqual([])
})

test('wait: a request is as old as the oldest of its calls, also of one that joins it later', async () => {
  const calledMs: number[] = []
  const answered = Promise.withResolvers<void>()
  const deliver = createBatches(
    {
      ...{ max: 2, maxBytes: 1_000, waitMs: 60_000 },
      item: (message) => ({ message, bytes: Buffer.from('x'), size: 1 }),
      body: () => ({ body: Buffer.from('x'), headers: {} }),
    },
    async (_items, _signal, ms) => {
      calledMs.push(ms)
      if (calledMs.length === 1) await answered.promise
      return { outcome: { kind: 'delivered' }, status: 200 }
    },
  )
  const older = deliver(named(3), never)
  await waitFor(() => calledMs.length === 1, { what: 'the first request' })
  // It opens the request that the third event of the older call makes full.
  const younger = deliver(named(1), never)
  answered.resolve()
  expect(await Promise.all([older, younger])).toEqual([Array(3).fill(DELIVERED), [DELIVERED]])
  expect(calledMs).toEqual([calledMs[0], calledMs[0]])
})
