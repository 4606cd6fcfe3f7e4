import type { ServerResponse } from 'node:http'
import type { ServedResource } from './catalogue.ts'
import { type Form, show, showPosition } from './form.ts'
import { parseFlag, parseNumber, parsePosition } from './parameters.ts'
import type { Selection } from './selection.ts'
import { expired, Refusal } from './status.ts'
import { lastState, type Store, type Write } from './store.ts'

/** What a watch asks for. */
export interface WatchQuery {
  resource: ServedResource
  selects: Selection
  form: Form
  /** Undefined or 0: from what there is now. */
  position: number | undefined
  /** Begin with everything that there is, and say when that was all (KEP-3157). */
  initialEvents: boolean
  bookmarks: boolean
  timeoutMs: number
}

export function watchQueryOf(
  resource: ServedResource,
  selects: Selection,
  form: Form,
  query: URLSearchParams,
): WatchQuery {
  const initialEvents = parseFlag(query.get('sendInitialEvents'))
  const match = query.get('resourceVersionMatch') ?? ''
  if (initialEvents && match !== 'NotOlderThan')
    throw invalid('sendInitialEvents requires setting resourceVersionMatch to NotOlderThan')
  if (!query.has('sendInitialEvents') && match !== '')
    throw invalid('resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided')
  return {
    resource,
    selects,
    form,
    position: parsePosition(query.get('resourceVersion') ?? ''),
    initialEvents,
    bookmarks: parseFlag(query.get('allowWatchBookmarks')),
    timeoutMs: (parseNumber(query.get('timeoutSeconds')) || DEFAULT_TIMEOUT_SECONDS) * 1_000,
  }
}

const DEFAULT_TIMEOUT_SECONDS = 1_800
const BOOKMARK_EVERY_MS = 60_000
const BOOKMARK_BEFORE_END_MS = 2_000
/** A client that does not read is cut off, as a real server does it. */
const MAX_UNREAD_BYTES = 16 * 1024 * 1024

/** Streams what happens, until the time is over or the client goes. */
export function streamWatch(store: Store, query: WatchQuery, response: ServerResponse): void {
  const { resource, form, selects, position = 0 } = query
  const send = (type: string, object: object) => {
    response.write(`${JSON.stringify({ type, object })}\n`)
    if (response.writableLength > MAX_UNREAD_BYTES) response.destroy()
  }
  const bookmark = (annotations?: Record<string, string>) => {
    const metadata = { resourceVersion: String(store.revision()), ...(annotations && { annotations }) }
    send('BOOKMARK', showPosition(resource, form, metadata))
  }
  const pass = (write: Write) => {
    const change = write.resource === resource ? changeOf(write, selects) : undefined
    if (change) send(change.type, show(change.object, form))
  }

  response.writeHead(200, { 'content-type': 'application/json' }).flushHeaders()
  const fromNow = position === 0 || query.initialEvents
  if (!fromNow && position < store.oldestRevision()) {
    send('ERROR', expired(`too old resource version: ${position} (${store.oldestRevision()})`).status)
    response.end()
    return
  }
  if (fromNow) {
    for (const object of store.list(resource)) if (selects(object)) send('ADDED', show(object, form))
    if (query.initialEvents && query.bookmarks) bookmark({ 'k8s.io/initial-events-end': 'true' })
  } else for (const write of store.since(position)) pass(write)

  const timers = [setTimeout(() => response.end(), query.timeoutMs)]
  const unfollow = store.follow(pass)
  if (query.bookmarks) {
    timers.push(setInterval(bookmark, BOOKMARK_EVERY_MS))
    const lastMs = query.timeoutMs - BOOKMARK_BEFORE_END_MS
    if (lastMs > 0) timers.push(setTimeout(bookmark, lastMs))
  }
  response.on('close', () => {
    unfollow()
    for (const timer of timers) clearTimeout(timer)
  })
}

/** How a write looks to somebody who sees only the selected objects: one that leaves the selection is deleted for them. */
function changeOf({ before, after, revision }: Write, selects: Selection) {
  const was = before !== undefined && selects(before)
  if (after && selects(after)) return { type: was ? 'MODIFIED' : 'ADDED', object: after }
  return was ? { type: 'DELETED', object: lastState(before, revision) } : undefined
}

function invalid(message: string): Refusal {
  const what = `ListOptions.meta.k8s.io "" is invalid: resourceVersionMatch: Forbidden: ${message}`
  return new Refusal(422, 'Invalid', what, { group: 'meta.k8s.io', kind: 'ListOptions' })
}
