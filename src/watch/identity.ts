import { createHash } from 'node:crypto'
import type { ClusterIdentities, ClusterIdentity } from '../change.ts'
import type { Logger } from '../log.ts'
import { faultOf } from './api-fault.ts'
import { type ClusterClient, ClusterError } from './cluster-client.ts'

/**
 * What tells this cluster from any other: the uid of its kube-system namespace. Where that must not be read, a hash of
 * the server's address. What is known once stays: a right that comes or goes does not make another cluster of it.
 * Throws ApiFault.
 */
export async function identify(
  client: ClusterClient,
  identities: ClusterIdentities,
  log: Logger,
  signal: AbortSignal,
): Promise<string> {
  const answer = await client.get('/api/v1/namespaces/kube-system', {}, signal)
  const { status, body } = answer
  if (status !== 200 && status !== 403 && status !== 404) throw faultOf(answer)
  const address = createHash('sha256').update(client.url).digest('hex').slice(0, 32)
  const uid = status === 200 ? uidOf(body) : undefined
  const here = await identities.get(address, signal)
  const known = here ?? (uid === undefined ? undefined : await identities.ofUid(uid, signal))
  const identity = decideIdentity(known, uid, address)
  if (uid === undefined && !known)
    log.info({ status }, 'namespace kube-system cannot be read; the cluster is identified by its address')
  if (identity.id !== here?.id || identity.uid !== here?.uid) await identities.set(address, identity, signal)
  return identity.id
}

/** Only another uid is another cluster. `uid` is undefined when it cannot be read. */
export function decideIdentity(
  known: ClusterIdentity | undefined,
  uid: string | undefined,
  address: string,
): ClusterIdentity {
  if (uid === undefined) return known ?? { id: address }
  if (known && (known.uid ?? uid) === uid) return { id: known.id, uid }
  return { id: uid, uid }
}

function uidOf(body: Buffer): string {
  const { metadata } = JSON.parse(body.toString()) as { metadata?: { uid?: string } }
  if (!metadata?.uid) throw new ClusterError('namespace kube-system has no uid')
  return metadata.uid
}
