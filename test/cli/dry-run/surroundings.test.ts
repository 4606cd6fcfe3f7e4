import { expect, test } from 'vitest'
import { openDesk } from '../cli.ts'
import { runHere } from '../here.ts'

const CONFIG = `
watch: [Event, Pod]
sinks: { screen: { type: stdout, format: message } }
rules:
  - { name: web, when: { kind: Pod, owner: Deployment/web, namespaceLabels: "env=prod" }, to: screen }
  - name: regarded
    when: { kind: Event, regarding: { kind: Pod, labels: "team=a", owner: Deployment/web } }
    to: screen
x-web: &web { kind: Deployment, metadata: { name: web, namespace: shop, uid: d1 } }
x-set: &set
  kind: ReplicaSet
  metadata: { name: web-1, namespace: shop, uid: r1, ownerReferences: [{ apiVersion: apps/v1, kind: Deployment, name: web, uid: d1, controller: true }] }
x-pod: &pod
  kind: Pod
  metadata: { name: p, namespace: shop, labels: { team: a }, ownerReferences: [{ apiVersion: apps/v1, kind: ReplicaSet, name: web-1, uid: r1, controller: true }] }
tests:
  - name: the chain of owners, and the labels of the namespace
    given: { object: *pod, namespaceLabels: { env: prod } }
    surroundings: [*web, *set]
    expect: { rule: web }
  - name: the same in another namespace
    given: { object: *pod, namespaceLabels: { env: test } }
    surroundings: [*web, *set]
    expect: { none: true }
  - name: what an Event is about
    given: { kind: Event, reason: X, regarding: { kind: Pod, namespace: shop, name: p } }
    surroundings: [*web, *set, *pod]
    expect: { rule: regarded }
  - name: nobody knows what it is about
    given: { kind: Event, reason: X, regarding: { kind: Pod, namespace: shop, name: p } }
    expect: { none: true }
`

test('rules see the surroundings that a test gives', async () => {
  using desk = openDesk()
  desk.write('kubeherald.yaml', CONFIG)
  const { stdout, stderr } = await runHere(desk, 'test')
  expect(stderr).toBe('')
  expect(stdout).toMatch(/\n4 passed/)
})

const STEPS = `
watch: [Pod]
sinks: { screen: { type: stdout, format: message } }
rules:
  - { name: prod, when: { kind: Pod, namespaceLabels: env=prod }, to: screen }
x-pod: &pod { kind: Pod, namespace: shop, name: web }
tests:
  - name: what a step says of the surroundings holds from then on
    given:
      - { object: *pod, surroundings: [{ kind: Namespace, name: shop, labels: { env: test } }] }
      - { object: *pod, surroundings: [{ kind: Namespace, name: shop, labels: { env: prod } }] }
      - { object: *pod }
      - { object: *pod, namespaceLabels: { env: test } }
    expect: [{ none: true }, { rule: prod }, { rule: prod }, { none: true }]
`

test('each step may say what is around it', async () => {
  using desk = openDesk()
  desk.write('kubeherald.yaml', STEPS)
  const { stdout, stderr } = await runHere(desk, 'test')
  expect({ stderr, stdout }).toMatchObject({ stderr: '', stdout: expect.stringMatching(/\n1 passed/) })
})

test('what is wrong with the surroundings of a step is told at its place', async () => {
  using desk = openDesk()
  desk.write('kubeherald.yaml', STEPS.replace('env: test } }] }', 'env: 1 } }] }'))
  const { code, stderr } = await runHere(desk, 'test')
  expect(code).toBe(2)
  expect(stderr).toMatch(/kubeherald\.yaml:10:\d+: "env" must be text/)
})
