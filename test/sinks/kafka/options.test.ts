import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { KafkaConfig, KafkaRoute } from '../../../sinks/kafka/config.ts'
import { outcomeOfFault, rootCause } from '../../../sinks/kafka/errors.ts'
import { destinationOf, laneOf } from '../../../sinks/kafka/format.ts'
import { partitionOf } from '../../../sinks/kafka/kafkajs.ts'
import { loadConfig } from '../../../src/config/load.ts'
import { builtInSinks } from '../../../src/sink-types.ts'
import { message, type Options } from './bed.ts'

const brokers = ['kafka:9092']
const configOf = (options: Partial<Options> = {}) =>
  KafkaConfig.parse({ brokers, topic: 'events', ...options })
const problemsOf = (options: object) =>
  KafkaConfig.safeParse({ brokers, topic: 'events', ...options }).error?.issues.map(
    ({ message }) => message,
  ) ?? []

test("the README's first example is a configuration", async () => {
  const readme = readFileSync(new URL('../../../sinks/kafka/README.md', import.meta.url), 'utf8')
  const sinks = /```yaml\n([\s\S]*?)```/.exec(readme)?.[1] ?? ''
  const text = `cluster: prod\nwatch: [{ kind: Pod }]\n${sinks}rules: [{ name: all, to: [bus] }]\n`
  const loaded = await loadConfig({
    file: 'kubeherald.yaml',
    text,
    env: { KAFKA_PASSWORD: 'secret' },
    readFile: () => '-----BEGIN CERTIFICATE-----',
    sinkTypes: builtInSinks,
  } as never)
  expect(loaded).toMatchObject({ ok: true })
})

const OAUTH = {
  mechanism: 'oauthbearer',
  tokenUrl: 'http://login/token',
  clientId: 'me',
  clientSecret: 's3cret',
}

test.each<[object, string]>([
  [{ brokers: ['kafka'] }, 'must be host:port, such as kafka-0:9092'],
  [{ topic: 'a b' }, 'is not a topic name: it has other characters'],
  [{ topic: 'k8s/{{ namespace }}' }, 'is not a topic name: "/" is always in it'],
  [{ topic: '{{ "}}" }} x' }, 'is not a topic name: " " is always in it'],
  [{ state: true, format: 'structured' }, 'structured cannot be used with state: true'],
  [{ compression: 'snappy' }, 'snappy is not supported; gzip'],
  [{ timeout: '40s' }, 'must be at most 25s'],
  [{ timeout: 'soon' }, 'must be a duration from 100ms to 25s, such as 10s'],
  [{ tls: { ca: '/etc/ca.pem' } }, 'must be PEM text'],
  [{ tls: { cert: '-----BEGIN X' } }, 'cert and key belong together'],
  [{ sasl: { mechanism: 'oauthbearer' } }, 'needs either token, or tokenUrl'],
  [{ sasl: { ...OAUTH, tokenUrl: 'http://169.254.169.254/token' } }, 'is a link-local or cloud metadata'],
  [{ sasl: { ...OAUTH, tokenCa: '-----BEGIN X' } }, 'is for a tokenUrl with https only'],
  [{ sasl: { ...OAUTH, tokenUrl: 'login' } }, 'Invalid URL'],
])('%j is told what is wrong', (options, problem) => {
  expect(problemsOf(options)).toEqual([expect.stringContaining(problem)])
})

test('a topic or key that cannot be, made from an object, is refused with what it was', () => {
  const of = (options: Partial<Options>, object: object) =>
    destinationOf(message({ object }), configOf(options))
  expect(of({ topic: 'k8s.{{ object.label }}' }, { label: 'a/b\u0000' })).toEqual({
    kind: 'rejected',
    reason: 'config',
    detail: expect.stringContaining('"k8s.a/b\\u0000" is not a topic name'),
  })
  expect(of({ topic: '{{ object.label }}' }, {})).toMatchObject({ kind: 'rejected', reason: 'config' })
  expect(of({ key: '{{ object.label }}' }, {})).toMatchObject({ kind: 'rejected', reason: 'config' })
})

