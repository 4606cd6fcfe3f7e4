import type { Change, Source } from '../change.ts'
import { BrokenStream } from './api-fault.ts'
import { apiVersionOf } from './api-path.ts'
import { walkMembers } from './json-bytes.ts'
import { createItemSplitter } from './list-items.ts'
import { DEFAULT_MAX_OBJECT_BYTES, type Oversized, reduceToMetadata } from './oversized.ts'
import { scanObject } from './scan.ts'

export interface PageOptions {
  clock: { now(): number }
  /** An item with more JSON is reduced to its metadata, or skipped. Default: DEFAULT_MAX_OBJECT_BYTES. */
  maxObjectBytes?: number
}

/** Some of the items of a list. */
export interface ListPart {
  /** Every item as an ADDED. */
  changes: Change[]
  /** Of JSON, of all of these items. */
  bytes: number
  /** Items that have no identity; they are skipped. */
  unreadable: number
  /** Items larger than the limit. One without `object` is skipped, and counted as unreadable as well. */
  oversized: Oversized[]
}

export interface PageEnd {
  resourceVersion: string
  /** Of the next page; '' for the last one. */
  token: string
}

/** A part has no more items or bytes than this, except for its last item. */
const MAX_ITEMS = 500
const MAX_BYTES = 4 * 1024 * 1024

/**
 * Reads a list without parsing its items: they stay the bytes that the server sent, numbers of any size among them. Yields
 * the items in parts as they come, so that the list may be of any length. Throws BrokenStream when it is no list.
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
    const object = json && scanObject(withIdentity(source, json))
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
