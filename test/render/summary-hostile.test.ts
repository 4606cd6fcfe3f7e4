import { expect, test } from 'vitest'
import type { EventHeader, FieldChange, KubeEvent } from '../../src/model/event.ts'
import { type SummaryInput, summarize } from '../../src/render/summary/index.ts'
import type { Summary } from '../../src/sink/index.ts'
import { leastCpuMs } from '../cpu-time.ts'
import { seeded } from '../seeded-random.ts'
import { anyObject, anyText, anyValue, type Chance, pick } from './random-objects.ts'

const KINDS = [
  ...['v1 Pod', 'v1 Node', 'v1 Namespace', 'v1 ConfigMap', 'v1 Secret', 'v1 Service', 'v1 Event'],
  ...['v1 PersistentVolumeClaim', 'v1 PersistentVolume', 'apps/v1 Deployment', 'apps/v1 StatefulSet'],
  ...['apps/v1 DaemonSet', 'apps/v1 ReplicaSet', 'batch/v1 Job', 'batch/v1 CronJob'],
  ...['autoscaling/v2 HorizontalPodAutoscaler', 'networking.k8s.io/v1 Ingress'],
  ...['discovery.k8s.io/v1 EndpointSlice', 'gateway.networking.k8s.io/v1 Gateway'],
  ...['apiextensions.k8s.io/v1 CustomResourceDefinition', 'example.com/v1 constructor'],
]

const TIME = '2026-11-21T09:14:07.312Z'

function header(kind: string, parts: Partial<EventHeader> = {}): EventHeader {
  const [apiVersion = '', name = ''] = kind.split(' ')
  const identity = { id: 'i', cluster: 'c', path: '/', uid: 'u', resourceVersion: '1', time: TIME }
  return { ...identity, type: 'MODIFIED', apiVersion, kind: name, namespace: 'shop', name: 'web', ...parts }
}

function randomTold(chance: Chance, kind: string): SummaryInput {
  const changes = Array.from(
    { length: Math.floor(chance() * 6) },
    (): FieldChange => ({
      path: pick(chance, PATHS),
      old: anyValue(chance, 2),
      new: anyValue(chance, 2),
    }),
  )
  const event = header(kind, {
    type: pick(chance, ['ADDED', 'MODIFIED', 'DELETED'] as const),
    name: anyText(chance),
    ...(chance() < 0.5 && { namespace: anyText(chance) }),
    ...(chance() < 0.5 && { changes }),
    ...(kind === 'v1 Event' && chance() < 0.8 && { event: anyObject(chance) as unknown as KubeEvent }),
  })
  return { event, object: anyObject(chance) }
}

const PATHS = [
  ...['spec', 'status', 'metadata', 'data', 'data.a', 'data["a.b"]', 'status.phase', 'spec.replicas', ''],
  ...['spec.template.spec.containers[name=app].image', 'status.conditions[type=Ready].status'],
  ...['status.conditions[type=Ready]', 'status.readyReplicas', 'spec[', 'status.containerStatuses[name=app]'],
]

