import { spawnSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { parse as parseYaml } from 'yaml'
import { restartKeys } from '../../src/app/reload.ts'
import { type Config, ConfigFile } from '../../src/config/schema.ts'
import { programMain } from '../program.ts'
import { runTool } from '../servers/deploy-tools.ts'
import { CHART, find, parse, ROOT, renderChart, renderOverlay } from './render.ts'
import { VALUES } from './values.ts'
import { podsOf } from './workload.ts'

const KUSTOMIZE = join(ROOT, 'deploy/kustomize')
const read = (file: string) => readFileSync(join(ROOT, file), 'utf8')
const BUNDLED = { redis: { bundled: { enabled: true } } }

/** Runs a program of this repository. */
function run(...args: string[]): { status: number | null; output: string } {
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { cwd: ROOT, encoding: 'utf8' })
  return { status, output: stdout + stderr }
}

test('Helm has nothing to say against the chart', async () => {
  const { code, stdout } = await runTool('helm', ['lint', '--strict', CHART])
  expect({ code, warnings: stdout.match(/\[(WARNING|ERROR)\].*/g) }).toEqual({ code: 0, warnings: null })
})

test('what the chart repeats of the rest is up to date: node deploy/helm/sync.mjs', () => {
  expect(run('deploy/helm/sync.mjs', '--check')).toEqual({ status: 0, output: '' })
})

test('kustomize runs the version of package.json', async () => {
  const { version } = JSON.parse(read('package.json'))
  const pods = podsOf(await renderOverlay(join(KUSTOMIZE, 'overlays/ha')))
  expect(pods[0]?.spec.containers[0].image).toBe(`ghcr.io/kubeherald/kubeherald:${version}`)
})

test('every value is in the schema, and every key of the configuration', () => {
  const schema = JSON.parse(read('deploy/helm/kubeherald/values.schema.json'))
  const values = parseYaml(read('deploy/helm/kubeherald/values.yaml'))
  expect(
    Object.keys(schema.properties)
      .filter((it) => it !== 'global')
      .sort(),
  ).toEqual(Object.keys(values).sort())
  const keys = Object.keys(schema.properties.config.properties)
  expect(Object.keys(ConfigFile.shape).filter((key) => !keys.includes(key))).toEqual([])
})

test('a pod has longer to stop than kubeherald takes', async () => {
  const [, limit = ''] = /STOP_LIMIT_MS = ([\d_]+)/.exec(read('src/cli/run/run.ts')) ?? []
  const limitSeconds = Number(limit.replace('_', '')) / 1_000
  const pods = [
    ...podsOf(await renderChart(BUNDLED)),
    ...podsOf(await renderOverlay(join(KUSTOMIZE, 'overlays/ha'))),
  ]
  const graces = pods.flatMap(({ spec }) => spec.terminationGracePeriodSeconds ?? [])
  for (const grace of graces) expect(grace).toBeGreaterThan(limitSeconds + 5)
})

test('kustomize starts the same pods as the chart', async () => {
  const values = {
    ...BUNDLED,
    fullnameOverride: 'kubeherald',
    redis: { bundled: { enabled: true, existingSecret: 'kubeherald-redis' } },
  }
  const chart = await renderChart(values)
  const overlay = await renderOverlay(join(KUSTOMIZE, 'overlays/single'))
  const configOf = (manifests: typeof chart) =>
    manifests.find(({ kind, metadata }) => kind === 'ConfigMap' && /^kubeherald-redis/.test(metadata.name))?.[
      'data'
    ]
  expect(configOf(overlay)).toEqual(configOf(chart))
  const containers = (manifests: typeof chart) =>
    ['Deployment', 'StatefulSet'].map((kind) => {
      const { containers, volumes, topologySpreadConstraints, ...spec } = find(manifests, kind)['spec']
        .template.spec
      const { volumeMounts, ...container } = containers[0]
      return { spec, container }
    })
  expect(containers(overlay)).toEqual(containers(chart))
})

test('no pod of any values has a token that it does not need, or a folder of the node', async () => {
  for (const values of Object.values(VALUES)) {
    for (const { metadata, spec } of podsOf(await renderChart(values))) {
      expect(spec.automountServiceAccountToken).toBe(false)
      const volumes = JSON.stringify(spec.volumes)
      expect(volumes).not.toContain('hostPath')
      const watches = /^(all|watch)$/.test(metadata.labels?.['app.kubernetes.io/component'] ?? '')
      const checks = metadata.name.endsWith('-test-check')
      expect(volumes.includes('serviceAccountToken')).toBe(watches || checks)
    }
  }
})

test('Leases, and permission to use them, come with the second pod that watches', async () => {
  const redis = { url: 'redis://r:6379' }
  const of = async (values: object) => {
    const manifests = await renderChart({ redis, ...values })
    const config = parseYaml(find(manifests, 'ConfigMap', 'herald-kubeherald').data['kubeherald.yaml'])
    const role = manifests.find(({ kind, metadata }) => kind === 'Role' && metadata.name.endsWith('-leases'))
    return [config.leases, role?.metadata.namespace]
  }
  expect(await of({ replicas: 1 })).toEqual([undefined, undefined])
  expect(await of({ replicas: 2 })).toEqual([true, 'kubeherald'])
  expect(await of({ replicas: 1, leases: true })).toEqual([true, 'kubeherald'])
  expect(await of({ replicas: 3, leases: false })).toEqual([undefined, undefined])
  expect(await of({ mode: 'split', replicas: 3 })).toEqual([undefined, undefined])
  expect(await of({ mode: 'split', watch: { replicas: 2 } })).toEqual([true, 'kubeherald'])
  const leases = { namespace: 'locks', durationSeconds: 30 }
  const config = {
    watch: ['Event'],
    sinks: { a: { type: 'stdout' } },
    rules: [{ name: 'a', to: 'a' }],
    leases,
  }
  expect(await of({ config })).toEqual([leases, 'locks'])
})

