import { existsSync } from 'node:fs'
import { formatProblems } from '../../config/problem.ts'
import { STANDARD_INPUT } from '../../config/read-text.ts'
import type { Config } from '../../config/schema.ts'
import type { Resource } from '../../model/event.ts'
import { printable } from '../../text/printable.ts'
import { userAgent } from '../../version.ts'
import { ApiFault, faultOf } from '../../watch/client/api-fault.ts'
import type { ClusterClient } from '../../watch/client/cluster-client.ts'
import { connectCluster } from '../../watch/client/connect.ts'
import { type Catalogue, discover, pathOf, resolveKind } from '../../watch/client/discovery.ts'
import { findKubeconfig } from '../../watch/client/kubeconfig.ts'
import { kubeconfigOptions, loadCluster } from '../environment.ts'
import { readInput } from '../load-config/read-configuration.ts'
import { UsageError } from '../usage-error.ts'
import { changesIn, type ReadChange, readObjects } from './read-objects.ts'

interface ExplainInput {
  /** Its source, for messages. */
  from: string
  changes: readonly ReadChange[]
  /** Objects known besides. */
  around: readonly unknown[]
  /** What is not known, and why. */
  notes: readonly string[]
}

/** Reads what is to be explained: a file, the standard input for `-`, else an object of the cluster. */
export async function readExplainInput(
  target: string,
  config: Config,
  context: string | undefined,
): Promise<ExplainInput> {
  const live = target === '-' || existsSync(target) ? undefined : liveTarget(target)
  const isFile = /\.(ya?ml|json)$/.test(target)
  if (!live && !isFile && target !== '-' && !existsSync(target))
    throw new UsageError(`there is no file "${target}"; an object of the cluster is ${WRITTEN}`)
  if (!live || isFile) return { ...(await readFromFile(target)), around: [], notes: [] }
  const kubeconfig = kubeconfigOptions(config.kubernetes, context)
  if (context === undefined && !findKubeconfig(kubeconfig))
    throw new UsageError(
      `there is no file ${target}, and no kubeconfig ($KUBECONFIG, ~/.kube/config) to ask a cluster for such an object`,
    )
  const { namespace = 'default' } = loadCluster(kubeconfig)
  const client = connectCluster({ ...kubeconfig, userAgent })
  const signal = AbortSignal.timeout(15_000)
  try {
    const catalogue = await discover(client, signal)
    const { object, around, notes } = await readLive(live, client, catalogue, namespace, signal)
    return { from: `the cluster at ${client.url}`, changes: [{ object }], around, notes }
  } catch (error) {
    if (error instanceof UsageError) throw error
    throw new Error(
      `${target} cannot be read from the cluster at ${client.url}: ${(error as Error).message}`,
      {
        cause: error,
      },
    )
  } finally {
    await client.close()
  }
}

async function readFromFile(file: string): Promise<Pick<ExplainInput, 'from' | 'changes'>> {
  const from = file === '-' ? STANDARD_INPUT : file
  const text = await readInput(file)
  const read = readObjects(from, text)
  if (!read.ok)
    throw new UsageError(
      `${from} cannot be read\n\n${formatProblems(read.problems, new Map([[from, text]]))}`,
    )
  const changes = read.values.map(changesIn)
  if (changes.some((it) => it === undefined))
    throw new UsageError(`${from} is not a Kubernetes object: ${WANTED}`)
  return { from, changes: changes.flatMap((it) => it ?? []) }
}

/** The one object of a file, such as the former state of another. */
export async function readOneObject(file: string): Promise<unknown> {
  const { from, changes } = await readFromFile(file)
  const [only] = changes
  if (!only || changes.length > 1)
    throw new UsageError(`${from} must hold one object, and holds ${changes.length}`)
  return only.object
}

const WRITTEN = 'written kind/namespace/name or kind/name: pod/shop/web-1, node/worker-1'
const WANTED =
  'it needs apiVersion and kind. A List, a frame of a watch, a CloudEvent or a dead letter of kubeherald will do, too'

type Json = Readonly<Record<string, unknown>>

interface LiveObject {
  object: Json
  /** Namespaces, controllers, and what an Event is about: metadata alone. */
  around: readonly Json[]
  /** What could not be read, and why. */
  notes: readonly string[]
}

interface LiveTarget {
  kind: string
  namespace: string | undefined
  name: string
}

/** `kind/namespace/name` or `kind/name`; undefined when it is written like neither. */
function liveTarget(text: string): LiveTarget | undefined {
  const [, kind = '', namespace, name = ''] =
    /^([A-Za-z][\w.-]*)\/(?:([^/\s]+)\/)?([^/\s]+)$/.exec(text) ?? []
  return name === '' ? undefined : { kind, namespace, name }
}

const METADATA_ONLY = 'application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json'
const LIST = 'application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json'
const MOST_OWNERS = 10
const MOST_PLACES = 5

/** Reads an object from the cluster, and what is known around it: each by one GET. */
async function readLive(
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

  /** Without a namespace the error names those that have an object of the name. */
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
