import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { CHART, find, refusal, renderChart } from './render.ts'

const REDIS = { redis: { url: 'redis://redis:6379' } }
const BUNDLED = { redis: { bundled: { enabled: true } } }
const CONFIG = { watch: ['Event'], sinks: { a: { type: 'stdout' } }, rules: [{ name: 'all', to: 'a' }] }
const config = (more: object) => ({ ...REDIS, config: { ...CONFIG, ...more } })
const egress = (more: object) => ({ ...REDIS, networkPolicy: { egress: { restrict: true, ...more } } })
const scaling = (more: object) => ({
  ...REDIS,
  mode: 'split',
  deliver: { autoscaling: { hpa: { enabled: true }, ...more } },
})

test.each<[name: string, values: object, says: string]>([
  ['a variable twice', { extraEnv: [{ name: 'A' }, { name: 'A', value: 'b' }] }, 'extraEnv: A'],
  ['a variable of the chart', { extraEnv: [{ name: 'POD_NAME', value: 'x' }] }, 'extraEnv: POD_NAME'],
  ['a volume of the chart', { extraVolumes: [{ name: 'tmp', emptyDir: {} }] }, 'extraVolumes: tmp'],
  ['a volume twice', { extraVolumes: ['a', 'a'].map((name) => ({ name, emptyDir: {} })) }, 'extraVolumes: a'],
  ['a mount of the chart', { extraVolumeMounts: [{ name: 'tmp', mountPath: '/tmp/' }] }, '/tmp/'],
  [
    'a mount of no volume',
    { extraVolumeMounts: [{ name: 'nope', mountPath: '/x' }] },
    'there is no volume nope',
  ],
  [
    'a label that selects pods',
    { podLabels: { 'app.kubernetes.io/name': 'x' } },
    'podLabels: app.kubernetes',
  ],
  ['one of everything', { commonLabels: { 'helm.sh/chart': 'x' } }, 'commonLabels: helm.sh/chart'],
  ['an argument and its value as one', { extraArgs: ['--log-level debug'] }, 'extraArgs: --log-level debug'],
  ['a role beside the mode', { extraArgs: ['--role', 'watch'] }, 'extraArgs: --role'],
  ['fewer pods at most than at least', scaling({ minReplicas: 9 }), 'minReplicas is 9'],
  ['a file that the ConfigMap does not have', config({ include: 'teams/*.yaml' }), 'teams/*.yaml'],
  ['one of several', config({ include: ['kubeherald:nodes', './shop.yaml'] }), './shop.yaml'],
  ['one with other settings', config({ include: [{ from: 'shop.yaml', to: 'a' }] }), 'shop.yaml'],
  ['one of a list', config({ include: { from: ['/teams/a.yaml', 'b.yaml'], to: 'a' } }), 'b.yaml'],
  ['one of the folder, by a detour', config({ include: 'a/../b.yaml' }), 'b.yaml'],
  ['a port that there is not', config({ server: { port: 99_999 } }), 'config.server.port is 99999'],
  ['a port that nobody knows', config({ server: { port: 0 } }), 'config.server.port is 0'],
  ['a host that no probe reaches', config({ server: { host: '127.0.0.1' } }), 'config.server.host'],
  ['two names of the cluster', { ...config({ cluster: 'b' }), cluster: 'a' }, 'cluster is a'],
  [
    'two passwords',
    {
      redis: { existingSecret: 's', passwordKey: 'p' },
      config: { ...CONFIG, redis: { url: 'redis://r', password: '${env:P}' } },
    },
    'config.redis.password',
  ],
  [
    'a user of the bundled Redis, which has none',
    { ...BUNDLED, config: { ...CONFIG, redis: { username: 'u' } } },
    'config.redis.username',
  ],
  ['no place for the API server, which is any place', egress({ apiServer: { cidrs: [] } }), '/cidrs'],
  ['no port for Redis, which is any port', egress({ redis: { ports: [] } }), '/ports'],
  ['text for a count', { podDisruptionBudget: { maxUnavailable: 'one' } }, '/maxUnavailable'],
  ['a share without a sign', { podDisruptionBudget: { maxUnavailable: '1' } }, '/maxUnavailable'],
  ['more seconds than are written as a number', { terminationGracePeriodSeconds: 1e7 }, 'maximum'],
  ['an amount that is none', { resources: { limits: { memory: '384 Mi' } } }, '/resources/limits/memory'],
  ['a number for the name of the cluster', { cluster: 123 }, '/cluster'],
  [
    'permissions for the account that all pods of a namespace have',
    { serviceAccount: { create: false } },
    'serviceAccount.name',
  ],
  ['a name of the cluster that kubeherald refuses', config({ cluster: 'prod eu' }), '/config/cluster'],
  ['a section that is null', { networkPolicy: null }, `missing property 'networkPolicy'`],
  ['a null where a number is needed', { mode: 'split', deliver: { replicas: null } }, 'replicas'],
  ['a null of Redis', { redis: { bundled: { enabled: true, appendfsync: null } } }, 'appendfsync'],
])('the chart refuses %s, and names it', async (_, values, says) => {
  expect(await refusal({ ...REDIS, ...values })).toContain(says)
})

