import { expect, test } from 'vitest'
import { readTraceSettings } from '../../../src/observe/tracing/environment.ts'

const ENDPOINT = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://collector:4318' }

test.each([
  ['nothing', {}, []],
  ['the service alone', { OTEL_SERVICE_NAME: 'kubeherald', OTEL_RESOURCE_ATTRIBUTES: 'a=b' }, []],
  ['an endpoint', ENDPOINT, ['otlp']],
  ['an endpoint for traces', { OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'https://c/v1/traces' }, ['otlp']],
  ['an empty endpoint', { OTEL_EXPORTER_OTLP_ENDPOINT: ' ' }, []],
  ['an endpoint for metrics', { OTEL_EXPORTER_OTLP_METRICS_ENDPOINT: 'http://collector:4318' }, []],
  ['otlp', { OTEL_TRACES_EXPORTER: 'otlp' }, ['otlp']],
  ['both', { OTEL_TRACES_EXPORTER: 'otlp, console' }, ['otlp', 'console']],
  ['none', { ...ENDPOINT, OTEL_TRACES_EXPORTER: 'none' }, []],
  ['disabled', { ...ENDPOINT, OTEL_SDK_DISABLED: 'TRUE' }, []],
])('%s in the environment', (_, env, exporters) => {
  expect(readTraceSettings(env)).toMatchObject({ exporters, problems: [] })
})

test('protocol, sampler and batches are as the environment says', () => {
  const settings = readTraceSettings({
    ...ENDPOINT,
    OTEL_EXPORTER_OTLP_PROTOCOL: 'http/protobuf',
    OTEL_EXPORTER_OTLP_TRACES_PROTOCOL: 'http/json',
    OTEL_TRACES_SAMPLER: 'parentbased_traceidratio',
    OTEL_TRACES_SAMPLER_ARG: '0.01',
    OTEL_BSP_SCHEDULE_DELAY: '1000',
    OTEL_BSP_MAX_QUEUE_SIZE: '4096',
    OTEL_BSP_MAX_EXPORT_BATCH_SIZE: '256',
    OTEL_BSP_EXPORT_TIMEOUT: '5000',
  })
  expect(settings).toEqual({
    exporters: ['otlp'],
    protocol: 'http/json',
    sampler: { name: 'parentbased_traceidratio', ratio: 0.01 },
    batch: {
      scheduledDelayMillis: 1000,
      maxQueueSize: 4096,
      maxExportBatchSize: 256,
      exportTimeoutMillis: 5000,
    },
    problems: [],
  })
  expect(readTraceSettings(ENDPOINT).sampler).toEqual({ name: 'parentbased_always_on', ratio: 1 })
})

test.each([
  [
    { OTEL_TRACES_EXPORTER: 'zipkin' },
    [],
    ['OTEL_TRACES_EXPORTER=zipkin is not known; write otlp, console or none'],
  ],
  [
    { ...ENDPOINT, OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc' },
    [],
    [
      "OTEL_EXPORTER_OTLP_PROTOCOL=grpc is not spoken: write http/protobuf, and the collector's port for HTTP (4318) in the endpoint",
    ],
  ],
  [
    { OTEL_EXPORTER_OTLP_ENDPOINT: 'collector:4317' },
    [],
    [
      'OTEL_EXPORTER_OTLP_ENDPOINT=collector:4317 is no http or https address; write http://collector.example:4318',
    ],
  ],
  [
    { OTEL_EXPORTER_OTLP_ENDPOINT: 'ftp://me:s3cret@collector/' },
    [],
    [
      'OTEL_EXPORTER_OTLP_ENDPOINT=ftp://[redacted]@collector/ is no http or https address; write http://collector.example:4318',
    ],
  ],
  [
    { ...ENDPOINT, OTEL_TRACES_SAMPLER: 'xray' },
    ['otlp'],
    [
      'OTEL_TRACES_SAMPLER=xray is not known; parentbased_always_on is used (always_on, always_off, traceidratio, parentbased_always_on, parentbased_always_off, parentbased_traceidratio)',
    ],
  ],
  [
    { ...ENDPOINT, OTEL_TRACES_SAMPLER: 'traceidratio', OTEL_TRACES_SAMPLER_ARG: '10%' },
    ['otlp'],
    ['OTEL_TRACES_SAMPLER_ARG=10% must be a number from 0 to 1; its default is used'],
  ],
  [
    { ...ENDPOINT, OTEL_BSP_MAX_QUEUE_SIZE: '-1' },
    ['otlp'],
    ['OTEL_BSP_MAX_QUEUE_SIZE=-1 must be a whole number above 0; its default is used'],
  ],
  [
    { ...ENDPOINT, OTEL_RESOURCE_ATTRIBUTES: 'a=b,team shop' },
    ['otlp'],
    [
      'OTEL_RESOURCE_ATTRIBUTES is ignored: "team shop" is not key=value, with "," and "=" inside of them as %2C and %3D',
    ],
  ],
])('%o is told, and no error', (env, exporters, problems) => {
  expect(readTraceSettings(env)).toMatchObject({ exporters, problems })
})
