import { createHash } from 'node:crypto'
import type { Logger } from '../log.ts'
import { type ClusterClient, ClusterError } from './cluster-client.ts'

/**
 * What tells this cluster from any other: the uid of its kube-system namespace. Where that must not be read, a hash of
 * the server's address: stable, but it cannot notice another cluster behind the same address.
 */
export async function readClusterUid(
  client: ClusterClient,
  log: Logger,
  signal: AbortSignal,
): Promise<string> {
  const { status, body } = await client.get('/api/v1/namespaces/kube-system', {}, signal)
  if (status === 200) return uidOf(body)
  if (status !== 403 && status !== 404)
    throw new ClusterError(`the API server answered ${status} to a read of namespace kube-system`)
  log.info({ status }, 'namespace kube-system cannot be read; the cluster is identified by its address')
  return createHash('sha256').update(client.url).digest('hex').slice(0, 32)
}

function uidOf(body: Buffer): string {
  const { metadata } = JSON.parse(body.toString()) as { metadata?: { uid?: string } }
  if (!metadata?.uid) throw new ClusterError('namespace kube-system has no uid')
  return metadata.uid
}
