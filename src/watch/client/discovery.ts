import type { Source } from '../../model/change.ts'
import type { Resource } from '../../model/event.ts'
import { parseObject } from '../decode/json-bytes.ts'
import { statusOf, UNAUTHORIZED_ADVICE } from './api-fault.ts'
import { type ClusterClient, ClusterError } from './cluster-client.ts'

/** A resource that can be listed and watched, with the names that users may write. */
export interface DiscoveredResource extends Resource {
  singular: string
  shortNames: readonly string[]
  /** True in the version that the server prefers for its group. */
  preferred: boolean
}

/** All that the cluster offers to watch. */
export interface Catalogue {
  resources: readonly DiscoveredResource[]
  /** Groups with an incomplete answer: the API behind them does not answer. */
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
    // The aggregator remembers the resources of an API that does not answer any more: only what it never read is unknown.
    const stale = items.filter(({ versions }) =>
      versions.some(({ freshness, resources = [] }) => freshness === 'Stale' && resources.length === 0),
    )
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

/** Some aggregated APIs, such as KubeVirt's, have resources without verbs: Go writes them as null. */
function watchable(verbs: readonly string[] | null | undefined): boolean {
  return verbs?.includes('list') === true && verbs.includes('watch')
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
  if (status === 200) return objectIn(body, path)
  const { message } = statusOf(parseObject(body), status)
  const advice = status === 401 ? `; ${UNAUTHORIZED_ADVICE}` : ''
  throw new ClusterError(
    `the API server answered ${status} to ${path}${message && `: ${message}`}${advice}`,
    status,
  )
}

/** What an API server answered with 200. Throws ClusterError: a sign-in page, or another server, answers with something else. */
export function objectIn(body: Buffer, path: string): Record<string, unknown> {
  const object = parseObject(body)
  if (object) return object
  throw new ClusterError(
    `the answer to ${path} is not JSON of an API server: check the address of the cluster`,
  )
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
      verbs?: string[] | null
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
  verbs?: string[] | null
  shortNames?: string[]
}

type Resolution =
  | { kind: 'found'; resource: Resource }
  | { kind: 'ambiguous'; candidates: string[] }
  | { kind: 'absent' }
  /** A group that did not answer may have it. */
  | { kind: 'unsure' }

/**
 * Finds what a spelling means: `Deployment`, `deployments`, `deploy`, `deployments.apps`, `deployments.v1.apps`,
 * `apps/v1/Deployment`, `apps/Deployment`, `v1/Pod`. Built-in groups win over custom ones, and the core group over all,
 * as in kubectl; two custom groups with the same kind are ambiguous.
 */
export function resolveKind(spelling: string, catalogue: Catalogue): Resolution {
  const matches = catalogue.resources.filter((resource) => spells(spelling, resource))
  const groups = [...new Set(matches.map(({ group }) => group))]
  const group = chooseGroup(groups)
  if (group === undefined) {
    if (groups.length === 0)
      return { kind: catalogue.silentGroups.some((it) => mayBeOf(spelling, it)) ? 'unsure' : 'absent' }
    return { kind: 'ambiguous', candidates: groups.map((it) => fullName(matches, it)) }
  }
  const inGroup = matches.filter((resource) => resource.group === group)
  const chosen = inGroup.find(({ preferred }) => preferred) ?? inGroup[0]
  if (!chosen) return { kind: 'absent' }
  const { version, kind, plural, namespaced } = chosen
  return { kind: 'found', resource: { group, version, kind, plural, namespaced } }
}

/** True when a spelling names this resource in any version. */
export function namesResource(spelling: string, resource: DiscoveredResource): boolean {
  const version = versionIn(spelling)
  return spells(spelling, resource) || (version !== '' && spells(spelling, { ...resource, version }))
}

/** The version that a spelling asks for, or ''. Without it `serving.knative.dev/Service` would name the core Service. */
function versionIn(spelling: string): string {
  const path = spelling.split('/')
  if (path.length === 3) return path[1] ?? ''
  const word = path.length === 2 ? path[0] : spelling.split('.')[1]
  return word !== undefined && isVersion(word) ? word : ''
}

/** `v1`, `v2beta2`. */
export function isVersion(word: string): boolean {
  return /^v\d+((alpha|beta)\d+)?$/.test(word)
}

/** Returns the resource that a spelling names in another version than its own, in the preferred one if that is served. */
export function otherVersionOf(spelling: string, { resources }: Catalogue): DiscoveredResource | undefined {
  const named = resources.filter((it) => namesResource(spelling, it))
  return named.find(({ preferred }) => preferred) ?? named[0]
}

/** Returns whether a spelling names the resource of a source; of one that is not served, short names are unknown. */
export function namesSource(spelling: string, source: Pick<Source, 'resource' | 'spelling'>): boolean {
  const resource = { ...source.resource, singular: '', shortNames: [], preferred: true }
  return spelling === source.spelling || namesResource(spelling, resource)
}

/** Returns true if a spelling names this group, or none. */
function mayBeOf(spelling: string, group: string): boolean {
  const parts = spelling.split('/')
  if (parts.length > 1) return parts[0] === group
  return !spelling.includes('.') || spelling.endsWith(`.${group}`)
}

/** `deployments.apps`, or `pods` in the core group. */
export function titleOf({ plural, group }: Pick<Resource, 'plural' | 'group'>): string {
  return group === '' ? plural : `${plural}.${group}`
}

function chooseGroup(groups: readonly string[]): string | undefined {
  if (groups.length <= 1) return groups[0]
  if (groups.includes('')) return ''
  const builtIn = groups.filter((group) => !group.includes('.') || group.endsWith('.k8s.io'))
  return builtIn.length === 1 ? builtIn[0] : undefined
}

function fullName(matches: readonly DiscoveredResource[], group: string): string {
  const { plural = '' } = matches.find((resource) => resource.group === group) ?? {}
  return titleOf({ plural, group })
}

function spells(spelling: string, resource: DiscoveredResource): boolean {
  if (spelling.includes('/')) return spellsPath(spelling.split('/'), resource)
  const dot = spelling.indexOf('.')
  if (dot === -1) return namesKind(spelling, resource)
  const rest = spelling.slice(dot + 1)
  return (
    namesKind(spelling.slice(0, dot), resource) &&
    namesOfGroup(resource).some((group) => rest === group || rest === `${resource.version}.${group}`)
  )
}

/** The documentation of Kubernetes writes `core/v1` for the group without a name. */
function namesOfGroup({ group }: DiscoveredResource): readonly string[] {
  return group === '' ? ['', 'core'] : [group]
}

/** `group/version/Kind`, `group/Kind`, or `version/Kind` of the core group. */
function spellsPath(parts: readonly string[], resource: DiscoveredResource): boolean {
  const kind = parts.at(-1) ?? ''
  if (!namesKind(kind, resource)) return false
  const [first = ''] = parts
  const isOfGroup = namesOfGroup(resource).includes(first)
  if (parts.length === 3) return isOfGroup && parts[1] === resource.version
  if (parts.length !== 2) return false
  return isOfGroup || (resource.group === '' && first === resource.version)
}

function namesKind(word: string, { kind, plural, singular, shortNames }: DiscoveredResource): boolean {
  const lower = word.toLowerCase()
  return lower === kind.toLowerCase() || lower === plural || lower === singular || shortNames.includes(lower)
}

/** `v1`, `apps/v1`. */
export function apiVersionOf({ group, version }: Resource): string {
  return group === '' ? version : `${group}/${version}`
}

/** The API path of a resource's objects, or of one of them. */
export function pathOf(resource: Resource, namespace: string, name?: string): string {
  const root =
    resource.group === '' ? `/api/${resource.version}` : `/apis/${resource.group}/${resource.version}`
  const scope = namespace === '' ? '' : `/namespaces/${encodeURIComponent(namespace)}`
  return `${root}${scope}/${resource.plural}${name === undefined ? '' : `/${encodeURIComponent(name)}`}`
}
