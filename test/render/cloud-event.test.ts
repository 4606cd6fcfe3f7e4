import { expect, test } from 'vitest'
import type { Delivery } from '../../src/model/delivery.ts'
import { createRender } from '../../src/render/message.ts'
import { compileTemplate } from '../../src/sink/index.ts'
import { cloudEvent, cloudEventAttributes } from '../../src/sink/message.ts'
import { headerFor } from '../store/objects.ts'
import { contentOfSummary } from './content-of-summary.ts'

const delivery = (event: Partial<Delivery['event']> = {}): Delivery => ({
  sink: 'hook',
  rule: 'all',
  event: { ...headerFor('web', '7', 'MODIFIED', 'u-1'), ...event },
  objectJson: Buffer.from('{"kind":"ConfigMap","data":{"a":"ü"}}'),
})

function envelope(of: Delivery): any {
  return JSON.parse(cloudEvent(of).toString())
}

test('a delivery is a CloudEvent 1.0 with the object as it came', () => {
  expect(envelope(delivery())).toEqual({
    specversion: '1.0',
    id: 'cluster-uid/u-1/7/MODIFIED',
    source: '/clusters/test',
    type: 'dev.kubeherald.resource.modified',
    subject: '/api/v1/namespaces/default/configmaps/web',
    time: '2025-06-15T15:06:40.000Z',
    datacontenttype: 'application/json',
    cluster: 'test',
    kind: 'ConfigMap',
    apiversion: 'v1',
    namespace: 'default',
    name: 'web',
    uid: 'u-1',
    resourceversion: '7',
    partitionkey: 'test/ConfigMap/default/web',
    data: { type: 'MODIFIED', rule: 'all', object: { kind: 'ConfigMap', data: { a: 'ü' } } },
  })
})

test('what changed is in the data, where it is known', () => {
  const changes = [
    { path: 'spec.replicas', old: 1, new: 2 },
    { path: 'spec.paused', new: true },
  ]
  expect(envelope(delivery({ changes })).data.changes).toEqual(changes)
  expect(envelope(delivery({ changes: [] })).data.changes).toEqual([])
  expect(envelope(delivery()).data).not.toHaveProperty('changes')
})

test('who wrote the object last is in the data, where it is known', () => {
  expect(envelope(delivery({ manager: 'kubectl-edit "ü"' })).data.manager).toBe('kubectl-edit "ü"')
  expect(envelope(delivery()).data).not.toHaveProperty('manager')
})

test('names of attributes are lower-case letters and digits, as CloudEvents wants', () => {
  const names = Object.keys(envelope(delivery({ synthesized: true })))
  expect(names.filter((name) => !/^[a-z0-9]+$/.test(name))).toEqual([])
})

test('synthesized stands there only where it is true, and an Event is told in one form', () => {
  const event = { type: 'Warning', reason: 'BackOff', message: 'm', count: 3, regarding: { kind: 'Pod' } }
  expect(envelope(delivery())).not.toHaveProperty('synthesized')
  expect(envelope(delivery({ synthesized: true, event }))).toMatchObject({
    synthesized: true,
    data: { event },
  })
})

test('a message that is sent again has the mark, and the same id', () => {
  expect(envelope(delivery())).not.toHaveProperty('replayed')
  const again = { ...delivery(), replayed: true as const }
  expect(envelope(again)).toEqual({ ...envelope(delivery()), replayed: true })
})

test('a message whose object is truncated has the mark', () => {
  expect(envelope(delivery())).not.toHaveProperty('truncated')
  const waited = { ...delivery(), truncated: true as const }
  expect(envelope(waited)).toEqual({ ...envelope(delivery()), truncated: true })
  const render = createRender({ routeOf: () => ({}), contentOf: ({ summary }) => contentOfSummary(summary) })
  const message = render(waited, 0)
  expect(JSON.parse(message.cloudEvent.toString())).toEqual(envelope(waited))
  expect(cloudEventAttributes(message)).toHaveProperty('truncated', true)
  const template = compileTemplate('{{ truncated }}')
  if (!template.ok) throw new Error('not compiled')
  expect([message, render(delivery(), 0)].map((it) => template.template.render(it))).toEqual([
    'true',
    'false',
  ])
})

test('the log of a container is in the data, or why there is none', () => {
  const text = { container: 'app', previous: true, text: 'it crashed' }
  expect(envelope({ ...delivery(), logs: text }).data.logs).toEqual(text)
  const error = { previous: false, error: 'the pod no longer exists' }
  expect(envelope({ ...delivery(), logs: error }).data.logs).toEqual(error)
})
