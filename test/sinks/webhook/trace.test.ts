import { Webhook } from 'standardwebhooks'
import { expect, test } from 'vitest'
import webhook from '../../../sinks/webhook/index.ts'
import type { TraceContext } from '../../../src/sink/index.ts'
import { startReceiver } from '../../servers/receiver.ts'
import { messageOf, openSink } from '../bed.ts'

const SECRET = `whsec_${Buffer.from('a-secret-of-thirty-two-bytes-or-so').toString('base64')}`
const never = new AbortController().signal

const contextOf = (digit: string): TraceContext => ({
  traceparent: `00-${digit.repeat(32)}-${digit.repeat(16)}-01`,
  tracestate: `vendor=${digit}`,
})
const traced = (name: string, trace?: TraceContext) => messageOf({ name, ...(trace && { trace }) })

test.each([
  ['structured', { format: 'structured' }],
  ['binary', { format: 'binary' }],
  ['a preset', { preset: 'discord' }],
  ['a body of its own', { body: { name: '{{ name }}' } }],
])('%s: W3C Trace Context goes along, beside the signature, of each message its own', async (_, options) => {
  await using hook = await startReceiver()
  await using sink = await openSink(webhook, { url: hook.url, secret: SECRET, concurrency: 1, ...options })
  await sink.deliver([traced('a', contextOf('1')), traced('b', contextOf('2')), traced('c')], never)
  const sent = hook.requests.map(({ headers }) => ({
    traceparent: headers['traceparent'],
    tracestate: headers['tracestate'],
  }))
  expect(sent).toEqual([contextOf('1'), contextOf('2'), { traceparent: undefined, tracestate: undefined }])
  for (const { body, headers } of hook.requests)
    expect(() => new Webhook(SECRET).verify(body, headers as Record<string, string>)).not.toThrow()
})

test('a batch has the context of the first of its events that has one', async () => {
  await using hook = await startReceiver()
  await using sink = await openSink(webhook, { url: hook.url, format: 'batch' })
  await sink.deliver([traced('a'), traced('b', contextOf('1')), traced('c', contextOf('2'))], never)
  expect(hook.requests).toHaveLength(1)
  expect(hook.requests[0]?.headers).toMatchObject(contextOf('1'))
})

test('a context of the configuration comes before ours', async () => {
  await using hook = await startReceiver()
  const { traceparent } = contextOf('f')
  await using sink = await openSink(webhook, { url: hook.url, headers: { Traceparent: traceparent } })
  await sink.deliver([traced('a', contextOf('1'))], never)
  expect(hook.requests[0]?.headers).toMatchObject({ traceparent })
  expect(hook.requests[0]?.headers).not.toHaveProperty('tracestate')
})
