import { Agent, request } from 'undici'
import { afterAll, expect, test } from 'vitest'
import { leavesOutKubernetes } from '../components.ts'
import { type Kubernetes, startKubernetes } from '../servers/kubernetes.ts'
import { yamlIn } from './documentation.ts'

interface Manifest {
  kind: string
  metadata: { name: string; namespace?: string }
  subjects?: unknown[]
}

const KUBE_SYSTEM = '/api/v1/namespaces/kube-system'
const CRD = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions/databases.stable.example.com'

test.skipIf(leavesOutKubernetes())(
  'the rights of the page are enough, and no more than it says',
  async () => {
    await using kubernetes = await startKubernetes()
    await kubernetes.request('POST', '/api/v1/namespaces', { metadata: { name: 'shop' } })
    await kubernetes.request('POST', '/api/v1/namespaces', { metadata: { name: 'kubeherald' } })
    const [whole, single] = blocks()
    await grant(kubernetes, whole, 'plain')
    await grant(kubernetes, single, 'other')
    const asked = (user: string, ...paths: string[]) => Promise.all(paths.map(askAs(kubernetes, user)))

    const everywhere = ['/api/v1/events', '/apis/apps/v1/deployments', '/apis', KUBE_SYSTEM]
    expect(await asked('plain', ...everywhere)).toEqual([200, 200, 200, 200])
    expect(await asked('plain', CRD)).toEqual([404])
    expect(await asked('plain', '/api/v1/secrets', '/api/v1/namespaces')).toEqual([403, 403])

    const shop = '/apis/apps/v1/namespaces/shop/deployments'
    expect(await asked('other', shop, `${shop}?watch=true&timeoutSeconds=1`, KUBE_SYSTEM)).toEqual([
      200, 200, 200,
    ])
    expect(await asked('other', '/apis/apps/v1/deployments', CRD)).toEqual([403, 403])
    const leases = (namespace: string) => `/apis/coordination.k8s.io/v1/namespaces/${namespace}/leases`
    expect(await asked('other', leases('kubeherald'), leases('shop'))).toEqual([200, 403])
  },
  60_000,
)

/** The manifests of the whole cluster, and those of one namespace. */
function blocks(): [whole: Manifest[], single: Manifest[]] {
  const manifests = yamlIn('docs/operating.md')
    .map(({ document }) => document.toJS() as Manifest)
    .filter(({ kind }) => /Role/.test(kind))
  return [
    manifests.filter(({ kind }) => kind.startsWith('Cluster')),
    manifests.filter(({ kind }) => !kind.startsWith('Cluster')),
  ]
}

async function grant(kubernetes: Kubernetes, manifests: readonly Manifest[], user: string): Promise<void> {
  for (const manifest of manifests) {
    const { namespace } = manifest.metadata
    const scope = namespace === undefined ? '' : `namespaces/${namespace}/`
    const path = `/apis/rbac.authorization.k8s.io/v1/${scope}${manifest.kind.toLowerCase()}s?fieldValidation=Strict`
    const subjects = [{ kind: 'User', name: user, apiGroup: 'rbac.authorization.k8s.io' }]
    await kubernetes.request('POST', path, { ...manifest, ...(manifest.subjects && { subjects }) })
  }
}

const dispatcher = new Agent({ connect: { rejectUnauthorized: false } })
afterAll(() => dispatcher.destroy())

function askAs({ url }: Kubernetes, user: string): (path: string) => Promise<number> {
  return async (path) => {
    const headers = { authorization: `Bearer ${user}` }
    const { statusCode, body } = await request(`${url}${path}`, { dispatcher, headers })
    await body.dump()
    return statusCode
  }
}
