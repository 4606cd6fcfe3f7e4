import type { Source } from '../../model/change.ts'
import { METADATA_LIST } from '../list/list.ts'
import { isNotFound } from './api-fault.ts'
import type { ClusterClient } from './cluster-client.ts'
import {
  type Catalogue,
  type DiscoveredResource,
  isVersion,
  namesResource,
  otherVersionOf,
  titleOf,
} from './discovery.ts'

/** `hidden`: reading CustomResourceDefinitions is forbidden, so the state is not known. */
type CrdState = 'there' | 'none' | 'hidden'

const DEFINITIONS = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions'

/** Returns whether a CustomResourceDefinition defines this resource. Throws when the API server does not answer. */
export async function crdStateOf(
  client: ClusterClient,
  { resource }: Pick<Source, 'resource'>,
  signal: AbortSignal,
): Promise<CrdState> {
  if (!resource.group.includes('.')) return 'none'
  const answer = await readDefinition(client, titleOf(resource), signal)
  return typeof answer === 'string' ? answer : 'there'
}

/**
 * The resource that a spelling names, although the API server does not serve what is spelled: its definition is not established
 * yet, the API server has just started, or serves another version. Objects may exist. Throws when the API server does not answer.
 */
export async function findDefined(
  client: ClusterClient,
  spelling: string,
  catalogue: Catalogue,
  signal: AbortSignal,
): Promise<Pick<Source, 'resource'> | 'none' | 'hidden'> {
  const other = otherVersionOf(spelling, catalogue)
  if (other) return { resource: other }
  const served = new Set(catalogue.resources.map(titleOf))
  // The permissions that kubeherald asks for are to read single definitions.
  const guessed = await firstNamed(client, spelling, likelyNames(spelling), signal)
  if (guessed) return guessed
  const names = await definedNames(client, signal)
  if (typeof names === 'string') return names
  // A definition holds schemas of any size: only those of which nothing is served are read.
  const unserved = names.filter((name) => !served.has(name))
  return (await firstNamed(client, spelling, unserved, signal)) ?? 'none'
}

/** Number of objects in a page that fits into one answer: metadata alone may have 512 KiB, of annotations whose quotes are escaped. */
const PAGE_ITEMS = 20

async function definedNames(client: ClusterClient, signal: AbortSignal): Promise<string[] | 'hidden'> {
  const names: string[] = []
  for (let token = ''; ; ) {
    const query = new URLSearchParams({ limit: String(PAGE_ITEMS), ...(token && { continue: token }) })
    const { status, body } = await client.get(`${DEFINITIONS}?${query}`, { accept: METADATA_LIST }, signal)
    if (status === 403) return 'hidden'
    if (status !== 200) throw new Error(`the API server answered ${status} to a list of the CRDs`)
    const { metadata, items } = JSON.parse(body.toString()) as DefinitionPage
    for (const item of items ?? []) names.push(item.metadata.name)
    if (!metadata?.continue) return names
    token = metadata.continue
  }
}

interface DefinitionPage {
  metadata?: { continue?: string }
  items: { metadata: { name: string } }[] | null
}

/** Reads these definitions, up to the first one that the spelling names. */
async function firstNamed(
  client: ClusterClient,
  spelling: string,
  names: readonly string[],
  signal: AbortSignal,
): Promise<Pick<Source, 'resource'> | undefined> {
  for (const name of names) {
    const answer = await readDefinition(client, name, signal)
    if (typeof answer === 'string') continue
    const resource = resourceOf((JSON.parse(answer.toString()) as Definition).spec)
    if (namesResource(spelling, resource)) return { resource }
  }
  return undefined
}

/** Returns the JSON of a definition. Throws when the API server does not answer. */
async function readDefinition(
  client: ClusterClient,
  name: string,
  signal: AbortSignal,
): Promise<Buffer | 'none' | 'hidden'> {
  const answer = await client.get(`${DEFINITIONS}/${name}`, {}, signal)
  if (answer.status === 200) return answer.body
  if (isNotFound(answer, name)) return 'none'
  if (answer.status === 403) return 'hidden'
  throw new Error(`the API server answered ${answer.status} to a read of the CRD ${name}`)
}

/** Names that a definition of a spelling with a group usually has: the plural, a dot, the group. */
function likelyNames(spelling: string): string[] {
  const path = spelling.toLowerCase().split('/')
  const [head = '', ...labels] = path.length > 1 ? [path.at(-1), path[0]] : spelling.toLowerCase().split('.')
  const group = (isVersion(labels[0] ?? '') ? labels.slice(1) : labels).join('.')
  if (!group.includes('.')) return []
  return [head, `${head}s`, `${head}es`, head.replace(/y$/, 'ies')]
    .filter((plural, i, all) => all.indexOf(plural) === i)
    .map((plural) => `${plural}.${group}`)
}

interface Definition {
  spec: {
    group: string
    names: { kind: string; plural: string; singular?: string; shortNames?: string[] }
    scope: string
  }
}

function resourceOf({ group, names, scope }: Definition['spec']): DiscoveredResource {
  const { kind, plural, singular = kind.toLowerCase(), shortNames = [] } = names
  const namespaced = scope === 'Namespaced'
  return { group, version: '', kind, plural, singular, shortNames, namespaced, preferred: true }
}
