import type { Resource } from '../event.ts'
import { UNAUTHORIZED_ADVICE } from './api-fault.ts'
import { type ClusterClient, ClusterError } from './cluster-client.ts'
import { statusOf } from './frame.ts'

/** A resource that can be listed and watched, with the words people use for it. */
export interface DiscoveredResource extends Resource {
  singular: string
  shortNames: readonly string[]
  /** True in the version that the server prefers for its group. */
  preferred: boolean
}

/** All that the cluster offers to watch. */
export interface Catalogue {
  resources: readonly DiscoveredResource[]
  /** Groups of which the server could not say everything: the API behind them does not answer. */
  silentGroups: readonly string[]
}

const ACCEPT = ['v2', 'v2beta1']
  .map((version) => `application/json;g=apidiscovery.k8s.io;v=${version};as=APIGroupDiscoveryList`)
  .concat('application/json')
  .join(',')

/** Asks what can be watched: two requests to a server with aggregated discovery (1.27 and newer), one per group to others. */
export async function discover(client: ClusterClient, signal: AbortSignal): Promise<Catalogue> {
  const lists = await Promise.all(['/api', '/apis'].map((path) => discoverBelow(client, path, signal)))
  return {
    resources: lists.flatMap(({ resources }) => resources),
    silentGroups: lists.flatMap(({ silentGroups }) => silentGroups),
  }
}

async function discoverBelow(client: ClusterClient, path: string, signal: AbortSignal): Promise<Catalogue> {
  const answer = (await getJson(client, path, ACCEPT, signal)) as Answer
  if (answer.kind === 'APIGroupDiscoveryList') {
    const items = answer.items ?? []
    const stale = items.filter(({ versions }) => versions.some(({ freshness }) => freshness === 'Stale'))
    return {
      resources: items.flatMap(resourcesOfGroup),
      silentGroups: stale.map(({ metadata }) => metadata.name ?? ''),
    }
  }
  const silent = new Set<string>()
  const groups = answer.kind === 'APIVersions' ? [coreGroup(answer.versions ?? [])] : (answer.groups ?? [])
  const lists = groups.flatMap((group) =>
    group.versions.map(async ({ version, groupVersion }, i) => {
      const below = group.name === '' ? `/api/${version}` : `/apis/${groupVersion}`
      // One broken aggregated API must not hide the others.
      const list = (await getJson(client, below, undefined, signal).catch(() => {
        silent.add(group.name)
        return {}
      })) as ResourceList
      const preferred = group.preferredVersion ? group.preferredVersion.version === version : i === 0
      return (list.resources ?? []).flatMap((it) => legacyResource(group.name, version, preferred, it))
    }),
  )
  const resources = (await Promise.all(lists)).flat()
  return { resources, silentGroups: [...silent] }
}

function resourcesOfGroup({ metadata, versions }: Group): DiscoveredResource[] {
  const group = metadata.name ?? ''
  return versions.flatMap(({ version, resources }, i) =>
    (resources ?? []).flatMap((it): DiscoveredResource[] => {
      if (!watchable(it.verbs)) return []
      return [
        {
          group,
          version,
          kind: it.responseKind?.kind ?? '',
          plural: it.resource,
          namespaced: it.scope === 'Namespaced',
          singular: it.singularResource ?? '',
          shortNames: it.shortNames ?? [],
          preferred: i === 0,
        },
      ]
    }),
  )
}

function legacyResource(
  group: string,
  version: string,
  preferred: boolean,
  it: LegacyResource,
): DiscoveredResource[] {
  if (it.name.includes('/') || !watchable(it.verbs)) return []
  const { name: plural, kind, namespaced, singularName: singular = '', shortNames = [] } = it
  return [{ group, version, kind, plural, namespaced, singular, shortNames, preferred }]
}

function watchable(verbs: readonly string[]): boolean {
  return verbs.includes('list') && verbs.includes('watch')
}

function coreGroup(versions: readonly string[]): LegacyGroup {
  return { name: '', versions: versions.map((version) => ({ version, groupVersion: version })) }
}

async function getJson(
  client: ClusterClient,
  path: string,
  accept: string | undefined,
  signal: AbortSignal,
): Promise<unknown> {
  const { status, body } = await client.get(path, accept === undefined ? {} : { accept }, signal)
  if (status === 200) return JSON.parse(body.toString())
  const { message } = statusOf(parseOrEmpty(body), status)
  const advice = status === 401 ? `; ${UNAUTHORIZED_ADVICE}` : ''
  throw new ClusterError(`the API server answered ${status} to ${path}${message && `: ${message}`}${advice}`)
}

function parseOrEmpty(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString())
  } catch {
    return {}
  }
}

interface Answer {
  kind?: string
  items?: Group[]
  versions?: string[]
  groups?: LegacyGroup[]
}
interface Group {
  metadata: { name?: string }
  versions: {
    version: string
    freshness?: 'Current' | 'Stale'
    resources?: {
      resource: string
      responseKind?: { kind: string }
      scope: string
      singularResource?: string
      verbs: string[]
      shortNames?: string[]
    }[]
  }[]
}
interface LegacyGroup {
  name: string
  versions: { version: string; groupVersion: string }[]
  preferredVersion?: { version: string }
}
interface ResourceList {
  resources?: LegacyResource[]
}
interface LegacyResource {
  name: string
  singularName?: string
  namespaced: boolean
  kind: string
  verbs: string[]
  shortNames?: string[]
}
