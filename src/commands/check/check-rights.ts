import type { Config } from '../../config/schema.ts'
import { type Missing, reviewOf, tellMissing } from '../../rights/missing.ts'
import { rightsNeeded } from '../../rights/needed.ts'
import type { Right } from '../../rights/right.ts'
import type { ClusterClient } from '../../watch/cluster-client.ts'
import type { Catalogue } from '../../watch/discovery.ts'
import { leaseNamespace } from '../../watch/leases/settings.ts'
import { neededMetadata } from '../rights/needed-metadata.ts'
import { watchedResources } from '../rights/watched-resources.ts'

/** What the API server says of the rights that a configuration needs. */
export interface RightsAnswer {
  missing: Missing[]
  /** Why the rights are not known. */
  unknown?: string
}

const REVIEWS = '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews'
const AT_ONCE = 8

/** Asks the API server for each right that `kubeherald rbac` would print. */
export async function checkRights(
  config: Config,
  {
    client,
    catalogue,
    namespace,
  }: { client: ClusterClient; catalogue: Catalogue; namespace: string | undefined },
  signal: AbortSignal,
): Promise<RightsAnswer> {
  const { watches } = watchedResources(config.watch, (index) => config.placeOf?.(['watch', index]), catalogue)
  const { metadata } = neededMetadata(config, (index) => config.placeOf?.(['rules', index]), catalogue)
  const rights = rightsNeeded({
    watches,
    metadata,
    ...(config.leases && { leaseNamespace: leaseNamespace(config.leases, process.env, namespace) }),
  })
  const missing: Right[] = []
  const waiting = [...rights]
  let unknown: string | undefined
  async function work(): Promise<void> {
    for (let right = waiting.shift(); right && unknown === undefined; right = waiting.shift()) {
      const answer = await ask(client, right, signal)
      if (typeof answer === 'string') unknown = answer
      else if (!answer) missing.push(right)
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, work))
  if (unknown !== undefined) return { missing: [], unknown }
  return { missing: tellMissing(rights.filter((it) => missing.includes(it))) }
}

/** Is it allowed? A text says why nobody knows. */
async function ask(client: ClusterClient, right: Right, signal: AbortSignal): Promise<boolean | string> {
  const { status, body } = await client.send('POST', REVIEWS, reviewOf(right), {}, signal)
  if (status !== 200 && status !== 201) return `the API server answered ${status}`
  const { status: review } = JSON.parse(body.toString()) as { status?: { allowed?: boolean } }
  return review?.allowed === true
}
