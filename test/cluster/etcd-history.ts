import { request } from 'undici'

/** One write that etcd holds: an independent record of what really happened to an object. */
export interface HistoryEntry {
  /** etcd key below `/registry/`, such as `configmaps/shop/web`. */
  key: string
  type: 'ADDED' | 'MODIFIED' | 'DELETED'
  /** etcd's revision of the write: the resourceVersion of the watch event. */
  resourceVersion: string
}

/**
 * Every write below some prefixes since a revision, read from etcd itself by one watch over its HTTP gateway.
 * Needs an etcd that was not compacted since.
 */
export async function etcdHistory(
  etcdUrl: string,
  prefixes: readonly string[],
  sinceRevision = 1,
): Promise<HistoryEntry[]> {
  const until = await currentRevision(etcdUrl)
  // The watch covers one key outside of `/registry/` too; its change, made now, tells that all before it has come.
  await post(etcdUrl, 'kv/put', { key: base64(MARKER), value: base64('end') })
  const response = await request(`${etcdUrl}/v3/watch`, {
    method: 'POST',
    body: JSON.stringify({
      create_request: { key: base64('/'), range_end: base64('0'), start_revision: String(sinceRevision) },
    }),
  })
  const entries: HistoryEntry[] = []
  for await (const event of eventsOf(response.body)) {
    const name = Buffer.from(event.kv.key, 'base64').toString()
    if (name === MARKER && Number(event.kv.mod_revision) > until) break
    if (prefixes.some((prefix) => name.startsWith(`/registry/${prefix}/`))) entries.push(entryOf(name, event))
  }
  return entries
}

const MARKER = '/end-of-history'

/** etcd's current revision. */
export async function currentRevision(etcdUrl: string): Promise<number> {
  const answer = await post(etcdUrl, 'kv/range', { key: base64('/registry/x'), limit: '1' })
  return Number(answer.header.revision)
}

async function* eventsOf(body: AsyncIterable<Buffer>): AsyncGenerator<WatchEvent> {
  // One line may have thousands of events, and come in many chunks.
  let line: string[] = []
  for await (const chunk of body) {
    const [first = '', ...others] = String(chunk).split('\n')
    line.push(first)
    for (const next of others) {
      const text = line.join('')
      line = [next]
      if (text) yield* (JSON.parse(text) as WatchAnswer).result.events ?? []
    }
  }
}

function entryOf(name: string, { type, kv }: WatchEvent): HistoryEntry {
  const created = kv.create_revision === kv.mod_revision
  return {
    key: name.slice('/registry/'.length),
    type: type === 'DELETE' ? 'DELETED' : created ? 'ADDED' : 'MODIFIED',
    resourceVersion: kv.mod_revision,
  }
}

interface WatchEvent {
  type?: 'DELETE'
  kv: { key: string; mod_revision: string; create_revision?: string }
}
interface WatchAnswer {
  result: { events?: WatchEvent[] }
}

async function post(etcdUrl: string, path: string, body: object): Promise<{ header: { revision: string } }> {
  const response = await request(`${etcdUrl}/v3/${path}`, { method: 'POST', body: JSON.stringify(body) })
  return (await response.body.json()) as { header: { revision: string } }
}

function base64(text: string): string {
  return Buffer.from(text).toString('base64')
}
