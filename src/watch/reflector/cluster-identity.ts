import { createHash } from 'node:crypto'
import type { ClusterIdentity, SourceStore } from '../../model/change.ts'
import type { Logger } from '../../observe/log.ts'
import { faultOf, isNotFound } from '../client/api-fault.ts'
import { type ClusterClient, ClusterError } from '../client/cluster-client.ts'
import { objectIn } from '../client/discovery.ts'
import type { Timing } from './timing.ts'

interface IdentityParts {
  client: Pick<ClusterClient, 'url' | 'get'>
  store: Pick<SourceStore, 'identities'>
  log: Logger
  timing: Pick<Timing, 'identityFreshMs'>
}

/**
 * Returns a function that identifies the cluster. All sources call it when an API server restarts: those that do so within
 * `identityFreshMs` share one request. A signal ends only the waiting of its caller, `stop` the request.
 */
export function createClusterIdentity(
  parts: IdentityParts,
  stop: AbortSignal,
): (signal: AbortSignal) => Promise<string> {
  let shared: { id: Promise<string>; askedMs: number } | undefined

  function ask(): Promise<string> {
    const request = { id: identify(parts, stop), askedMs: performance.now() }
    shared = request
    request.id.catch(() => {
      if (shared === request) shared = undefined
    })
    return request.id
  }

  return async (signal) => {
    signal.throwIfAborted()
    const sinceMs = performance.now() - parts.timing.identityFreshMs
    const id = shared && shared.askedMs > sinceMs ? shared.id : ask()
    const aborted = Promise.withResolvers<never>()
    const onAbort = () => aborted.reject(signal.reason)
    signal.addEventListener('abort', onAbort, { once: true })
    try {
      return await Promise.race([id, aborted.promise])
    } finally {
      signal.removeEventListener('abort', onAbort)
    }
  }
}

/**
 * The identity of this cluster: the uid of its kube-system namespace. Where that must not be read, a hash of
 * the server's address. What is known once stays: a permission that comes or goes does not make another cluster of it.
 * Throws ApiFault, and ClusterError for a 404 that is not of an API server.
 */
async function identify({ client, store, log }: IdentityParts, signal: AbortSignal): Promise<string> {
  const { identities } = store
  const answer = await client.get(KUBE_SYSTEM, {}, signal)
  const { status, body } = answer
  const isUnreadable = status === 403 || isNotFound(answer, 'kube-system')
  // As an ApiFault a 404 would mean that the kind of a watch is not served.
  if (status === 404 && !isUnreadable)
    throw new ClusterError(`the API server answered 404 to ${KUBE_SYSTEM}`, status)
  if (status !== 200 && !isUnreadable) throw faultOf(answer)
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

const KUBE_SYSTEM = '/api/v1/namespaces/kube-system'

function uidOf(body: Buffer): string {
  const { metadata } = objectIn(body, KUBE_SYSTEM) as { metadata?: { uid?: string } }
  if (!metadata?.uid) throw new ClusterError('namespace kube-system has no uid')
  return metadata.uid
}
