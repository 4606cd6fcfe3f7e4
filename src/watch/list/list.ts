import { setTimeout as pause } from 'node:timers/promises'
import type { Change, ScannedObject, Source } from '../../model/change.ts'
import { ApiFault, BrokenStream, faultOfStream, isExpired } from '../client/api-fault.ts'
import type { ClusterClient } from '../client/cluster-client.ts'
import { apiVersionOf, pathOf } from '../client/discovery.ts'
import { walkMembers } from '../decode/json-bytes.ts'
import { DEFAULT_MAX_OBJECT_BYTES, type Oversized, reduceToMetadata } from '../decode/oversized.ts'
import { scanObject } from '../decode/scan.ts'
import { createItemSplitter } from '../decode/splitters.ts'
import { shardSelectorOf } from '../plan/shards.ts'

/** What is there now, page by page; ends with the position that a watch goes on from. */
export type InitialState = AsyncGenerator<Change[], string>

export interface ListOptions extends PageOptions {
  /** Only metadata: enough for the index. */
  metadataOnly: boolean
  /** All in one answer. */
  whole?: boolean
  /** The state at this resourceVersion, instead of the present one. */
  at?: string
  /** How much of a page is held. Default: 32 MiB. */
  maxPageBytes?: number
  /** Called for each item that has no identity; it is skipped. */
  onUnreadable(): void
  /** Called for each item larger than `maxObjectBytes`. */
  onOversized?(oversized: Oversized): void
  /** Called when a page is refused, and will be requested again after `delayMs`. */
  onRefused?(delayMs: number): void
  /** Default: Math.random. */
  random?(): number
}

const MAX_PAGE_ITEMS = 500
const MAX_PAGE_BYTES = 32 * 1024 * 1024
const LIST_TIMEOUT_MS = 120_000
/** How often in a row a page is asked for again. */
const MOST_REFUSALS = 5
/** Pause for a server that names none. */
const REFUSED_MS = 1_000
/** The server may have forgotten the state of the pages after a longer pause. */
const MOST_REFUSED_MS = 30_000

/** Prefers metadata alone; servers that cannot do that (406, or none of it) send whole objects. */
export const METADATA_LIST =
  'application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json'
export const METADATA_WATCH = 'application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json'

/**
 * The server forgot the state that a list in pages began with. What was read of it is not part of any other state: who
 * compares must start over, with a `whole` list. The server's offer of an inconsistent token could hide deletions.
 */
export class ListExpired extends Error {
  override name = 'ListExpired'

  constructor() {
    super('the list took longer than the server keeps its state')
  }
}

/**
 * A consistent list. Never at resourceVersion=0: that may be older than what was emitted. At most `maxPageBytes` of a page are
 * held: of larger objects fewer are asked for at a time. What cannot be had in pages is read as fast as the consumer takes it.
 * A page behind the first that a busy server refuses is asked for again. Throws ApiFault and ListExpired.
 */
export async function* listObjects(
  client: ClusterClient,
  source: Source,
  options: ListOptions,
  signal: AbortSignal,
): InitialState {
  let token = ''
  let limit = options.whole ? undefined : MAX_PAGE_ITEMS
  // A page of before, ever further on: pages that lead back meet it, in whatever circle (Brent's algorithm).
  let known = token
  let until = 1
  for (let pages = 0, refusals = 0; ; ) {
    let end: PageRead
    try {
      end = yield* onePage(client, source, { ...options, limit, token }, signal)
    } catch (error) {
      const delayMs = token === '' || ++refusals > MOST_REFUSALS ? undefined : refusedMs(error, options)
      if (delayMs === undefined) throw error
      options.onRefused?.(delayMs)
      await pause(delayMs, undefined, { signal })
      continue
    }
    refusals = 0
    if (!end.isTooLarge && end.token === '') return end.resourceVersion
    limit &&= nextLimit(limit, end, options)
    if (end.isTooLarge) continue
    token = end.token
    if (token === known) throw new BrokenStream('the pages of a list lead back to one that was read')
    if (++pages < until) continue
    known = token
    until = 2 * pages
  }
}

