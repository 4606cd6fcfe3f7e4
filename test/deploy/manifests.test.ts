import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { parse as parseYaml } from 'yaml'
import { type ApplyBed, startApplyBed } from './apply.ts'
import { find, type Manifest, parse, ROOT, renderChart, renderOverlay } from './render.ts'
import { ODD_VALUES, VALUES } from './values.ts'
import { podsOf } from './workload.ts'

let bed: ApplyBed
let count = 0
beforeAll(async () => {
  bed = await startApplyBed()
})
afterAll(() => bed?.[Symbol.asyncDispose]())

async function createPods(manifests: readonly Manifest[], namespace: string): Promise<any[]> {
  const path = `/api/v1/namespaces/${namespace}/pods?fieldValidation=Strict`
  return Promise.all(podsOf(manifests).map((pod) => bed.kubernetes.request('POST', path, pod)))
}

describe.each(Object.entries(VALUES))('the chart with %s', (_, values) => {
  test('is taken by the API server as it is, and its pods are restricted', async () => {
    const namespace = `chart-${count++}`
    await bed.addNamespace(namespace)
    for (const name of ['shop', 'mine'])
      await bed.apply([{ apiVersion: 'v1', kind: 'Namespace', metadata: { name } }])
    await bed.apply([{ apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'mine', namespace } }])
    const manifests = await renderChart(values, namespace)
    await bed.apply(manifests.filter(({ kind }) => kind !== 'Pod'))
    const pods = await createPods(manifests, namespace)
    expect(pods.length).toBeGreaterThanOrEqual(3)
  })
})

test.each(ODD_VALUES.map(([name, release, values], i) => ({ name, release, values, namespace: `odd-${i}` })))(
  'the chart with $name is taken, too',
  async ({ release, values, namespace }) => {
    await bed.addNamespace(namespace)
    const manifests = await renderChart(values, namespace, release)
    await bed.apply(manifests.filter(({ kind }) => kind !== 'Pod'))
    await createPods(manifests, namespace)
    // The label controller-revision-hash of its pods: the name, "-" and ten characters.
    for (const { metadata } of manifests.filter(({ kind }) => kind === 'StatefulSet'))
      expect(metadata.name.length).toBeLessThanOrEqual(63 - 11)
  },
)

test('a new pod is ready before an old one ends, unless the values want the old one to end first', async () => {
  const strategyOf = async (values: object) =>
    find(await renderChart({ redis: { url: 'redis://r' }, ...values }), 'Deployment')['spec'].strategy
  expect(await strategyOf({})).toEqual({
    type: 'RollingUpdate',
    rollingUpdate: { maxUnavailable: 0, maxSurge: 1 },
  })
  expect(await strategyOf({ strategy: 'Recreate' })).toEqual({ type: 'Recreate' })
  await bed.addNamespace('strategies')
  for (const strategy of ['RollingUpdate', 'Recreate', 'RollingUpdate']) {
    const manifests = await renderChart({ redis: { url: 'redis://r' }, strategy }, 'strategies')
    await bed.apply([find(manifests, 'Deployment')])
  }
})

test('pods listen for probes on IPv6, too', async () => {
  const hostOf = (manifests: readonly Manifest[]) => {
    const maps = manifests.filter(({ kind, data }) => kind === 'ConfigMap' && data['kubeherald.yaml'])
    return maps.map(({ data }) => parseYaml(data['kubeherald.yaml']).server.host)
  }
  expect(hostOf(await renderChart({ redis: { url: 'redis://r' } }))).toEqual(['::'])
  for (const overlay of ['single', 'ha', 'namespaced'])
    expect(hostOf(await renderOverlay(`${ROOT}deploy/kustomize/overlays/${overlay}`)), overlay).toEqual([
      '::',
    ])
})

test.each(['single', 'ha', 'namespaced'])(
  'the overlay %s is taken by the API server as it is, and its pods are restricted',
  async (overlay) => {
    const manifests = await renderOverlay(`${ROOT}deploy/kustomize/overlays/${overlay}`)
    const { namespace = '' } = find(manifests, 'Deployment').metadata
    await bed.addNamespace(namespace)
    await bed.apply(manifests)
    expect((await createPods(manifests, namespace)).length).toBe(overlay === 'ha' ? 3 : 2)
    await bed.kubernetes.request('DELETE', `/api/v1/namespaces/${namespace}/pods?gracePeriodSeconds=0`)
  },
)

test('an overlay with the component of Prometheus is scraped by the Service of its pods', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'kubeherald-overlay-'))
  try {
    cpSync(`${ROOT}deploy/kustomize`, dir, { recursive: true })
    const file = join(dir, 'overlays/ha/kustomization.yaml')
    const text = readFileSync(file, 'utf8')
    writeFileSync(file, text.replace('components: [', 'components: [../../components/monitoring, '))
    const manifests = await renderOverlay(join(dir, 'overlays/ha'))
    const monitor = find(manifests, 'ServiceMonitor')
    const service = find(manifests, 'Service')
    expect(service.metadata.labels).toMatchObject(monitor['spec'].selector.matchLabels)
    expect(service.metadata.labels?.[monitor['spec'].jobLabel]).toBe('kubeherald')
    expect(monitor.metadata.namespace).toBe(service.metadata.namespace)
    expect(service['spec'].ports.map(({ name }: any) => name)).toContain(monitor['spec'].endpoints[0].port)
    await bed.addNamespace(monitor.metadata.namespace ?? '')
    await bed.apply([monitor])
  } finally {
    rmSync(dir, { recursive: true })
  }
})

test('the examples of scaling are taken by the API server as they are', async () => {
  const examples = ['hpa', 'keda'].map((name) => readFileSync(`${ROOT}deploy/examples/${name}.yaml`, 'utf8'))
  await bed.addNamespace('kubeherald')
  await bed.apply(examples.flatMap(parse))
})

test('a pod that is not restricted is refused here', async () => {
  await bed.addNamespace('strict')
  const [pod] = (await renderChart({ redis: { url: 'redis://r' }, securityContext: null }, 'strict')).filter(
    ({ kind }) => kind === 'Pod',
  )
  await expect(createPods([pod!], 'strict')).rejects.toThrow('violates PodSecurity')
})
