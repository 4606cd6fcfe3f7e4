import { expect, test } from 'vitest'
import type { Resource } from '../../src/model/event.ts'
import { compileKinds, parseSpelling, pluralOf } from '../../src/rules/kind.ts'
import type { Patterns } from '../../src/rules/pattern.ts'
import { DATABASE, DEPLOYMENT, EVENT, NEW_EVENT, POD } from './events.ts'

function means(patterns: Patterns, resource: Resource): boolean {
  const compiled = compileKinds(patterns)
  if (!compiled.ok) throw new Error(compiled.faults[0]?.message)
  return compiled.value(resource)
}

test.each([
  'Deployment',
  'deployment',
  'deployments',
  'deploy',
  'deployments.apps',
  'Deployment.apps',
  'deploy.apps',
  'deployments.v1.apps',
  'apps/v1/Deployment',
  'apps/Deployment',
  'Deploy*',
  '*.apps',
  '/^Deploy/',
])('%s means deployments.apps and no other kind', (spelling) => {
  expect(means(spelling, DEPLOYMENT)).toBe(true)
  expect(means(spelling, DATABASE)).toBe(false)
  expect(means(spelling, POD)).toBe(false)
})

test.each(['core/v1/Pod', 'core/Pod', 'pods.core', 'pods.v1.core', 'v1/Pod', 'pods.v1', 'po.v1'])(
  '%s means Pods of the core group',
  (spelling) => {
    expect(means(spelling, POD)).toBe(true)
    expect(means(spelling, { ...POD, group: 'metrics.k8s.io' })).toBe(false)
  },
)

test.each([
  ['core/v2/Pod', POD],
  ['core/v1/Deployment', DEPLOYMENT],
  ['pods.core.example.com', POD],
  ['deployments.example.com', DEPLOYMENT],
  ['apps/v2/Deployment', DEPLOYMENT],
  ['deployments.v2.apps', DEPLOYMENT],
  ['v1/Deployment', DEPLOYMENT],
  ['pods.apps', POD],
  ['deploy', { ...DEPLOYMENT, group: 'other.example.com' }],
])('%s is another kind', (spelling, resource) => {
  expect(means(spelling, resource)).toBe(false)
})

test.each([
  'Database',
  'databases',
  'databases.stable.example.com',
  'stable.example.com/v1beta1/Database',
  '*.example.com',
])('%s means a custom resource', (spelling) => {
  expect(means(spelling, DATABASE)).toBe(true)
})

test.each([
  'Event',
  'ev',
  'events',
  'v1/Event',
  'core/v1/Event',
  'core/Event',
  'events.events.k8s.io',
  'events.k8s.io/v1/Event',
])('%s means Events, whichever API they are watched through', (spelling) => {
  expect(means(spelling, EVENT)).toBe(true)
  expect(means(spelling, NEW_EVENT)).toBe(true)
})

test('"!" excludes a kind in any spelling', () => {
  expect(means('!deployments.apps', DEPLOYMENT)).toBe(false)
  expect(means('!deployments.apps', POD)).toBe(true)
  expect(means(['*', '!Pod'], POD)).toBe(false)
  expect(means(['*', '!Pod'], DEPLOYMENT)).toBe(true)
})

test.each(['', 'a/b/c/d', '.apps', 'apps.', 'two words', '/v1'])('%j is not a spelling of a kind', (text) => {
  expect(parseSpelling(text)).toBeUndefined()
  expect(compileKinds([text, 'Pod']).ok).toBe(false)
})

test.each([
  ['Pod', 'pods'],
  ['Ingress', 'ingresses'],
  ['Endpoints', 'endpoints'],
  ['ClusterPolicy', 'clusterpolicies'],
  ['Gateway', 'gateways'],
  ['Mesh', 'meshes'],
])('the plural of %s is %s', (kind, plural) => {
  expect(pluralOf(kind)).toBe(plural)
})
