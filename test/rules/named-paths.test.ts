import { expect, test } from 'vitest'
import type { WayStep } from '../../src/model/event.ts'
import { namedPaths, namesPath } from '../../src/rules/previous-objects.ts'
import { Rule } from '../../src/rules/schema.ts'
import { DEPLOYMENT, NODE } from './events.ts'

/** `spec.containers[name=web].image` as steps; `[0]` is a place. */
function way(text: string): WayStep[] {
  return [...text.matchAll(/\[(?:(\w+)=)?([^\]]+)\]|([^.[\]]+)/g)].map(([, label, item, key]) =>
    key === undefined ? { label: label ?? '', key: item as string } : { label: undefined, key },
  )
}

const isNamed = (keys: object, text: string, resource = DEPLOYMENT) =>
  namesPath(namedPaths(Rule.parse({ name: 'r', to: 'chat', ...keys })))(resource)?.(way(text)) ?? false

const IMAGE = 'spec.template.spec.containers[name=web].image'

test.each<[expected: boolean, keys: object, text: string]>([
  [true, { changed: 'spec.template.spec.containers.*.image' }, IMAGE],
  [true, { changed: ['spec.x', 'spec.template.spec.containers[name=web].image'] }, IMAGE],
  [false, { changed: 'spec.template.spec.containers[name=proxy].image' }, IMAGE],
  [true, { changed: 'spec.template.spec.containers[0].image' }, IMAGE],
  [true, { changed: 'spec.template.spec.containers.0.image' }, IMAGE],
  [false, { changed: 'spec.ports[1]' }, 'spec.ports[0]'],
  [true, { changed: 'spec.template' }, IMAGE],
  [true, { changed: 'spec.template.spec.containers.*.image' }, 'spec.template.spec.containers[name=new]'],
  [false, { changed: 'spec.replicas' }, IMAGE],
  [true, { from: { 'spec.a': 'x' }, 'to-state': { 'spec.b': 'x' } }, 'spec.a'],
  [true, { from: { 'spec.a': 'x' }, 'to-state': { 'spec.b': 'x' } }, 'spec.b'],
  [true, { condition: { type: 'Ready', becomes: 'True' } }, 'status.conditions[type=Ready].status'],
  [false, { condition: { type: 'Ready', becomes: 'True' } }, 'status.conditions[type=Ready].message'],
  [false, { unchanged: 'spec.replicas' }, 'spec.replicas'],
  [false, { when: { kind: 'Node' }, changed: 'spec.replicas' }, 'spec.replicas'],
])('%j: %j names %s', (expected, keys, text) => {
  expect(isNamed(keys, text)).toBe(expected)
})

test('where no rule names a path of a kind, nothing is asked', () => {
  const named = namesPath(
    namedPaths(Rule.parse({ name: 'r', to: 'chat', when: { kind: 'Node' }, changed: 'spec.x' })),
  )
  expect(named(DEPLOYMENT)).toBeUndefined()
  expect(named(NODE)).toBeDefined()
})
