import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { stringify } from 'yaml'
import { openDesk } from '../cli/cli.ts'
import { runHere } from '../cli/here.ts'
import { runTool } from '../servers/deploy-tools.ts'
import { CHART, type Manifest, parse, ROOT, renderChart } from './render.ts'

const read = (page: string) => readFileSync(join(ROOT, page), 'utf8')

/** What a documented `helm install` or `helm upgrade --install` would apply; files are those of the folder. */
async function rendered(command: string, folder = ''): Promise<Manifest[]> {
  const [, ...args] = command
    .replace(/helm (install|upgrade --install) /, 'helm template ')
    .replace(/oci:\S+|deploy\/helm\/kubeherald/, CHART)
    .replaceAll('--values ', `--values ${folder}/`)
    .split(/\s+/)
  const { code, stdout, stderr } = await runTool('helm', args)
  if (code !== 0) throw new Error(stderr)
  return parse(stdout)
}

test('the inline commands of README.md install the chart', async () => {
  const commands = [...read('README.md').matchAll(/`(helm (?:install|upgrade) [^`]+)`/g)]
  expect(commands).not.toEqual([])
  for (const [, command = ''] of commands) {
    const manifests = await rendered(command)
    expect(manifests.map(({ kind }) => kind)).toContain('Deployment')
  }
})

test('one namespace needs permissions in that one alone, when values and commands follow the pages', async () => {
  using desk = openDesk()
  const watch = [{ kind: 'Deployment', namespaces: ['shop'] }]
  const config = {
    watch,
    sinks: { screen: { type: 'stdout' } },
    rules: [{ name: 'all', to: 'screen' }],
  }
  const file = desk.write('kubeherald.yaml', stringify(config))
  const { stdout } = await runHere(desk, 'rbac', '--offline', '--config', file, '--format', 'values')
  desk.write('permissions.yaml', stdout)
  desk.write('values.yaml', stringify({ cluster: 'a', redis: { url: 'redis://redis:6379' }, config }))
  const [row = ''] = /^\| one namespace, no ClusterRole \|.*$/m.exec(read('deploy/README.md')) ?? []
  const [, more = ''] = /`(--set [^`]+)`/.exec(row) ?? []
  const page = read('deploy/helm/kubeherald/README.md')
  const [install = ''] = /^helm upgrade .*--values permissions\.yaml$/m.exec(page) ?? []
  const manifests = await rendered(`${install} ${more}`.trim(), desk.cwd)
  const roles = manifests.filter(({ kind }) => /^(Cluster)?Role(Binding)?$/.test(kind))
  expect(roles.map(({ kind, metadata }) => `${kind} ${metadata.namespace}`).toSorted()).toEqual([
    'Role shop',
    'RoleBinding shop',
  ])
})

/** Command → the Deployment in which it runs in mode `split`, by the table of deploy/README.md. */
function deploymentsOfCommands(): Map<string, string> {
  const rows = read('deploy/README.md').matchAll(/^\| `deployment\/([\w-]+)` \|([^|]+)\|/gm)
  return new Map(
    [...rows].flatMap(([, deployment = '', commands = '']) =>
      [...commands.matchAll(/`([a-z-]+)`/g)].map(([, command = '']) => [command, deployment] as const),
    ),
  )
}

test('in mode split each command of the runbooks runs in pods that reach what it asks', async () => {
  const values = { mode: 'split', redis: { url: 'redis://redis:6379' } }
  const egress = { restrict: true, sinks: [{ ports: [{ port: 4567, protocol: 'TCP' }] }] }
  const manifests = await renderChart({ ...values, networkPolicy: { egress } }, 'kubeherald', 'kubeherald')
  const named = deploymentsOfCommands()
  const specOf = (kind: string, command: string) =>
    manifests.find((it) => it.kind === kind && it.metadata.name === named.get(command))?.['spec']
  expect([...named.keys()]).toEqual(expect.arrayContaining(['status', 'dead-letters', 'check', 'send-test']))
  for (const command of named.keys()) expect(specOf('Deployment', command), command).toBeDefined()
  expect(JSON.stringify(specOf('Deployment', 'check').template)).toContain('serviceAccountToken')
  expect(JSON.stringify(specOf('NetworkPolicy', 'send-test').egress)).toContain('4567')
})
