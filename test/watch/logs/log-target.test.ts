import { expect, test } from 'vitest'
import type { LogSettings } from '../../../src/model/delivery.ts'
import type { EventHeader, KubeEvent } from '../../../src/model/event.ts'
import { logTarget } from '../../../src/watch/logs/log-target.ts'

const SETTINGS: LogSettings = { lines: 20, maxBytes: 4_096 }
const HEADER: EventHeader = {
  id: 'c/u/1/MODIFIED',
  type: 'MODIFIED',
  cluster: 'test',
  apiVersion: 'v1',
  kind: 'Pod',
  path: '/api/v1/namespaces/shop/pods/web-1',
  namespace: 'shop',
  name: 'web-1',
  uid: 'u',
  resourceVersion: '1',
  time: '2026-01-01T00:00:00Z',
}

function ofPod(status: object, settings: Partial<LogSettings> = {}, header: Partial<EventHeader> = {}) {
  const pod = {
    metadata: { name: 'web-1' },
    spec: { containers: [{ name: 'first' }, { name: 'app' }] },
    status,
  }
  return logTarget({ ...HEADER, ...header }, Buffer.from(JSON.stringify(pod)), { ...SETTINGS, ...settings })
}

function ofEvent(
  regarding: KubeEvent['regarding'],
  { reason = 'BackOff', ...settings }: Partial<LogSettings> & { reason?: string } = {},
) {
  const event = { type: 'Warning', reason, message: '', count: 1, regarding }
  const header = { ...HEADER, kind: 'Event', name: 'web-1.17', event }
  return logTarget(header, Buffer.from('{}'), { ...SETTINGS, ...settings })
}

const ended = (exitCode: number) => ({ terminated: { exitCode } })
const waiting = (reason: string) => ({ waiting: { reason } })
const running = { running: {} }

test.each([
  [
    'one that waits after a crash',
    [
      { name: 'first', state: ended(1) },
      { name: 'app', state: waiting('CrashLoopBackOff'), lastState: ended(1) },
    ],
    'app',
    true,
  ],
  [
    'one that ended with an error',
    [
      { name: 'first', state: ended(0) },
      { name: 'app', state: ended(137) },
    ],
    'app',
    false,
  ],
  [
    'one that cannot start',
    [
      { name: 'first', state: running },
      { name: 'app', state: waiting('ErrImagePull') },
    ],
    'app',
    false,
  ],
  [
    'one that was restarted',
    [
      { name: 'first', state: running },
      { name: 'app', state: running, lastState: ended(1) },
    ],
    'app',
    true,
  ],
  ['else the first', [{ name: 'app', state: running }], 'first', false],
])('the container of a Pod is %s', (_, containerStatuses, container, previous) => {
  expect(ofPod({ containerStatuses })).toMatchObject({ container, previous })
})

test('init containers count, too', () => {
  const initContainerStatuses = [{ name: 'setup', state: ended(2) }]
  expect(ofPod({ initContainerStatuses })).toMatchObject({ container: 'setup' })
})

test('the rule may name container and run', () => {
  const containerStatuses = [{ name: 'app', state: waiting('CrashLoopBackOff'), lastState: ended(1) }]
  expect(ofPod({ containerStatuses }, { container: 'first' })).toMatchObject({
    container: 'first',
    previous: false,
  })
  expect(ofPod({ containerStatuses }, { previous: false })).toMatchObject({ previous: false, anyRun: false })
})

test('the container of an Event is in its field path', () => {
  const pod = { kind: 'Pod', namespace: 'shop', name: 'web-1' }
  expect(ofEvent({ ...pod, fieldPath: 'spec.containers{app}' })).toMatchObject({
    namespace: 'shop',
    pod: 'web-1',
    container: 'app',
    previous: true,
  })
  expect(ofEvent({ ...pod, fieldPath: 'spec.initContainers{setup}' })).toMatchObject({ container: 'setup' })
  expect(ofEvent(pod, { reason: 'Unhealthy' })).toMatchObject({ container: undefined, previous: false })
  expect(ofEvent({ ...pod, fieldPath: 'spec.containers{../..}' })).toMatchObject({ container: undefined })
})

test('an Event gets no log of another namespace, and no path of its own making', () => {
  expect(ofEvent({ kind: 'Pod', namespace: 'kube-system', name: 'web-1' })).toBeUndefined()
  for (const name of ['..', 'a/b', 'a?b', 'a%2fb', '', 'x'.repeat(300)])
    expect(ofEvent({ kind: 'Pod', namespace: 'shop', name })).toBeUndefined()
})

test('other objects have no logs', () => {
  expect(ofEvent({ kind: 'Deployment', namespace: 'shop', name: 'web' })).toBeUndefined()
  expect(ofPod({}, {}, { kind: 'Deployment', apiVersion: 'apps/v1' })).toBeUndefined()
  expect(ofPod({}, {}, { apiVersion: 'example.com/v1' })).toBeUndefined()
})

test.each([
  null,
  'text',
  [],
  { containerStatuses: 'x' },
  { containerStatuses: [null, 1, { name: {} }, { name: '../x' }] },
])('a status of any shape is read: %j', (status) => {
  expect(ofPod(status as object)).toMatchObject({ container: 'first' })
})
