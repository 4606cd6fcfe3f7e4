import { request } from 'undici'
import { waitFor } from '../wait-for.ts'
import { type Kubernetes, type KubernetesOptions, startKubernetes } from './kubernetes.ts'

/** An API server that is free for the next test of this process, with the keys that etcd had before any test. */
let idle: Pooled | undefined

// A test runner ends the process by SIGTERM, which ends the servers only by way of an exit.
process.once('SIGTERM', () => process.exit(143))

interface Pooled {
  readonly kubernetes: Kubernetes
  readonly baseline: ReadonlyMap<string, string>
}

/**
 * Returns an API server without traces of earlier tests. Its start costs five seconds of processor time, so the tests
 * of a process use one after the other: what a test leaves is removed from etcd. resourceVersions go on. With flags it
 * is one of its own.
 */
export async function borrowKubernetes({ flags }: KubernetesOptions = {}): Promise<Kubernetes> {
  if (flags) return startKubernetes({ flags })
  const pooled = idle ?? (await start())
  idle = undefined
  return {
    ...pooled.kubernetes,
    async [Symbol.asyncDispose]() {
      if (!idle && (await reset(pooled))) idle = pooled
      else await pooled.kubernetes[Symbol.asyncDispose]()
    },
  }
}

async function start(): Promise<Pooled> {
  const kubernetes = await startKubernetes()
  return { kubernetes, baseline: await keysOf(kubernetes.etcdUrl) }
}

/** Puts etcd's keys back; returns false for a server that a test left stopped. */
async function reset({ kubernetes, baseline }: Pooled): Promise<boolean> {
  const { etcdUrl, request } = kubernetes
  const isServing = () =>
    request('GET', '/readyz').then(
      () => true,
      () => false,
    )
  if (!(await isServing())) return false
  const now = await keysOf(etcdUrl)
  const added = [...now.keys()].filter((key) => !baseline.has(key) && !isOfServer(key))
  const changed = [...baseline].filter(([key, value]) => now.get(key) !== value && !isOfServer(key))
  // Definitions last: the API server would delete the objects of theirs that are still there.
  const isDefinition = (key: string) => key.includes('/customresourcedefinitions/')
  const deletions = [...added.filter((key) => !isDefinition(key)), ...added.filter(isDefinition)].map(
    (key) => ({
      request_delete_range: { key: base64(key) },
    }),
  )
  const puts = changed.map(([key, value]) => ({ request_put: { key: base64(key), value } }))
  const operations = [...deletions, ...puts]
  for (let i = 0; i < operations.length; i += MAX_OPERATIONS)
    await post(etcdUrl, 'kv/txn', { success: operations.slice(i, i + MAX_OPERATIONS) })
  for (const key of added.filter(isDefinition)) {
    const [, plural, group] = /\/([^./]+)\.([^/]+)$/.exec(key) ?? []
    const isGone = async () => !JSON.stringify(await request('GET', '/apis')).includes(`"${group}"`)
    await waitFor(isGone, { what: `${plural}.${group} not to be served any more` })
  }
  return true
}

/** etcd's default bound of a transaction. */
const MAX_OPERATIONS = 128

/** True for keys that the API server itself writes at any time. */
function isOfServer(key: string): boolean {
  return (
    /^\/registry\/(masterleases\/|leases\/kube-system\/apiserver-|apiregistration\.k8s\.io\/apiservices\/)/.test(
      key,
    ) ||
    /^\/registry\/(configmaps\/kube-system\/extension-apiserver-authentication|(services\/\w+|endpointslices)\/default\/kubernetes)$/.test(
      key,
    )
  )
}

/** Returns etcd's keys with their values in base64. */
async function keysOf(etcdUrl: string): Promise<Map<string, string>> {
  const { kvs = [] } = await post(etcdUrl, 'kv/range', {
    key: base64('/registry/'),
    range_end: base64('/registry0'),
  })
  return new Map(kvs.map(({ key, value }) => [Buffer.from(key, 'base64').toString(), value ?? '']))
}

async function post(
  etcdUrl: string,
  path: string,
  body: object,
): Promise<{ kvs?: { key: string; value?: string }[] }> {
  const { statusCode, body: answer } = await request(`${etcdUrl}/v3/${path}`, {
    method: 'POST',
    body: JSON.stringify(body),
  })
  const text = await answer.text()
  if (statusCode !== 200) throw new Error(`etcd answered ${statusCode}: ${text}`)
  return JSON.parse(text)
}

function base64(text: string): string {
  return Buffer.from(text).toString('base64')
}