test.each([
  'k8s.{{ namespace }}',
  ' {{ namespace }} ',
  'k8s. {{- namespace -}} .x',
  '{{ namespace | replace: "}}", "/" }}',
  '{% if namespace %}a{% else %}/{% endif %}',
])('the topic %s may be one', (topic) => {
  expect(problemsOf({ topic })).toEqual([])
})

test('a huge key is bounded, and keys that differ at their end stay different', () => {
  const keyOf = (label: string) => {
    const place = destinationOf(message({ object: { label } }), configOf({ key: '{{ object.label }}' }))
    return 'key' in place ? place.key : ''
  }
  expect(Buffer.byteLength(keyOf('é'.repeat(100_000)))).toBeLessThanOrEqual(512)
  expect(keyOf('x'.repeat(600))).toBe(keyOf('x'.repeat(600)))
  expect(keyOf(`${'x'.repeat(600)}a`)).not.toBe(keyOf(`${'x'.repeat(600)}b`))
})

test('without topic anywhere, deliveries wait for the configuration', () => {
  expect(destinationOf(message(), KafkaConfig.parse({ brokers }))).toMatchObject({
    kind: 'retry',
    reason: 'config',
    scope: 'target',
  })
})

test('a retried dead letter puts no old state over a newer one; the end of an object stays an end', () => {
  const states = configOf({ state: true })
  const placeOf = (type: 'MODIFIED' | 'DELETED', config = states) =>
    destinationOf(message({ type, retried: true }), config)
  expect(placeOf('MODIFIED')).toMatchObject({
    kind: 'rejected',
    detail: expect.stringContaining('--snapshot'),
  })
  expect(placeOf('DELETED')).toMatchObject({ topic: 'events', state: true })
  expect(placeOf('MODIFIED', configOf({}))).toMatchObject({ topic: 'events', state: false })
  expect(destinationOf(message(), states)).toMatchObject({ topic: 'events', state: true })
})

test('lanes are by topic and key: one key, one lane, also for an object that was created anew', () => {
  const config = configOf({ state: true, key: '{{ namespace }}/{{ name }}' })
  for (const it of [config, configOf({ state: true }), configOf({})]) {
    const [deleted, recreated] = ['first', 'second'].map((uid) => laneOf(message({ name: 'web', uid }), it))
    expect(deleted).toBe(recreated)
  }
  expect(laneOf(message({ route: { topic: 'other' } }), config)).toMatch(/^other\.\d+$/)
  const lanes = Array.from({ length: 200 }, (_, i) => laneOf(message({ name: `n-${i}` }), config))
  expect(new Set(lanes).size).toBe(16)
})

test('a route is complete when it is empty', () => {
  expect(KafkaRoute.parse({})).toEqual({})
})

/** From the tests of Kafka's own Utils.murmur2. */
test.each<[string, number]>([
  ['21', -973932308],
  ['foobar', -790332482],
  ['a-little-bit-long-string', -985981536],
  ['a-little-bit-longer-string', -1486304829],
  ['lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8', -58897971],
])('the partition of %s follows from its murmur2, %i', (key, hash) => {
  for (const partitions of [1, 3, 7, 100])
    expect(partitionOf(Buffer.from(key), partitions)).toBe((hash & 0x7fffffff) % partitions)
})

test('what kafkajs calls not retriable is judged by its root: a broker that is down is an outage', () => {
  const root = Object.assign(new Error('connect ECONNREFUSED'), {
    name: 'KafkaJSConnectionError',
    retriable: true,
  })
  const lie = Object.assign(new Error('x', { cause: new Error('y', { cause: root }) }), {
    name: 'KafkaJSNonRetriableError',
    retriable: false,
  })
  expect(rootCause(lie)).toBe(root)
  expect(outcomeOfFault(lie, (text) => text)).toMatchObject({
    kind: 'retry',
    reason: 'network',
    scope: 'sink',
  })
})
