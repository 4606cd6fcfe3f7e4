import { expect, test } from 'vitest'
import type { ExportedSpan } from '../../servers/otlp.ts'
import { type WaitOptions, waitFor } from '../../wait-for.ts'
import { startTracedBed, treeOf } from './bed.ts'

/** The whole line in two processes, and what a collector gets of it. */

/** As two processes may take on a busy machine. */
const PATIENCE_MS = 60_000
const soon = (condition: () => unknown, what: WaitOptions['what']) =>
  waitFor(condition, { timeoutMs: PATIENCE_MS, what })

const named = (spans: readonly ExportedSpan[], name: string) => spans.filter((it) => it.name === name)
const one = (spans: readonly ExportedSpan[], name: string, where: object = {}) => {
  const found = named(spans, name).filter((it) =>
    Object.entries(where).every(([key, value]) => it.attributes[key] === value),
  )
  expect(found, `${name} ${JSON.stringify(where)}`).toHaveLength(1)
  return found[0] as ExportedSpan
}
const parentOf = ({ headers }: { headers: Record<string, string | string[] | undefined> }) => {
  const match = /^00-([0-9a-f]{32})-([0-9a-f]{16})-01$/.exec(String(headers['traceparent']))
  return { traceId: match?.[1], spanId: match?.[2] }
}

const TREE = [
  'watch configmaps > commit configmaps',
  'watch configmaps > match',
  'watch configmaps > send hook > process hook > deliver hook > render',
  'watch configmaps > send hook > process hook > settle',
]

