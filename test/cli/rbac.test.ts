import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { parse } from 'yaml'
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

interface Values {
  rbac: { clusterRules?: RoleRule[]; namespaceRules?: Record<string, RoleRule[]> }
}
interface RoleRule {
  resources: string[]
  resourceNames?: string[]
}

/** The resources that a rule needs in addition to its watch, as `where resource`. */
async function neededBy(rule: string, watch: string, env: Record<string, string> = {}) {
  using desk = openDesk(env)
  desk.write('parts.yaml', `rules: [{ name: all, ${rule}, to: chat }]\n`)
  desk.write(
    'kubeherald.yaml',
    `vars: { team: "\${env:TEAM}" }\nwatch: [${watch}]\nsinks: { chat: { type: slack } }\ninclude: [parts.yaml]\n`,
  )
  const { stdout, stderr, code } = await runHere(desk, 'rbac', '--offline', '--format', 'values')
  expect({ stderr, code }).toEqual({ stderr: '', code: 0 })
  const { clusterRules = [], namespaceRules = {} } = (parse(stdout) as Values).rbac
  return Object.entries({ cluster: clusterRules, ...namespaceRules }).flatMap(([where, list]) =>
    list.flatMap(({ resources, resourceNames = [] }) =>
      resources
        .filter((it) => !/^(?:pods|events)$/.test(it) && !resourceNames.includes('kube-system'))
        .map((it) => [where, it, ...resourceNames].join(' ')),
    ),
  )
}

const reference = (name: string) => `\${${name}}`
const [ENV, VAR] = [reference('env:TEAM'), reference('var:team')]

test.each([`"${ENV}"`, `"team-${ENV}"`, `[pay, "${ENV}"]`, `"${VAR}"`, `"team-${VAR}"`])(
  'a rule whose namespace is %s covers what is watched where the variable is not set',
  async (namespace) => {
    const when = `when: { kind: Pod, namespace: ${namespace} }`
    expect(await neededBy(`${when}, logs: true`, 'Pod')).toEqual(['cluster pods/log'])
    expect(await neededBy(`${when}, logs: true`, '{ kind: Pod, namespaces: shop }')).toEqual([
      'shop pods/log',
    ])
    const labels = when.replace(' }', ', namespaceLabels: { tier: gold } }')
    expect(await neededBy(labels, 'Pod')).toEqual(['cluster namespaces'])
  },
)

test.each([ENV, VAR])('a rule whose namespace is %s covers that namespace alone', async (namespace) => {
  const rule = `when: { kind: Pod, namespace: "${namespace}" }, logs: true`
  for (const watch of ['Pod', '{ kind: Pod, namespaces: [shop, pay] }'])
    expect(await neededBy(rule, watch, { TEAM: 'shop' })).toEqual(['shop pods/log'])
})

test('a rule whose kind is a variable that is not set may match all that is watched', async () => {
  const kind = `kind: "${reference('env:KIND')}"`
  expect(await neededBy(`when: { ${kind} }, logs: true`, 'Pod')).toEqual(['cluster pods/log'])
  const regarding = `when: { kind: Event, regarding: { ${kind}, labels: { tier: gold } } }`
  expect(await neededBy(regarding, 'Event')).toContain('cluster nodes')
})
