import { readFileSync } from 'node:fs'
import { Agent, request } from 'undici'
import { foreignDefinitions } from '../servers/deploy-tools.ts'
import type { Kubernetes } from '../servers/kubernetes.ts'
import { borrowKubernetes } from '../servers/kubernetes-pool.ts'
import { waitFor } from '../wait-for.ts'
import { type Manifest, parse } from './render.ts'

/** A real API server to which manifests are applied as careful people do: server-side, strict, unknown fields refused. */
export interface ApplyBed extends AsyncDisposable {
  kubernetes: Kubernetes
  /** A namespace whose pods must be `restricted`, with the root certificates that a cluster puts there. */
  addNamespace(name: string): Promise<void>
  /** Throws on a refusal and on a warning. */
  apply(manifests: readonly Manifest[]): Promise<void>
  /** Where a manifest's object is. */
  pathOf(manifest: Manifest): Promise<string>
}

const STRICT = 'fieldManager=test&force=true&fieldValidation=Strict'

export async function startApplyBed(): Promise<ApplyBed> {
  // With the admission of service accounts, as clusters have it.
  const flags = ['--disable-admission-plugins=TaintNodesByCondition']
  const kubernetes = await borrowKubernetes({ flags })
  const dispatcher = new Agent({ connect: { rejectUnauthorized: false } })
  const resources = new Map<string, Map<string, Resource>>()

  async function resourceOf({ apiVersion, kind }: Manifest): Promise<Resource> {
    const at = apiVersion.includes('/') ? `/apis/${apiVersion}` : `/api/${apiVersion}`
    if (!resources.has(apiVersion)) {
      const list = (await kubernetes.request('GET', at)) as { resources: (Resource & { kind: string })[] }
      const own = list.resources.filter(({ name }) => !name.includes('/'))
      resources.set(apiVersion, new Map(own.map((it) => [it.kind, { ...it, name: `${at} ${it.name}` }])))
    }
    const found = resources.get(apiVersion)?.get(kind)
    if (!found) throw new Error(`the API server knows no ${kind} in ${apiVersion}`)
    return found
  }

  async function pathOf(manifest: Manifest): Promise<string> {
    const { name, namespaced } = await resourceOf(manifest)
    const [at, plural] = name.split(' ')
    const { namespace } = manifest.metadata
    if (namespaced && !namespace)
      throw new Error(`${manifest.kind} ${manifest.metadata.name} has no namespace`)
    return `${at}${namespaced ? `/namespaces/${namespace}` : ''}/${plural}/${manifest.metadata.name}`
  }

  async function applyOne(manifest: Manifest): Promise<void> {
    const answer = await request(`${kubernetes.url}${await pathOf(manifest)}?${STRICT}`, {
      dispatcher,
      method: 'PATCH',
      headers: { authorization: 'Bearer admin', 'content-type': 'application/apply-patch+yaml' },
      body: JSON.stringify(manifest),
    })
    const text = await answer.body.text()
    const title = `${manifest.kind} ${manifest.metadata.name}`
    if (answer.statusCode >= 300)
      throw new Error(`${title}: ${(JSON.parse(text) as { message: string }).message}`)
    const { warning } = answer.headers
    if (warning) throw new Error(`${title}: warned: ${String(warning)}`)
  }

  const bed: ApplyBed = {
    kubernetes,
    pathOf,
    async apply(manifests) {
      for (const manifest of manifests) await applyOne(manifest)
    },
    async addNamespace(name) {
      const labels = {
        'pod-security.kubernetes.io/enforce': 'restricted',
        'pod-security.kubernetes.io/warn': 'restricted',
      }
      await applyOne({ apiVersion: 'v1', kind: 'Namespace', metadata: { name, labels } })
      const metadata = { name: 'kube-root-ca.crt', namespace: name }
      await applyOne({
        apiVersion: 'v1',
        kind: 'ConfigMap',
        metadata,
        data: { 'ca.crt': rootCertificate(kubernetes) },
      })
      await applyOne({
        apiVersion: 'v1',
        kind: 'ServiceAccount',
        metadata: { name: 'default', namespace: name },
      })
    },
    async [Symbol.asyncDispose]() {
      await dispatcher.destroy()
      await kubernetes[Symbol.asyncDispose]()
    },
  }
  await installForeignKinds(bed)
  return bed
}

interface Resource {
  name: string
  namespaced: boolean
}

/** ServiceMonitor, PodMonitor, PrometheusRule, ScaledObject. */
async function installForeignKinds({ kubernetes, apply }: ApplyBed): Promise<void> {
  const definitions = foreignDefinitions().flatMap((text) => parse(text))
  await apply(definitions)
  await waitFor(
    async () => {
      const groups = ['/apis/monitoring.coreos.com/v1', '/apis/keda.sh/v1alpha1']
      const lists = await Promise.all(
        groups.map(
          (it) =>
            kubernetes.request('GET', it).catch(() => ({ resources: [] })) as Promise<{
              resources: Resource[]
            }>,
        ),
      )
      const served = lists.flatMap((it) => it.resources.map(({ name }) => name))
      return definitions.every(({ spec }) => served.includes(spec.names.plural))
    },
    { what: 'the kinds of other projects to be served' },
  )
}

function rootCertificate({ kubeconfig }: Kubernetes): string {
  const { clusters } = JSON.parse(readFileSync(kubeconfig, 'utf8'))
  return Buffer.from(clusters[0].cluster['certificate-authority-data'], 'base64').toString()
}