/** Returns the milliseconds until a page may be asked for again; undefined if its list has to begin again. */
function refusedMs(error: unknown, { random = Math.random }: ListOptions): number | undefined {
  if (!(error instanceof ApiFault)) return undefined
  const { code, retryAfterMs } = error.status
  const isBusy = code === 429 || ((code === 503 || code === 504) && retryAfterMs !== undefined)
  const leastMs = retryAfterMs ?? REFUSED_MS
  return isBusy && leastMs <= MOST_REFUSED_MS ? leastMs * (1 + random() / 2) : undefined
}

/** The collection's current position, from a list of one. */
export async function currentPosition(
  client: ClusterClient,
  source: Source,
  signal: AbortSignal,
): Promise<string> {
  const options = { clock: Date, metadataOnly: true, limit: 1, token: '' }
  const page = await openPage(client, source, options, signal)
  for (;;) {
    const { done, value } = await page.next()
    if (done) return value.resourceVersion
  }
}

interface PageRequest extends PageOptions {
  metadataOnly: boolean
  /** Undefined asks for all in one answer. */
  limit: number | undefined
  token: string
  at?: string
}

interface PageRead extends PageEnd {
  items: number
  bytes: number
  /** Nothing of it was yielded: it is to be asked for again, with fewer items. */
  isTooLarge?: true
}

/** Yields a page once it is whole, so that the server does not wait while it is stored; a long one as it comes. */
async function* onePage(
  client: ClusterClient,
  source: Source,
  request: PageRequest & ListOptions,
  signal: AbortSignal,
): AsyncGenerator<Change[], PageRead> {
  const { limit, maxPageBytes = MAX_PAGE_BYTES } = request
  const tooLate = new AbortController()
  const giveUp = () => tooLate.abort(new BrokenStream('a list took too long'))
  const timer = limit === undefined ? undefined : setTimeout(giveUp, LIST_TIMEOUT_MS)
  const held: ListPart[] = []
  let page: Awaited<ReturnType<typeof openPage>> | undefined
  let items = 0
  let bytes = 0
  try {
    page = await openPage(client, source, request, AbortSignal.any([signal, tooLate.signal]))
    for (;;) {
      const { done, value } = await page.next()
      if (done) {
        yield* taken(held, request)
        return { ...value, items, bytes }
      }
      held.push(value)
      items += value.changes.length + value.unreadable
      bytes += value.bytes
      if (limit === undefined || items > limit) {
        // The server ignores the limit, or there is none.
        clearTimeout(timer)
        yield* taken(held, request)
      } else if (bytes > maxPageBytes && limit > 1) {
        return { resourceVersion: '', token: '', items, bytes, isTooLarge: true }
      }
    }
  } finally {
    clearTimeout(timer)
    await page?.return({ resourceVersion: '', token: '' })
  }
}

function* taken(parts: ListPart[], { onUnreadable, onOversized }: ListOptions): Generator<Change[]> {
  for (let part = parts.shift(); part; part = parts.shift()) {
    for (let i = 0; i < part.unreadable; i++) onUnreadable()
    for (const oversized of part.oversized) onOversized?.(oversized)
    if (part.changes.length > 0) yield part.changes
  }
}

/** Aims at half of what a page may have: objects of one collection differ in size. */
function nextLimit(
  limit: number,
  { items, bytes, isTooLarge }: PageRead,
  { maxPageBytes = MAX_PAGE_BYTES }: ListOptions,
): number {
  if (isTooLarge) return Math.max(1, Math.min(Math.floor(limit / 2), Math.floor(items / 2)))
  const fitting = Math.floor((maxPageBytes / 2) * (items / Math.max(bytes, 1)))
  return Math.max(1, Math.min(2 * limit, fitting, MAX_PAGE_ITEMS))
}