/** Values that may be null, as paths; all others with a default must be there. */
function emptyValues(values: Record<string, any>, required: any, path: readonly string[] = []): string[][] {
  return Object.entries(values).flatMap(([key, value]) => {
    const here = [...path, key]
    const schema = required?.properties?.[key]
    if (value !== null && typeof value === 'object' && !Array.isArray(value) && schema?.properties)
      return required.required?.includes(key) || schema.required ? emptyValues(value, schema, here) : [here]
    return required?.required?.includes(key) ? [] : [here]
  })
}

test.each([
  '../teams/*.yaml',
  './../teams/a.yaml',
  'a/../../teams/a.yaml',
  '/teams/a.yaml',
  '${var:dir}/../a.yaml',
])('an extra volume may have an included file outside the folder of the ConfigMap: %s', async (include) => {
  expect((await renderChart(config({ include }))).map(({ kind }) => kind)).toContain('Deployment')
})

describe('null', () => {
  const values = parse(readFileSync(join(CHART, 'values.yaml'), 'utf8'))
  const schema = JSON.parse(readFileSync(join(CHART, 'values.schema.json'), 'utf8'))

  test('takes the place of a value only where the schema lets it, and then the chart is as without', async () => {
    const empty = emptyValues(values, schema)
    expect(empty.map((it) => it.join('.'))).toEqual(expect.arrayContaining(['affinity', 'leases']))
    const nulls: Record<string, any> = { redis: { url: 'redis://redis:6379' } }
    for (const path of empty) {
      const last = path.at(-1) as string
      let at = nulls
      for (const key of path.slice(0, -1)) at = at[key] ??= {}
      at[last] ??= null
    }
    expect((await renderChart(nulls)).map(({ kind }) => kind)).toContain('Deployment')
  })
})

test('releases in namespaces with long names have ClusterRoles of their own', async () => {
  const namespace = 'n'.repeat(63)
  const names = ['one', 'two'].map(
    async (release) => find(await renderChart(REDIS, namespace, release), 'ClusterRole').metadata.name,
  )
  expect(new Set(await Promise.all(names)).size).toBe(2)
})

test('a map of leases without keys brings permission to use them', async () => {
  const roles = (await renderChart(config({ leases: {} }))).filter(({ kind }) => kind === 'Role')
  expect(roles.map(({ metadata }) => metadata.name)).toContain('herald-kubeherald-leases')
})

test('an extra volume may be mounted in the folder of the ConfigMap', async () => {
  const values = {
    ...config({ include: 'teams/*.yaml' }),
    extraVolumes: [{ name: 'teams', configMap: { name: 'teams' } }],
    extraVolumeMounts: [{ name: 'teams', mountPath: '/etc/kubeherald/teams' }],
  }
  expect((await renderChart(values)).map(({ kind }) => kind)).toContain('Deployment')
})
