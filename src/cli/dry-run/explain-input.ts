import type { Resource } from '../../event.ts'
import { printable } from '../../printable.ts'
import { ApiFault, faultOf } from '../../watch/api-fault.ts'
import { pathOf } from '../../watch/api-path.ts'
import type { ClusterClient } from '../../watch/cluster-client.ts'
import type { Catalogue } from '../../watch/discovery.ts'
import { resolveKind } from '../../watch/resolve.ts'
import { UsageError } from '../usage-error.ts'

type Json = Readonly<Record<string, unknown>>

export interface LiveObject {
  object: Json
  /** Namespaces, controllers, and what an Event is about: metadata alone. */
  around: readonly Json[]
  /** What could not be read, and why. */
  notes: readonly string[]
}

export interface LiveTarget {
  kind: string
  namespace: string | undefined
  name: string
}

/** `kind/namespace/name` or `kind/name`; undefined when it is written like neither. */
export function liveTarget(text: string): LiveTarget | undefined {
  const [, kind = '', namespace, name = ''] =
    /^([A-Za-z][\w.-]*)\/(?:([^/\s]+)\/)?([^/\s]+)$/.exec(text) ?? []
  return name === '' ? undefined : { kind, namespace, name }
}

const METADATA_ONLY = 'application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json'
const LIST = 'application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json'
const MOST_OWNERS = 10
const MOST_PLACES = 5

/** Reads an object from the cluster, and what is known around it: each by one GET. */
export async function readLive(
  target: LiveTarget,
  client: ClusterClient,
  catalogue: Catalogue,
  ownNamespace: string,
  signal: AbortSignal,
): Promise<LiveObject> {
  const resource = resourceOf(target.kind, catalogue)
  if (!resource.namespaced && target.namespace !== undefined)
    throw new UsageError(`${resource.kind} is not namespaced: write ${target.kind}/${target.name}`)
  const namespace = resource.namespaced ? (target.namespace ?? ownNamespace) : ''
  const object = await get(resource, namespace, target.name).catch(elsewhere)
  const around: Json[] = []
  const notes: string[] = []

  async function get(of: Resource, inNamespace: string, name: string, accept?: string): Promise<Json> {
    const answer = await client.get(
      pathOf(of, inNamespace, name),
      accept === undefined ? {} : { accept },
      signal,
    )
    if (answer.status !== 200) throw faultOf(answer)
    return JSON.parse(answer.body.toString()) as Json
  }

  /** Whoever names no namespace is told where objects of that name are. */
  async function elsewhere(fault: unknown): Promise<never> {
    const isAsked = resource.namespaced && target.namespace === undefined
    if (!isAsked || !(fault instanceof ApiFault) || fault.status.code !== 404) throw fault
    const query = `fieldSelector=${encodeURIComponent(`metadata.name=${target.name}`)}&limit=${MOST_PLACES}`
    const answer = await client.get(`${pathOf(resource, '', '')}?${query}`, { accept: LIST }, signal)
    if (answer.status !== 200) throw fault
    const { items } = JSON.parse(answer.body.toString()) as { items: Json[] | null }
    const places = (items ?? []).map((it) => `${target.kind}/${metadataOf(it).namespace}/${target.name}`)
    const hint = places.length > 0 ? `: write ${places.join(' or ')}` : ', and in no other'
    throw new UsageError(`there is no ${resource.kind} "${target.name}" in the namespace ${namespace}${hint}`)
  }

  async function look(of: Resource, inNamespace: string, name: string): Promise<Json | undefined> {
    try {
      const found = await get(of, inNamespace, name, METADATA_ONLY)
      const apiVersion = of.group === '' ? of.version : `${of.group}/${of.version}`
      const known = { ...found, apiVersion, kind: of.kind }
      around.push(known)
      return known
    } catch (error) {
      if (!(error instanceof ApiFault)) throw error
      notes.push(printable(`${of.kind} ${name} is not known: ${error.message}`))
      return undefined
    }
  }

  async function climb(from: Json | undefined): Promise<void> {
    let at = from
    for (let step = 0; at && step < MOST_OWNERS; step++) {
      const owner = controllerOf(at)
      const of = owner && referred(owner, catalogue)
      at = of && (await look(of, of.namespaced ? (metadataOf(at).namespace ?? '') : '', owner.name ?? ''))
    }
  }

  const namespaces = catalogue.resources.find(({ kind, group }) => kind === 'Namespace' && group === '')
  if (namespace !== '' && namespaces) await look(namespaces, '', namespace)
  const about = (object['involvedObject'] ?? object['regarding']) as Reference | undefined
  const regarded = resource.kind === 'Event' && about ? referred(about, catalogue) : undefined
  if (regarded && about?.name) {
    const place = regarded.namespaced ? (about.namespace ?? namespace) : ''
    await climb(await look(regarded, place, about.name))
  } else await climb(object)
  return { object, around, notes }
}

function resourceOf(kind: string, catalogue: Catalogue): Resource {
  const found = resolveKind(kind, catalogue)
  if (found.kind === 'found') return found.resource
  if (found.kind === 'ambiguous')
    throw new UsageError(`"${kind}" is ambiguous: write ${found.candidates.join(' or ')}`)
  throw new UsageError(
    `there is no file of that name, and the cluster has no kind "${kind}"; such as pod/shop/web-1, node/worker-1`,
  )
}

interface Reference {
  apiVersion?: string
  kind?: string
  namespace?: string
  name?: string
  controller?: boolean
}

function referred({ apiVersion = 'v1', kind }: Reference, { resources }: Catalogue): Resource | undefined {
  const slash = apiVersion.indexOf('/')
  const group = slash === -1 ? '' : apiVersion.slice(0, slash)
  const version = apiVersion.slice(slash + 1)
  const known = resources.filter((it) => it.kind === kind && it.group === group)
  return known.find((it) => it.version === version) ?? known[0]
}

function metadataOf(object: Json): { namespace?: string; ownerReferences?: Reference[] } {
  return (object['metadata'] ?? {}) as { namespace?: string; ownerReferences?: Reference[] }
}

function controllerOf(object: Json): Reference | undefined {
  return metadataOf(object).ownerReferences?.find(({ controller }) => controller === true)
}
