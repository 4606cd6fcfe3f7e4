import { expect, test } from 'vitest'
import type { EventHeader } from '../../src/model/event.ts'
import { summarize } from '../../src/render/summary/index.ts'
import { messageOf } from '../../src/sink/testkit/messages.ts'

const IMAGE = [{ path: 'spec.template.spec.containers[name=a].image', old: 'a:1', new: 'a:2' }]
const READY = [{ path: 'status.readyReplicas', old: 1, new: 2 }]

function byOf(event: Partial<EventHeader>, object: object = { spec: {}, status: {} }): string | undefined {
  const { event: header } = messageOf({ event: { kind: 'Deployment', apiVersion: 'apps/v1', ...event } })
  const { fields } = summarize({ event: header, object: object as Record<string, unknown> })
  return fields.find(({ title }) => title === 'By')?.value
}

test.each<[string, Partial<EventHeader>, object | undefined, string | undefined]>([
  [
    'who wanted something',
    { type: 'MODIFIED', manager: 'kubectl-edit', changes: IMAGE },
    undefined,
    'kubectl-edit',
  ],
  ['who made it', { type: 'ADDED', manager: 'helm' }, undefined, 'helm'],
  [
    'not who looks after its status',
    { type: 'MODIFIED', manager: 'my-operator', changes: READY },
    undefined,
    undefined,
  ],
  ['who changed what has no status', { type: 'MODIFIED', manager: 'helm' }, { data: {} }, 'helm'],
  ['nobody where it is not known what changed', { type: 'MODIFIED', manager: 'helm' }, undefined, undefined],
  ['no part of Kubernetes', { type: 'ADDED', manager: 'kube-controller-manager' }, undefined, undefined],
  ['nobody', { type: 'ADDED' }, undefined, undefined],
])('people read %s', (_, event, object, expected) => {
  expect(byOf(event, object)).toBe(expected)
})
