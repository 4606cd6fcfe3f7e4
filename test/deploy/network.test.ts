import { expect, test } from 'vitest'
import { type Manifest, renderChart } from './render.ts'

const policiesOf = async (values: object): Promise<Map<string, Manifest>> => {
  const manifests = await renderChart({ redis: { bundled: { enabled: true } }, mode: 'split', ...values })
  const policies = manifests.filter(({ kind }) => kind === 'NetworkPolicy')
  return new Map(
    policies.map((it) => [it['spec'].podSelector.matchLabels['app.kubernetes.io/component'], it['spec']]),
  )
}
const restrict = { networkPolicy: { egress: { restrict: true } } }
/** 5353 as well: where the DNS pods of OpenShift listen. */
const DNS = [53, 53, 5353, 5353]
const portsOf = (spec: any) => spec.egress.flatMap(({ ports }: any) => ports.map(({ port }: any) => port))

test('everything that runs has a policy, and takes in nothing but what it serves', async () => {
  const policies = await policiesOf({})
  const taken = [...policies].map(([part, spec]) => [
    part,
    spec['ingress'].flatMap(({ ports }: any) => ports[0].port),
  ])
  expect(Object.fromEntries(taken)).toEqual({
    watch: ['http'],
    deliver: ['http'],
    redis: ['redis'],
    test: [],
  })
})

test('Redis is reached by kubeherald of this release, and reaches nothing', async () => {
  const { ingress, egress, policyTypes } = (await policiesOf({})).get('redis') as any
  expect(policyTypes).toEqual(['Ingress', 'Egress'])
  expect(egress).toEqual([])
  expect(ingress[0].from).toEqual([
    {
      podSelector: {
        matchLabels: { 'app.kubernetes.io/name': 'kubeherald', 'app.kubernetes.io/instance': 'herald' },
        matchExpressions: [
          { key: 'app.kubernetes.io/component', operator: 'In', values: ['all', 'watch', 'deliver', 'test'] },
        ],
      },
    },
  ])
})

test('where the way out is restricted, who watches sends to no sink, and who delivers asks no API server', async () => {
  const policies = await policiesOf({
    networkPolicy: { egress: { restrict: true, sinks: [{ ports: [{ port: 8443 }] }] } },
  })
  expect(portsOf(policies.get('watch'))).toEqual([...DNS, 443, 6443, 'redis'])
  expect(portsOf(policies.get('deliver'))).toEqual([...DNS, 'redis', 8443])
})

test('a Redis elsewhere is reached where it may be', async () => {
  const redis = { url: 'rediss://r:6380', bundled: { enabled: false } }
  const policies = await policiesOf({ ...restrict, redis })
  expect(portsOf(policies.get('deliver'))).toEqual([...DNS, 6379, 6380, 26379, 443])
  expect(policies.has('redis')).toBe(false)
})

test('every address is also that of a pod or a node, which blocks of addresses are not for', async () => {
  const redis = { url: 'redis://r', bundled: { enabled: false } }
  const toOf = async (egress: object, port: number) => {
    const policies = await policiesOf({ redis, networkPolicy: { egress: { restrict: true, ...egress } } })
    const rules = (policies.get('watch') as any).egress
    return rules.find(({ ports }: any) => ports.some((it: any) => it.port === port)).to
  }
  for (const port of [6443, 6379]) expect(await toOf({}, port)).toBeUndefined()
  const cidrs = ['10.0.0.0/8']
  expect(await toOf({ redis: { cidrs } }, 6379)).toEqual([{ ipBlock: { cidr: '10.0.0.0/8' } }])
  expect(await toOf({ apiServer: { cidrs: ['0.0.0.0/0'] } }, 6443)).toEqual([
    { ipBlock: { cidr: '0.0.0.0/0' } },
  ])
})

test('what all pods need besides is reached by those that watch and those that deliver', async () => {
  const policies = await policiesOf({
    networkPolicy: { egress: { restrict: true, extra: [{ ports: [{ port: 4318 }] }] } },
  })
  for (const role of ['watch', 'deliver', 'test']) expect(portsOf(policies.get(role))).toContain(4318)
})
