import type { Change, Source } from '../change.ts'
import { BrokenStream, faultOf, isExpired } from './api-fault.ts'
import type { ClusterClient, ClusterResponse } from './cluster-client.ts'
import { apiVersionOf, pathOf } from './normalise.ts'
import { scanObject } from './scan.ts'

/** What is there now, page by page; ends with the position that a watch goes on from. */
export type InitialState = AsyncGenerator<Change[], string>

export interface ListOptions {
  /** Only metadata: enough for the index. */
  metadataOnly: boolean
  clock: { now(): number }
}

const PAGE = 500
const LIST_TIMEOUT_MS = 120_000

/** Prefers metadata alone; servers that cannot do that (406, or none of it) send whole objects. */
export const METADATA_LIST =
  'application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json'
export const METADATA_WATCH = 'application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json'

/**
 * A consistent list in pages. Never at resourceVersion=0: that may be older than what was emitted. When a continue token
 * expires, the list begins anew, unpaginated: the server's inconsistent token could hide deletions.
 */
export async function* listObjects(
  client: ClusterClient,
  source: Source,
  options: ListOptions,
  signal: AbortSignal,
): InitialState {
  let token = ''
  for (;;) {
    const answer = await getList(
      client,
      source,
      options,
      { limit: String(PAGE), ...(token && { continue: token }) },
      signal,
    )
    if (answer.status === 200) {
      const page = readPage(source, answer.body, options.clock.now())
      if (page.objects.length > 0) yield page.objects
      if (!page.token) return page.resourceVersion
      token = page.token
      continue
    }
    const fault = faultOf(answer)
    if (!token || !isExpired(fault.status)) throw fault
    return yield* listWhole(client, source, options, signal)
  }
}

async function* listWhole(
  client: ClusterClient,
  source: Source,
  options: ListOptions,
  signal: AbortSignal,
): InitialState {
  const answer = await getList(client, source, options, {}, signal)
  if (answer.status !== 200) throw faultOf(answer)
  const { objects, resourceVersion } = readPage(source, answer.body, options.clock.now())
  for (let start = 0; start < objects.length; start += PAGE) yield objects.slice(start, start + PAGE)
  return resourceVersion
}

/** The collection's current position, from a list of one. */
export async function currentPosition(
  client: ClusterClient,
  source: Source,
  signal: AbortSignal,
): Promise<string> {
  const answer = await getList(client, source, { metadataOnly: true }, { limit: '1' }, signal)
  if (answer.status !== 200) throw faultOf(answer)
  return readPage(source, answer.body, 0).resourceVersion
}

async function getList(
  client: ClusterClient,
  source: Source,
  { metadataOnly }: Pick<ListOptions, 'metadataOnly'>,
  query: Record<string, string>,
  signal: AbortSignal,
): Promise<ClusterResponse> {
  const accept = metadataOnly ? { accept: METADATA_LIST } : {}
  return client.get(collectionPath(source, query), { ...accept, timeoutMs: LIST_TIMEOUT_MS }, signal)
}

/** The path of a source's collection, with its selectors. */
export function collectionPath(source: Source, query: Record<string, string>): string {
  const all = new URLSearchParams({
    ...(source.labelSelector && { labelSelector: source.labelSelector }),
    ...(source.fieldSelector && { fieldSelector: source.fieldSelector }),
    ...query,
  })
  return `${pathOf(source.resource, source.namespace)}?${all}`
}

interface Page {
  objects: Change[]
  resourceVersion: string
  token: string
}

/** Items of built-in lists carry no kind and apiVersion: they are added, first, as in a watch. */
function readPage(source: Source, body: Buffer, observedAtMs: number): Page {
  const list = parseList(body)
  const identity = { kind: source.resource.kind, apiVersion: apiVersionOf(source.resource) }
  const objects = (list.items ?? []).map((item): Change => {
    const scanned = scanObject(Buffer.from(JSON.stringify({ ...identity, ...item })))
    if (!scanned) throw new BrokenStream('an item of a list has no metadata')
    return { type: 'ADDED', object: scanned, observedAtMs }
  })
  const resourceVersion = list.metadata?.resourceVersion
  if (!resourceVersion) throw new BrokenStream('a list has no resourceVersion')
  return { objects, resourceVersion, token: list.metadata?.continue ?? '' }
}

function parseList(body: Buffer): {
  items?: object[] | null
  metadata?: { resourceVersion?: string; continue?: string }
} {
  try {
    return JSON.parse(body.toString())
  } catch (cause) {
    throw new BrokenStream('a list is no JSON', { cause })
  }
}
