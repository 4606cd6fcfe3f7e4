import { InMemorySpanExporter, SimpleSpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace'
import { expect, test } from 'vitest'
import { ConsoleExporter, ReportingExporter } from '../../../src/observe/tracing/sdk.ts'
import { startTracing } from '../../../src/observe/tracing/tracing.ts'
import type { Logger } from '../../../src/sink/index.ts'

function keptLog(): Logger & { lines: string[] } {
  const lines: string[] = []
  const keep = (fields: object, message: string) =>
    void lines.push(`${message} ${Object.values(fields).join(' ')}`.trim())
  return { lines, debug() {}, info: keep, warn: keep, error: keep }
}

const start = (env: Record<string, string>, log: Logger) =>
  startTracing({ env, version: '1.0.0', instance: 'abc', log })

test('without a word in the environment nothing is said and nothing starts', async () => {
  const log = keptLog()
  expect(await start({}, log)).toBeUndefined()
  expect(log.lines).toEqual([])
})

test('what cannot be used is told, and the start goes on: without traces, or without that setting', async () => {
  const log = keptLog()
  expect(
    await start({ OTEL_TRACES_EXPORTER: 'otlp', OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc' }, log),
  ).toBeUndefined()
  const tracing = await start({ OTEL_TRACES_EXPORTER: 'console', OTEL_TRACES_SAMPLER: 'xray' }, log)
  await tracing?.close()
  expect(log.lines).toEqual([
    expect.stringMatching(/there are no traces OTEL_EXPORTER_OTLP_PROTOCOL=grpc is not spoken/),
    expect.stringMatching(/traces go on without it OTEL_TRACES_SAMPLER=xray/),
    expect.stringMatching(/^traces are on console/),
  ])
})

test('spans that are lost are told once, and once how many they were; an answer of the collector is not', async () => {
  const log = keptLog()
  let fault: Error | undefined = Object.assign(new Error('Unauthorized'), { code: 401, data: 's3cret' })
  const inner = new InMemorySpanExporter()
  inner.export = (_, done) => done(fault ? { code: 1, error: fault } : { code: 0 })
  const exporter = new ReportingExporter(inner, log)
  const send = (count: number) => exporter.export(Array(count).fill({}), () => {})
  send(10)
  send(5)
  fault = undefined
  send(1)
  send(1)
  expect(log.lines).toEqual([
    'traces cannot be exported; spans are lost, deliveries are not 401 Unauthorized',
    'traces are exported again 15',
  ])
})

test('on a console a span is a line of JSON', () => {
  let text = ''
  const exporter = new ConsoleExporter({ write: (line) => (text += line) })
  const provider = new TracerProvider({ spanProcessors: [new SimpleSpanProcessor({ exporter })] })
  const span = provider.getTracer('test').startSpan('watch pods', { startTime: 1_750_000_000_000 })
  span.setAttribute('k8s.pod.name', 'web\n1').end(1_750_000_000_005)
  expect(text.trim().split('\n')).toHaveLength(1)
  expect(JSON.parse(text)).toMatchObject({
    name: 'watch pods',
    traceId: span.spanContext().traceId,
    start: '2025-06-15T15:06:40.000Z',
    durationMs: 5,
    attributes: { 'k8s.pod.name': 'web\n1' },
  })
})

test('what stands in a span moves no cursor of a terminal and turns no text', () => {
  let text = ''
  const exporter = new ConsoleExporter({ write: (line) => (text += line) })
  const provider = new TracerProvider({ spanProcessors: [new SimpleSpanProcessor({ exporter })] })
  const reason = 'a\u009b2Jb\u202ec\u001b[0m'
  provider.getTracer('test').startSpan('match').setAttribute('kubeherald.event.reason', reason).end()
  expect(text).not.toMatch(/[\u001b\u009b\u202e]/)
  expect(JSON.parse(text).attributes).toEqual({ 'kubeherald.event.reason': reason })
})