/** Asks for a page. Throws ApiFault and ListExpired. */
async function openPage(
  client: ClusterClient,
  source: Source,
  { metadataOnly, limit, token, at, ...options }: PageRequest,
  signal: AbortSignal,
): Promise<AsyncGenerator<ListPart, PageEnd>> {
  const page = limit === undefined ? {} : { limit: String(limit), ...(token && { continue: token }) }
  // The token has the position of its list.
  const exact = at === undefined || token ? {} : { resourceVersion: at, resourceVersionMatch: 'Exact' }
  const query = { ...page, ...exact }
  const accept = metadataOnly ? { accept: METADATA_LIST } : {}
  const how = {
    ...accept,
    verb: 'get',
    headersTimeoutMs: LIST_TIMEOUT_MS,
    bodyTimeoutMs: LIST_TIMEOUT_MS,
  } as const
  const answer = await client.stream(collectionPath(source, query), how, signal)
  if (answer.status === 200) return readPage(source, answer.body, options)
  const fault = await faultOfStream(answer)
  throw token && isExpired(fault.status) ? new ListExpired() : fault
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

interface PageOptions {
  clock: { now(): number }
  /** An item with more JSON is reduced to its metadata, or skipped. Default: DEFAULT_MAX_OBJECT_BYTES. */
  maxObjectBytes?: number
}

/** Some of the items of a list. */
export interface ListPart {
  /** Every item as an ADDED. */
  changes: Change[]
  /** Size of the JSON of all of these items. */
  bytes: number
  /** Items that have no identity; they are skipped. */
  unreadable: number
  /** Items larger than the limit. One without `object` is skipped, and counted as unreadable as well. */
  oversized: Oversized[]
}

export interface PageEnd {
  resourceVersion: string
  /** Token of the next page; '' for the last one. */
  token: string
}

/** A part has no more items or bytes than this, except for its last item. */
const MAX_ITEMS = 500
const MAX_BYTES = 4 * 1024 * 1024

/**
 * Reads a list without parsing its items: they stay the bytes that the server sent, numbers of any size among them. Yields
 * the items in parts as they come, so that the list may be of any length. Throws BrokenStream when it is not a list.
 */
export async function* readPage(
  source: Source,
  body: AsyncIterable<Buffer>,
  { clock, maxObjectBytes = DEFAULT_MAX_OBJECT_BYTES }: PageOptions,
): AsyncGenerator<ListPart, PageEnd> {
  const items = createItemSplitter({ maxBytes: maxObjectBytes })
  let parts: ListPart[] = []
  let part = emptyPart()

  function take(item: Buffer, length: number): void {
    const isOversized = length > item.length
    const json = isOversized ? reduceToMetadata(item, length) : item
    const object = json && scanItem(source, json)
    if (object) part.changes.push({ type: 'ADDED', object, observedAtMs: clock.now() })
    else part.unreadable++
    if (isOversized) part.oversized.push({ bytes: length, ...(object && { object }) })
    part.bytes += json?.length ?? 0
    if (part.changes.length < MAX_ITEMS && part.bytes < MAX_BYTES) return
    parts.push(part)
    part = emptyPart()
  }

  for await (const chunk of body) {
    items.push(chunk, take)
    yield* parts
    parts = []
  }
  const { metadata } = items.end()
  if (!metadata?.resourceVersion) throw new BrokenStream('a list has no resourceVersion')
  yield part
  return { resourceVersion: metadata.resourceVersion, token: metadata.continue ?? '' }
}

function emptyPart(): ListPart {
  return { changes: [], bytes: 0, unreadable: 0, oversized: [] }
}

function scanItem(source: Source, item: Buffer): ScannedObject | undefined {
  try {
    return scanObject(withIdentity(source, item))
  } catch {
    // A key has a wrong escape: such bytes are no JSON.
    return undefined
  }
}

/** Items of built-in lists carry no kind and apiVersion: they are added, first, as in a watch. */
function withIdentity({ resource }: Source, item: Buffer): Buffer {
  let named = false
  walkMembers(item, 0, (key) => {
    named = key === 'kind'
    return named
  })
  if (named) return item
  const identity = { kind: resource.kind, apiVersion: apiVersionOf(resource) }
  const head = `${JSON.stringify(identity).slice(0, -1)},`
  return Buffer.concat([Buffer.from(head), item.subarray(item.indexOf('{') + 1)])
}
