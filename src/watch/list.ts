import type { Change, Source } from '../change.ts'
import { faultOf, isExpired } from './api-fault.ts'
import { pathOf } from './api-path.ts'
import type { ClusterClient, ClusterResponse } from './cluster-client.ts'
import { type PageOptions, readPage } from './list-page.ts'
import { shardSelectorOf } from './shards.ts'

/** What is there now, page by page; ends with the position that a watch goes on from. */
export type InitialState = AsyncGenerator<Change[], string>

export interface ListOptions extends PageOptions {
  /** Only metadata: enough for the index. */
  metadataOnly: boolean
  /** All in one answer. */
  whole?: boolean
}

const PAGE = 500
const LIST_TIMEOUT_MS = 120_000

/** Prefers metadata alone; servers that cannot do that (406, or none of it) send whole objects. */
export const METADATA_LIST =
  'application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json'
export const METADATA_WATCH = 'application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json'

/**
 * The server forgot the state that a list in pages began with. What was read of it is no part of any other state: who
 * compares must begin anew, with a `whole` list. The server's offer of an inconsistent token could hide deletions.
 */
export class ListExpired extends Error {
  override name = 'ListExpired'

  constructor() {
    super('the list took longer than the server keeps its state')
  }
}

/** A consistent list. Never at resourceVersion=0: that may be older than what was emitted. Throws ListExpired. */
export async function* listObjects(
  client: ClusterClient,
  source: Source,
  options: ListOptions,
  signal: AbortSignal,
): InitialState {
  let token = ''
  for (;;) {
    const query = options.whole ? {} : { limit: String(PAGE), ...(token && { continue: token }) }
    const answer = await getList(client, source, options, query, signal)
    if (answer.status !== 200) {
      const fault = faultOf(answer)
      throw token && isExpired(fault.status) ? new ListExpired() : fault
    }
    const page = readPage(source, answer.body, options)
    for (let start = 0; start < page.changes.length; start += PAGE)
      yield page.changes.slice(start, start + PAGE)
    if (!page.token) return page.resourceVersion
    token = page.token
  }
}

/** The collection's current position, from a list of one. */
export async function currentPosition(
  client: ClusterClient,
  source: Source,
  signal: AbortSignal,
): Promise<string> {
  const answer = await getList(client, source, { metadataOnly: true }, { limit: '1' }, signal)
  if (answer.status !== 200) throw faultOf(answer)
  return readPage(source, answer.body, { clock: Date, onUnreadable() {} }).resourceVersion
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
    ...(source.shard && { shardSelector: shardSelectorOf(source.shard) }),
    ...query,
  })
  return `${pathOf(source.resource, source.namespace)}?${all}`
}
