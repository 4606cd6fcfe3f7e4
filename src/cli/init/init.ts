import type { ClusterClient } from '../watch/cluster-client.ts'
import { discover } from '../watch/discovery.ts'
import type { ClusterFacts, NamespaceFacts } from './facts.ts'

export interface LookOptions {
  /** The name that it will have. */
  cluster: string
  /** Where to look when not all of the cluster may be read. */
  namespace: string
}

const METADATA = 'application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json'
const MAX_NAMESPACES = 500

/** Looks at a cluster with a handful of small requests. What may not be read is left out. Throws when it does not answer. */
export async function lookAt(
  client: ClusterClient,
  { cluster, namespace }: LookOptions,
  signal: AbortSignal,
): Promise<ClusterFacts> {
  const { resources } = await discover(client, signal)
  const [version, namespaces, nodes, pods] = await Promise.all([
    json(client, '/version', signal),
    json(client, `/api/v1/namespaces?limit=${MAX_NAMESPACES}`, signal),
    json(client, '/api/v1/nodes?limit=1', signal),
    json(client, '/api/v1/pods?limit=1', signal),
  ])
  const gitVersion = version?.['gitVersion']
  const nodeCount = countOf(nodes)
  const podCount = countOf(pods)
  return {
    cluster,
    ...(typeof gitVersion === 'string' && /^v[\w.+-]{1,40}$/.test(gitVersion) && { version: gitVersion }),
    ...(nodeCount !== undefined && { nodes: nodeCount }),
    ...(podCount !== undefined ? { pods: podCount } : { onlyNamespace: namespace }),
    ...(namespaces && { namespaces: itemsOf(namespaces).map(namespaceOf) }),
    resources: new Set(resources.map(({ plural, group }) => (group === '' ? plural : `${plural}.${group}`))),
  }
}

type Json = Readonly<Record<string, unknown>>

/** Undefined when it is refused. */
async function json(client: ClusterClient, path: string, signal: AbortSignal): Promise<Json | undefined> {
  const { status, body } = await client.get(path, { accept: METADATA, timeoutMs: 10_000 }, signal)
  if (status !== 200) return undefined
  try {
    return JSON.parse(body.toString()) as Json
  } catch {
    return undefined
  }
}

function itemsOf(list: Json): readonly Json[] {
  return Array.isArray(list['items']) ? (list['items'] as Json[]) : []
}

function countOf(list: Json | undefined): number | undefined {
  if (!list) return undefined
  const { remainingItemCount } = (list['metadata'] ?? {}) as { remainingItemCount?: number }
  return itemsOf(list).length + (remainingItemCount ?? 0)
}

function namespaceOf({ metadata }: Json): NamespaceFacts {
  const { name = '', labels = {} } = (metadata ?? {}) as { name?: string; labels?: Record<string, string> }
  return { name, labels }
}