test('keys that Helm, which reads YAML 1.1, takes for true or false arrive by their names', async () => {
  const isTruth = /^(y|n|yes|no|on|off|true|false)$/i
  const schema = read('docs/kubeherald.schema.json')
  const keys = new Set([...schema.matchAll(/"(\w+)": \{/g)].map(([, key = '']) => key))
  expect([...keys].filter((key) => isTruth.test(key))).toEqual(['on'])
  const notify = { to: 'a', on: ['sink-failing'] }
  const config = {
    watch: ['Event'],
    sinks: { a: { type: 'stdout' } },
    rules: [{ name: 'a', to: 'a' }],
    notify,
  }
  const manifests = await renderChart({ redis: { url: 'redis://r' }, config })
  const rendered = parseYaml(find(manifests, 'ConfigMap', 'herald-kubeherald')['data']['kubeherald.yaml'])
  expect(rendered.notify).toEqual(notify)
})

describe('a change of the configuration', () => {
  const before = {
    cluster: 'prod',
    redis: { url: 'redis://r:6379' },
    watch: ['Event'],
    sinks: { a: { type: 'stdout' } },
    rules: [{ name: 'a', to: 'a' }],
  }
  const podsWith = async (config: object) =>
    JSON.stringify(find(await renderChart({ config }), 'Deployment')['spec'].template)

  test.each<[what: string, change: object]>([
    ['the name of the cluster', { cluster: 'other' }],
    ['the API server', { kubernetes: { context: 'x' } }],
    ['the timings of leases', { leases: { durationSeconds: 30 } }],
    ['plug-ins', { plugins: ['@acme/kubeherald-sink-pager'] }],
    ['the address of Redis', { redis: { url: 'redis://other:6379' } }],
    ['a Sentinel', { redis: { sentinel: { name: 'm', nodes: ['s:26379'] } } }],
    ['the nodes of a Redis Cluster', { redis: { cluster: { nodes: ['r:6379'] } } }],
    ['a certificate of Redis', { redis: { url: 'redis://r:6379', tls: { ca: '${file:/ca}' } } }],
    ['the user of Redis', { redis: { url: 'redis://r:6379', username: 'kubeherald' } }],
    ['the share of Redis', { redis: { url: 'redis://r:6379', share: 0.5 } }],
    ['watches', { watch: ['Event', 'Pod'] }],
    ['sinks', { sinks: { a: { type: 'stdout' }, b: { type: 'stdout' } } }],
    ['rules', { rules: [{ name: 'b', to: 'a' }] }],
    ['the journal', { journal: { keep: '1h' } }],
    ['who may use the API', { server: { tokens: [{ name: 'x', token: '${env:X}' }] } }],
  ])('restarts the pods where a reload does not apply it: %s', async (_, change) => {
    const after = { ...before, ...change }
    // The chart always has a server.
    const served = (config: object) => ({ server: {}, ...config }) as unknown as Config
    const needsRestart = restartKeys(served(before), served(after)).length > 0
    expect((await podsWith(after)) !== (await podsWith(before))).toBe(needsRestart)
  })

  test('restarts the pods when a value of the chart names another cluster or another Redis', async () => {
    const pods = async (values: object) =>
      JSON.stringify(
        find(await renderChart({ redis: { url: 'redis://a' }, ...values }), 'Deployment')['spec'],
      )
    expect(await pods({ cluster: 'prod' })).not.toBe(await pods({}))
    expect(await pods({ redis: { url: 'redis://b' } })).not.toBe(await pods({}))
  })
})

describe('kubeherald rbac', () => {
  const rbac = (folder: string, file: string, ...args: string[]) =>
    run(programMain(), 'rbac', '--offline', '--config', join(folder, file), ...args).output

  test('prints the permissions that the chart gives to its own configuration', () => {
    const { rbac: given } = parseYaml(read('deploy/helm/kubeherald/values.yaml'))
    const { clusterRules, namespaceRules } = given
    const printed = parseYaml(rbac('deploy/helm/kubeherald/files', 'starter.yaml', '--format', 'values'))
    expect(printed).toEqual({ rbac: { clusterRules, namespaceRules } })
  })

  const overlays = readdirSync(join(KUSTOMIZE, 'overlays'))
  test.each(overlays.filter((it) => it !== 'ha' || 'leases' in ConfigFile.shape))(
    'prints what the overlay %s has',
    (overlay) => {
      const folder = `deploy/kustomize/overlays/${overlay}`
      const account = overlay === 'namespaced' ? 'shop/kubeherald' : 'kubeherald/kubeherald'
      const printed = parse(rbac(folder, 'kubeherald.yaml', '--service-account', account))
      const given = parse(read(`${folder}/rbac.yaml`))
      const own = printed.filter(({ metadata }) => overlay !== 'namespaced' || metadata.namespace === 'shop')
      const sorted = (manifests: typeof given) =>
        manifests.toSorted((a, b) => JSON.stringify(a).localeCompare(JSON.stringify(b)))
      expect(sorted(given)).toEqual(sorted(own))
    },
  )
})