const CONTROLS = /[\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/

/** One assertion for all: there are thousands of summaries to check. */
function expectBounded(summary: Summary): void {
  expect(faultsOf(summary)).toEqual([])
}

function faultsOf({ severity, title, text, about, fields, quote, command }: Summary): string[] {
  const lines = [
    title,
    text,
    command,
    about.kind,
    about.name,
    ...fields.flatMap((it) => [it.title, it.value]),
  ]
  const wrong = {
    severity: !['error', 'warning', 'info', 'resolved'].includes(severity),
    line: lines.some((it) => typeof it !== 'string' || CONTROLS.test(it) || !it.isWellFormed()),
    title: title.length > 200 || /\bundefined\b|\bNaN\b|\[object /.test(title),
    text: text.length > 500,
    fields: fields.length > 8 || fields.some(({ value }) => value === '' || value.length > 200),
    quote: quote.length > 4_000 || !quote.isWellFormed(),
    command: command.length > 2_500,
  }
  return Object.entries(wrong).flatMap(([part, is]) => (is ? [`${part} of ${title}`] : []))
}

test.each(KINDS)('whatever a %s holds, its summary is bounded, on one line, and never throws', (kind) => {
  const chance = seeded(kind.length * 7_919 + kind.charCodeAt(kind.length - 1))
  const faults = Array.from({ length: 250 }, () => faultsOf(summarize(randomTold(chance, kind)))).flat()
  expect(faults).toEqual([])
})

test.each(KINDS)('of a %s that only metadata is known of, something is said', (kind) => {
  for (const type of ['ADDED', 'MODIFIED', 'DELETED'] as const) {
    for (const object of [{}, { metadata: { name: 'web' } }, null as unknown as Record<string, unknown>]) {
      const summary = summarize({ event: header(kind, { type }), object })
      expectBounded(summary)
      expect(summary.title).toMatch(/ shop\/web (?:was created|was deleted|changed|\S)/)
    }
  }
})

test('a message of a megabyte costs no more than a moment, and is cut', async () => {
  for (const part of [' ', 'a ', ': ', '"', 'é😀', 'image "', 'failed to get a: ', '\u0000']) {
    const message = part.repeat(1_000_000 / part.length)
    for (const reason of [
      'BackOff',
      'Failed',
      'FailedMount',
      'Unhealthy',
      'FailedScheduling',
      'SawCompletedJob',
    ]) {
      const event = { type: 'Warning', reason, message, count: 2, regarding: { kind: 'Pod', name: 'web' } }
      const run = () => expectBounded(summarize({ event: header('v1 Event', { event }), object: {} }))
      expect(await leastCpuMs(2_000, run)).toBeLessThan(2_000)
    }
  }
})

test('an object of a hundred thousand parts is not walked through', () => {
  const many = <T>(it: T): T[] => Array.from({ length: 100_000 }, () => it)
  const object = {
    metadata: { ownerReferences: many({ kind: 'x' }), finalizers: many('f'), labels: {} },
    spec: {
      containers: many({ name: 'a', image: 'b' }),
      ports: many({ port: 1 }),
      rules: many({ host: 'a' }),
    },
    status: {
      conditions: many({ type: 'Ready', status: 'False' }),
      containerStatuses: many({ name: 'a', restartCount: 3 }),
    },
  }
  for (const kind of KINDS) expectBounded(summarize({ event: header(kind), object }))
})

test('what a Secret holds is in no part of its summary', () => {
  const event = header('v1 Secret', {
    changes: [
      { path: 'data.password', old: 'aHVudGVyMg==', new: 'hunter3' },
      { path: 'data', old: { a: 'aHVudGVyMg==' }, new: { a: 'hunter3' } },
      { path: 'stringData["x.y"]', new: 'hunter3' },
    ],
  })
  const summary = summarize({
    event,
    object: { data: { password: 'hunter3' }, stringData: { 'x.y': 'hunter3' } },
  })
  expect(JSON.stringify(summary)).not.toMatch(/hunter3|aHVudGVyMg/)
  expect(summary.title).toBe('Secret shop/web changed: keys password, a; added key x.y')
})

test('what an environment variable is set to does not stand in a title', () => {
  const path = 'spec.template.spec.containers[name=app].env[name=DB_PASSWORD].value'
  const { title } = summarize({
    event: header('apps/v1 Deployment', { changes: [{ path, old: 'hunter2', new: 'hunter3' }] }),
    object: { status: {} },
  })
  expect(title).toBe('Deployment shop/web is rolling out a change: app: env DB_PASSWORD')
})

test.each([
  ["web'; reboot #", `kubectl -n shop describe pod 'web'\\''; reboot #'`],
  ['$(reboot)', `kubectl -n shop describe pod '$(reboot)'`],
  ['a\nb', `kubectl -n shop describe pod 'a b'`],
  ['--all', ''],
  ['x'.repeat(300), ''],
])('a pod named %j makes no other command', (name, command) => {
  expect(summarize({ event: header('v1 Pod', { name }), object: {} }).command).toBe(command)
})
