import { InMemorySpanExporter, SimpleSpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace'
import * as conventions from '@opentelemetry/semantic-conventions/incubating'
import { afterEach, expect, test } from 'vitest'
import type { Delivery } from '../../../src/model/delivery.ts'
import type { KubeEvent } from '../../../src/model/event.ts'
import type { Attempted } from '../../../src/observe/trace.ts'
import { attributesOf } from '../../../src/observe/tracing/attributes.ts'
import { createPipelineTracer } from '../../../src/observe/tracing/pipeline-tracer.ts'
import type { Logger, Outcome } from '../../../src/sink/index.ts'
import { messageOf } from '../../../src/sink/testkit/messages.ts'
import { headerFor, SOURCE } from '../../store/objects.ts'

const exporter = new InMemorySpanExporter()
const provider = new TracerProvider({ spanProcessors: [new SimpleSpanProcessor({ exporter })] })
afterEach(() => exporter.reset())

const told: object[] = []
const log: Logger = {
  debug() {},
  info() {},
  warn() {},
  error: (fields) => void told.push(fields),
}
const tracer = createPipelineTracer(provider.getTracer('test'), log)
const DELIVERED: Outcome = { kind: 'delivered' }

const TRACE = { traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01' }

function deliveryOf(name: string, trace?: Delivery['trace'] | 'none'): Attempted {
  const event = { ...headerFor(name, '1', 'ADDED', `uid-${name}`), time: '2026-01-01T00:00:00.000Z' }
  const delivery: Delivery = { sink: 'hook', rule: 'all', event, objectJson: Buffer.from('{}') }
  return { delivery: trace === 'none' ? delivery : { ...delivery, trace: trace ?? TRACE }, tries: 0 }
}

const spans = () => exporter.getFinishedSpans()
const resultsOf = (name: string) =>
  spans()
    .filter((span) => span.name === name)
    .map(({ attributes }) => [attributes['kubeherald.result'], attributes['error.type']])

test('the header that crosses the queue and goes to peers is that of W3C Trace Context, byte for byte', () => {
  const state = { ...TRACE, tracestate: 'vendor=a:b,other=1' }
  using attempt = tracer.attempt('hook', 'hook/3', [deliveryOf('web', state)])
  const { trace } = attempt?.traced(0, messageOf()) ?? {}
  attempt?.answered([DELIVERED])
  const deliver = spans().find(({ name }) => name === 'deliver hook')
  expect(trace).toEqual({
    traceparent: `00-0af7651916cd43dd8448eb211c80319c-${deliver?.spanContext().spanId}-01`,
    tracestate: 'vendor=a:b,other=1',
  })
})

test('a traced message has all that a sink reads of the message', () => {
  const over = { kind: 'resolved', since: 'a', at: 'b', why: 'ended' } as const
  const marks = { replayed: true, truncated: true, severity: 'error', labels: { team: 'pay' } } as const
  const parts = { notice: over, suppressed: { count: 2, since: 'a' }, logs: { previous: false, text: 'x' } }
  const message = { ...messageOf({ ...marks, ...parts }), order: 'group' }
  using attempt = tracer.attempt('hook', 'hook/3', [deliveryOf('web')])
  const traced = attempt?.traced(0, message)
  for (const [name, value] of Object.entries(message))
    expect([name, traced?.[name as keyof typeof traced]]).toEqual([name, value])
})

test.each([
  ['no context', 'none' as const],
  ['an unsampled one', { traceparent: TRACE.traceparent.replace(/01$/, '00') }],
  ['one that cannot be read', { traceparent: '00-xyz-01' }],
  ['one of zeros', { traceparent: `00-${'0'.repeat(32)}-${'0'.repeat(16)}-01` }],
])('a delivery with %s is not traced, and its message has no context', (_, trace) => {
  expect(tracer.attempt('hook', 'hook/3', [deliveryOf('web', trace)])).toBeUndefined()
  using attempt = tracer.attempt('hook', 'hook/3', [deliveryOf('a', trace), deliveryOf('b')])
  const message = messageOf()
  expect(attempt?.traced(0, message)).toBe(message)
  expect(attempt?.traced(1, message).trace).toBeDefined()
})

test('what expired behind a failing one is an error of its own trace, also when it was not tried', () => {
  const [tried, waited] = [deliveryOf('a'), deliveryOf('b')]
  {
    using attempt = tracer.attempt('hook', 'hook/3', [tried])
    attempt?.traced(0, messageOf())
    attempt?.answered([{ kind: 'retry', reason: 'network', detail: 'refused', scope: 'sink' }])
    const dead = [tried, waited].map((item) => ({ item, reason: 'expired' as const, detail: 'too long' }))
    attempt?.settled({ delivered: [], dead })
  }
  expect(resultsOf('process hook')).toEqual([
    ['dead-letter', 'expired'],
    ['dead-letter', 'expired'],
  ])
})

test('what waits behind an earlier delivery of its object is no error: it was not sent', () => {
  const items = [deliveryOf('a'), deliveryOf('a'), deliveryOf('b')]
  const refused: Outcome = { kind: 'retry', reason: 'network', detail: 'refused', scope: 'event' }
  {
    using attempt = tracer.attempt('hook', 'hook/3', items)
    for (const place of items.keys()) attempt?.traced(place, messageOf())
    attempt?.answered([refused, refused, DELIVERED])
    attempt?.settled({ delivered: items.slice(2), dead: [] })
  }
  const results = [
    ['delivered', undefined],
    ['retry', 'network'],
    ['held', undefined],
  ]
  expect(resultsOf('process hook')).toEqual(results)
})

test('what could not be settled is an error, for it comes again', () => {
  {
    using attempt = tracer.attempt('hook', 'hook/3', [deliveryOf('a')])
    attempt?.traced(0, messageOf())
    attempt?.answered([DELIVERED])
  }
  expect(resultsOf('process hook')).toEqual([['retry', 'unsettled']])
  expect(resultsOf('settle')).toEqual([])
})

test('a template that fails is an error of its hop, without what stands in URLs', () => {
  using attempt = tracer.attempt('hook', 'hook/3', [deliveryOf('a')])
  const message = attempt?.traced(
    0,
    messageOf({
      content: () => {
        throw new Error('of https://user:pass@host/?token=1')
      },
    }),
  )
  expect(() => message?.content).toThrow()
  const [render] = spans()
  expect(render).toMatchObject({ name: 'render', attributes: { 'error.type': 'render' } })
  expect(render?.status.message).toBe('of https://[redacted]@host/?[redacted]')
})

test('a traced message has all that the message has', () => {
  using attempt = tracer.attempt('hook', 'hook/3', [deliveryOf('a')])
  const message = messageOf({ attempt: 3, route: { channel: '#shop' } })
  const traced = attempt?.traced(0, message)
  for (const key of Object.keys(message) as (keyof typeof message)[])
    expect(traced?.[key]).toEqual(message[key])
})

test('a commit that is decided again leaves the spans of the last decision alone', () => {
  const transition = {
    ...{ type: 'ADDED' as const, uid: 'u', resourceVersion: '1', namespace: 'default', name: 'web' },
    ...{ labelsJson: '{}', observedAtMs: Date.now(), synthesized: false },
  }
  tracer.commit(SOURCE).change(transition)
  const again = tracer.commit(SOURCE)
  again.change(transition)?.malformed()
  again.committed()
  expect(resultsOf('watch configmaps')).toEqual([['malformed', 'malformed']])
})

test('a fault of tracing costs spans, never an event, and is told once', () => {
  const broken = createPipelineTracer(
    {
      startSpan() {
        throw new Error('broken')
      },
    } as never,
    log,
  )
  const commit = broken.commit(SOURCE)
  expect(commit.change({ observedAtMs: 1 } as never)).toBeUndefined()
  expect(() => commit.committed()).not.toThrow()
  expect(broken.attempt('hook', 'hook/3', [deliveryOf('a')])).toBeUndefined()
  expect(told).toHaveLength(1)
})

test('attributes have the names of the conventions, also for what an Event regards', () => {
  const known = new Set(Object.values(conventions).filter((it) => typeof it === 'string'))
  const kinds = [
    'v1/Pod v1/Node v1/Service v1/ReplicationController v1/ResourceQuota v1/PersistentVolume v1/Namespace',
    'v1/PersistentVolumeClaim apps/v1/Deployment apps/v1/ReplicaSet apps/v1/StatefulSet apps/v1/DaemonSet',
    'batch/v1/Job batch/v1/CronJob autoscaling/v2/HorizontalPodAutoscaler',
  ]
  const kubeEvent = (regarding: object) =>
    ({ type: 'Warning', reason: 'BackOff', message: 'SECRET', count: 1, regarding }) as KubeEvent
  for (const word of kinds.join(' ').split(' ')) {
    const [kind = '', ...version] = word.split('/').reverse()
    const regarding = { apiVersion: version.reverse().join('/'), kind, name: 'n', uid: 'u' }
    const header = { ...headerFor('ev', '1', 'ADDED', 'x'), apiVersion: 'v1', kind: 'Event' }
    const attributes = attributesOf({ ...header, event: kubeEvent(regarding) })
    const names = Object.keys(attributes).filter((it) => it.startsWith('k8s.'))
    expect(names.length, word).toBe(kind === 'Namespace' ? 2 : 4)
    for (const name of names) expect(known, word).toContain(name)
    expect(JSON.stringify(attributes)).not.toContain('SECRET')
  }
  const custom = attributesOf({
    ...headerFor('db', '1', 'ADDED', 'x'),
    apiVersion: 'example.com/v1',
    kind: 'Pod',
  })
  expect(Object.keys(custom).filter((it) => it.startsWith('k8s.'))).toEqual([
    'k8s.cluster.name',
    'k8s.namespace.name',
  ])
})

test('what somebody wrote into an Event makes no span larger than names do', () => {
  const huge = `${'x'.repeat(255)}😀${'x'.repeat(1_000_000)}`
  const header = { ...headerFor('ev', '1', 'ADDED', 'x'), apiVersion: 'v1', kind: 'Event' }
  const regarding = { apiVersion: 'v1', kind: 'Pod', namespace: huge, name: huge, uid: huge, fieldPath: huge }
  const shapes = [regarding, { ...regarding, kind: huge, apiVersion: huge }]
  for (const it of shapes) {
    const event: KubeEvent = { type: huge, reason: huge, message: huge, count: 1, regarding: it }
    const attributes = attributesOf({ ...header, event })
    expect(attributes['kubeherald.event.reason']).toBe(`${'x'.repeat(255)}\ufffd`)
    for (const [key, value] of Object.entries(attributes)) expect(String(value).length, key).toBeLessThan(300)
  }
})
