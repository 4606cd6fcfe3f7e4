import { expect, test } from 'vitest'
import { problemsOf, withRules } from '../load-text.ts'

const asked = (kind: string, keys: string, watch = `[${kind.replace(/^\[|\]$/g, '')}]`) =>
  problemsOf(withRules(`  - { name: r, when: { kind: ${kind} }, ${keys}, to: screen }\n`, watch))

test.each([
  ['Deployment', 'spec.containers.*.image', 'spec.template.spec.containers.*.image'],
  ['deploy', 'spec.initContainers', 'spec.template.spec.initContainers'],
  ['apps/v1/StatefulSet', 'spec.volumes', 'spec.template.spec.volumes'],
  ['DaemonSet', 'spec.nodeSelector.pool', 'spec.template.spec.nodeSelector.pool'],
  ['ReplicaSet', 'spec.affinity', 'spec.template.spec.affinity'],
  ['Job', 'spec.tolerations', 'spec.template.spec.tolerations'],
  ['CronJob', 'spec.serviceAccountName', 'spec.jobTemplate.spec.template.spec.serviceAccountName'],
  ['[Deployment, StatefulSet]', 'spec.containers', 'spec.template.spec.containers'],
])('%s has no %s, but %s', async (kind, path, full) => {
  const field = path.split('.').slice(0, 2).join('.')
  for (const key of ['changed: P', 'unchanged: [spec.paused, P]', 'from: { P: x }', 'to-state: { P: x }']) {
    const found = await asked(kind, key.replace('P', path))
    expect(found).toEqual([expect.stringMatching(`^warning \\S+ a \\w+ has no ${field} = write `)])
    expect(found.map((it) => it.split(' = write ')[1])).toEqual([full])
    expect(await asked(kind, key.replace('P', full))).toEqual([])
  }
})

test('all of the path is told, in an expression with the object', async () => {
  expect(
    await asked('Deployment', 'if: "oldObject.spec.containers.size() > 1", changed: spec.replicas'),
  ).toEqual([
    'warning 4:49 a Deployment has no spec.containers = write oldObject.spec.template.spec.containers',
  ])
})

test.each([
  ['Pod', 'changed: spec.containers.*.image'],
  ['[Pod, Deployment]', 'changed: spec.containers.*.image'],
  ['"*"', 'changed: spec.containers.*.image', '[Deployment]'],
  ['Deployment', 'changed: spec.containers.*.image', '[Deployment, deployments.example.com]'],
  ['deployments.example.com', 'changed: spec.containers.*.image'],
  ['Rollout', 'changed: spec.containers.*.image'],
  ['[Deployment, CronJob]', 'changed: spec.containers'],
  ['StatefulSet', 'changed: spec.volumeClaimTemplates'],
  ['Deployment', 'changed: [spec.template.spec.containers, spec.selector, spec.template.spec.volumes]'],
  ['Deployment', 'changed: spec.containersReady'],
  ['Deployment', 'if: object.spec.template.spec.containers.size() > 1'],
  ['Deployment', 'if: object.metadata.annotations["spec.containers"] == "x", onError: deliver'],
])('of %s nothing is told by %s', async (kind, keys, watch?: string) => {
  const found = await asked(kind, keys, watch)
  expect(found.filter((it) => it.includes('has no spec.'))).toEqual([])
})
