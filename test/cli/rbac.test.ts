import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { startDemoCluster } from '../../src/demo/cluster.ts'
import { openDesk } from './cli.ts'
import { runHere } from './here.ts'

const CONFIG = `watch:
  - Event
  - kind: deploy
    namespaces: [shop, "on"]
  - kind: databases.stable.example.com
    labels: tier=gold
  - { kind: Secret, namespaces: [shop], fields: "metadata.name=app" }
  - { kind: apps/v1/Deployment, namespaces: shop }
  - { kind: widgets.v1beta1.example.com, namespaces: [shop, "a-*"] }
sinks: { chat: { type: slack, token: "\${env:NOT_SET_HERE}", channel: "#a" } }
rules: [{ name: all, to: chat }]
`
const golden = (name: string) =>
  readFileSync(new URL(`../golden/permissions/${name}`, import.meta.url), 'utf8')

test.each([
  ['manifests.yaml', []],
  ['account.yaml', ['--service-account', 'ops/herald.one', '--name', 'herald-reads']],
  ['values.yaml', ['--format', 'values']],
])('rbac prints %s, without the secrets of the configuration and without a cluster', async (file, args) => {
  using desk = openDesk()
  desk.write('kubeherald.yaml', CONFIG)
  const { stdout, stderr, code } = await runHere(desk, 'rbac', ...args)
  expect({ stderr, code }).toEqual({ stderr: '', code: 0 })
  expect(stdout).toBe(golden(file))
})

test('a kind that only a cluster can tell is named with its place, and with what to write', async () => {
  using desk = openDesk()
  desk.write(
    'kubeherald.yaml',
    CONFIG.replace('deploy\n', 'Database\n').replace('  - Event', '  - db.example.com'),
  )
  const { stdout, stderr, code } = await runHere(desk, 'rbac', '--offline')
  expect({ stdout, code }).toEqual({ stdout: '', code: 2 })
  expect(stderr).toContain(
    'kubeherald.yaml:2:5: watch[0]: only a cluster knows which resource "db.example.com" is: ',
  )
  expect(stderr).toContain(
    'kubeherald.yaml:3:5: watch[1]: only a cluster knows which resource "Database" is: ',
  )
  expect(stderr).toContain('write its plural and its group, such as databases.stable.example.com')
})

test('the cluster tells what such a kind is', async () => {
  using desk = openDesk()
  await using kubernetes = await startDemoCluster({ random: Math.random, clock: Date })
  const text = `kubernetes: { kubeconfig: "${kubernetes.kubeconfig}" }\nwatch: [Database]\n`
  desk.write('kubeherald.yaml', text)
  const { stdout } = await runHere(desk, 'rbac', '--format', 'values')
  expect(stdout).toContain('- apiGroups: [stable.example.com]\n      resources: [databases]\n')
  expect(stdout).toContain('resourceNames: [databases.stable.example.com]')
  desk.write('kubeherald.yaml', text.replace('Database', 'Gizmo'))
  expect((await runHere(desk, 'rbac')).stderr).toContain(
    'kubeherald.yaml:2:9: watch[0]: the cluster has no kind "Gizmo" (yet)',
  )
})

test.each([
  [['--service-account', 'kubeherald'], 'write NAMESPACE/NAME'],
  [['--service-account', 'Ops/herald'], '"Ops" is not a namespace'],
  [['--service-account', 'ops/a_b'], '"a_b" is not a name of a service account'],
  [['--name', 'A b'], 'is not a name of a role'],
  [['--format', 'json'], 'Allowed choices are yaml, values'],
  [['-c', 'none.yaml'], 'cannot read the configuration none.yaml'],
])('rbac %j is refused', async (args, message) => {
  using desk = openDesk()
  desk.write('kubeherald.yaml', CONFIG)
  const { stderr, code } = await runHere(desk, 'rbac', ...args)
  expect(stderr).toContain(message)
  expect(stderr).not.toContain('at file:')
  expect(code).toBe(2)
})

test('what is wrong with "watch" is told as check tells it; nothing else matters', async () => {
  using desk = openDesk()
  desk.write('kubeherald.yaml', 'watch: [{ kind: Node, namespaces: a, label: b }]\nrules: nonsense\n')
  const { stderr, code } = await runHere(desk, 'rbac')
  expect(code).toBe(2)
  expect(stderr).toContain('unknown key "label"')
  expect(stderr).toContain('Node objects are in no namespace')
  expect(stderr).not.toContain('rules')
})