test('one change is one trace over two processes, and the webhook may go on from it', async () => {
  await using bed = await startTracedBed({ env: { OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment=test' } })
  bed.make('web')
  await bed.spans((spans) => named(spans, 'watch configmaps').length === 1, 'the side before the queue')
  await bed.deliver({ OTEL_SERVICE_NAME: 'deliverer' })
  const spans = await bed.spans((all) => named(all, 'process hook').length === 1, 'the side behind it')
  expect(bed.otlp.faults).toEqual([])
  const root = one(spans, 'watch configmaps')
  expect(new Set(spans.map(({ traceId }) => traceId))).toEqual(new Set([root.traceId]))
  expect(treeOf(spans, root.traceId)).toEqual(TREE)
  expect(spans.map(({ name, kind }) => [name, kind]).sort()).toEqual([
    ['commit configmaps', 'CLIENT'],
    ['deliver hook', 'CLIENT'],
    ['match', 'INTERNAL'],
    ['process hook', 'CONSUMER'],
    ['render', 'INTERNAL'],
    ['send hook', 'PRODUCER'],
    ['settle', 'CLIENT'],
    ['watch configmaps', 'CONSUMER'],
  ])
  expect(root.attributes).toMatchObject({
    'k8s.cluster.name': 'prod-eu',
    'k8s.namespace.name': 'default',
    'kubeherald.object.kind': 'ConfigMap',
    'kubeherald.object.name': 'web',
    'kubeherald.change.type': 'ADDED',
    'kubeherald.result': 'matched',
    'kubeherald.rules': ['all'],
    'kubeherald.sinks': ['hook'],
  })
  const process = one(spans, 'process hook')
  expect(process.attributes).toMatchObject({
    'messaging.system.name': 'redis',
    'messaging.operation.type': 'process',
    'messaging.destination.name': 'hook',
    'messaging.message.id': root.attributes['kubeherald.change.id'],
    'kubeherald.result': 'delivered',
  })
  expect(root.resource).toMatchObject({ 'service.name': 'kubeherald', 'deployment.environment': 'test' })
  expect(process.resource).toMatchObject({ 'service.name': 'deliverer', 'deployment.environment': 'test' })
  expect(root.resource['service.instance.id']).not.toBe(process.resource['service.instance.id'])
  // What waited in the lane lies between the two.
  expect(process.startMs).toBeGreaterThan(one(spans, 'send hook').endMs)
  const { traceId, spanId } = one(spans, 'deliver hook')
  expect(bed.hook.requests.map(parentOf)).toEqual([{ traceId, spanId }])
  expect(spans.every(({ error }) => error === undefined)).toBe(true)

  // What no rule matches, and what a rule drops, is a trace without deliveries.
  bed.make('boring', 'noise')
  await bed.spans((all) => named(all, 'watch configmaps').length === 3, 'both')
  const resultOf = (name: string) =>
    one(bed.otlp.spans, 'watch configmaps', { 'kubeherald.object.name': name }).attributes[
      'kubeherald.result'
    ]
  expect([resultOf('boring'), resultOf('noise')]).toEqual(['unmatched', 'dropped'])
  expect(named(bed.otlp.spans, 'send hook')).toHaveLength(1)
})

test('each attempt is a span of the same trace, also in OTLP/JSON; a dead letter is an error with its reason', async () => {
  await using bed = await startTracedBed({
    env: { OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json', OTEL_EXPORTER_OTLP_HEADERS: 'x-api-key=t0p%20secret' },
  })
  let answers = [503, 400]
  bed.hook.answer(() => ({ status: answers.shift() ?? 200, body: 'secret of the peer' }))
  await bed.deliver()
  bed.make('web')
  const spans = await bed.spans((all) => named(all, 'process hook').length === 2, 'two attempts')
  const root = one(spans, 'watch configmaps')
  const retried = one(spans, 'process hook', { 'kubeherald.result': 'retry' })
  const dead = one(spans, 'process hook', { 'kubeherald.result': 'dead-letter' })
  const send = one(spans, 'send hook')
  for (const attempt of [retried, dead])
    expect(attempt).toMatchObject({ traceId: root.traceId, parentSpanId: send.spanId })
  expect(retried.attributes['error.type']).toBe('server-error')
  expect(dead.attributes['error.type']).toBe('rejected')
  expect(dead.error).toMatch(/400/)
  // Each attempt has a context of its own.
  const parents = bed.hook.requests.map((request) => parentOf(request).spanId)
  expect(parents.sort()).toEqual(
    named(spans, 'deliver hook')
      .map(({ spanId }) => spanId)
      .sort(),
  )

  // One that is put back goes on in its trace.
  answers = []
  const [id] = (await bed.watching.command('dead-letters', 'list')).stdout.match(/\d{13}-\d+/) ?? []
  await bed.watching.command('dead-letters', 'retry', id ?? '')
  await bed.spans((all) => named(all, 'process hook').length === 3, 'the third attempt')
  const replay = one(bed.otlp.spans, 'process hook', { 'kubeherald.result': 'delivered' })
  expect(replay).toMatchObject({ traceId: root.traceId, parentSpanId: send.spanId })
  expect(replay.attributes['kubeherald.delivery.replay']).toBe(true)
  expect(new Set(bed.otlp.headers.map((it) => it['x-api-key']))).toEqual(new Set(['t0p secret']))
  expect(bed.watching.log()).not.toContain('t0p')
  expect(JSON.stringify(bed.otlp.spans)).not.toContain('t0ken')
  expect(bed.otlp.faults).toEqual([])
})

test('changes of one commit, and deliveries of one batch, are linked both ways; a stop exports what is left', async () => {
  await using bed = await startTracedBed({
    env: { OTEL_BSP_SCHEDULE_DELAY: '60000' },
    options: ', format: batch',
  })
  const pending = async () => (await bed.watching.status()).ledger.sinks.hook?.pending
  bed.make('a', 'a', 'a', 'b', 'b', 'b')
  await soon(async () => (await pending()) === 6, 'the side before the queue')
  const delivering = await bed.deliver()
  await soon(async () => (await pending()) === 0, 'the side behind it')
  expect(await Promise.all([bed.watching.stop(), delivering.stop()])).toEqual([0, 0])
  const { spans } = bed.otlp
  expect(named(spans, 'process hook')).toHaveLength(6)
  const roots = named(spans, 'watch configmaps')
  expect(new Set(roots.map(({ traceId }) => traceId)).size).toBe(6)
  const commit = named(spans, 'commit configmaps').find(({ links }) => links.length > 1) as ExportedSpan
  const members = roots.filter(({ links }) => links.some(({ spanId }) => spanId === commit.spanId))
  expect(members.map(({ spanId }) => spanId).sort()).toEqual(commit.links.map(({ spanId }) => spanId).sort())
  const batch = named(spans, 'deliver batch hook').find(({ links }) => links.length > 1) as ExportedSpan
  expect(batch.attributes['messaging.batch.message_count']).toBe(batch.links.length)
  for (const { traceId, spanId } of batch.links) {
    const deliver = spans.find((it) => it.spanId === spanId)
    expect(deliver).toMatchObject({ name: 'deliver hook', traceId })
    expect(deliver?.links).toEqual([{ traceId: batch.traceId, spanId: batch.spanId }])
  }
  // A request has one parent: the first of its events.
  const delivers = named(spans, 'deliver hook').map(({ traceId, spanId }) => ({ traceId, spanId }))
  for (const request of bed.hook.requests) expect(delivers).toContainEqual(parentOf(request))
  expect(bed.hook.requests.length).toBeLessThan(6)
})

test('what is not sampled leaves no span and sends no traceparent', async () => {
  await using bed = await startTracedBed({
    env: { OTEL_TRACES_SAMPLER: 'parentbased_traceidratio', OTEL_TRACES_SAMPLER_ARG: '0' },
  })
  const delivering = await bed.deliver()
  bed.make('a', 'b')
  await soon(() => bed.hook.requests.length === 2, 'both')
  for (const { headers } of bed.hook.requests) expect(headers).not.toHaveProperty('traceparent')
  await Promise.all([bed.watching.stop(), delivering.stop()])
  expect(bed.otlp.headers).toEqual([])
})

test('a collector that refuses, and then hangs, takes nothing from the line, nor from its stop', async () => {
  await using bed = await startTracedBed({
    env: {
      OTEL_BSP_MAX_QUEUE_SIZE: '20',
      OTEL_BSP_MAX_EXPORT_BATCH_SIZE: '10',
      OTEL_EXPORTER_OTLP_TIMEOUT: '200',
    },
  })
  bed.otlp.answer(503)
  const delivering = await bed.deliver()
  const names = Array.from({ length: 200 }, (_, i) => `web-${i}`)
  bed.make(...names)
  await soon(() => bed.hook.requests.length === 200, 'all deliveries')
  await soon(
    () => /traces cannot be exported/.test(bed.watching.log()),
    () => `a warning: ${bed.watching.log()}`,
  )
  bed.otlp.answer(0)
  bed.make('web')
  await soon(() => bed.hook.requests.length === 201, 'one more')
  const { ledger } = await bed.watching.status()
  expect(ledger.balanced).toBe(true)
  // Else it would be 1: a stop that takes too long is cut off.
  expect(await Promise.all([bed.watching.stop(), delivering.stop()])).toEqual([0, 0])
  expect(bed.watching.log().match(/traces cannot be exported/g)).toHaveLength(1)
})
