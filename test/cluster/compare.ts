import type { ReceivedRequest, Receiver } from '../servers/receiver.ts'
import type { HistoryEntry } from './etcd-history.ts'

/** What a receiver got, in the order it came. */
export interface Arrival {
  id: string
  key: string
  uid: string
  type: string
  resourceVersion: string
  synthesized: boolean
}

/** Reads a CloudEvents body as the test's independent record names things. */
export function arrivalOf(body: string): Arrival {
  const event = JSON.parse(body)
  return {
    id: event.id,
    key: etcdKey(event.subject),
    uid: event.uid,
    type: event.data.type,
    resourceVersion: event.resourceversion,
    synthesized: event.synthesized === true,
  }
}

/** What a receiver answered with 200. */
export function arrivalsAt({ requests }: Pick<Receiver, 'requests'>): Arrival[] {
  return requests.filter(({ status }) => status === 200).map(arrivalIn)
}

const read = new WeakMap<ReceivedRequest, Arrival>()

/** The change in a request. Each body is parsed once, however often a wait looks at all of them. */
export function arrivalIn(request: ReceivedRequest): Arrival {
  const known = read.get(request)
  if (known) return known
  const arrival = arrivalOf(request.body)
  read.set(request, arrival)
  return arrival
}

/** `/apis/apps/v1/namespaces/shop/deployments/web` → `deployments/shop/web`, as etcd stores it. */
export function etcdKey(path: string): string {
  const match = /^\/(?:api|apis\/([^/]+))\/[^/]+\/(?:namespaces\/([^/]+)\/)?([^/]+)\/([^/]+)$/.exec(path)
  if (!match) throw new Error(`no object path: ${path}`)
  const [, group, namespace, plural, name] = match
  const custom = group?.includes('.') && !group.endsWith('.k8s.io') ? `${group}/` : ''
  return `${custom}${plural}/${namespace ? `${namespace}/` : ''}${name}`
}

/** What arrived compared with what happened; all empty when exactly everything arrived once. */
export interface Difference {
  missing: string[]
  unexpected: string[]
  repeated: string[]
  outOfOrder: string[]
}

const NOTHING: Difference = { missing: [], unexpected: [], repeated: [], outOfOrder: [] }
export const exactly = (): Difference => structuredClone(NOTHING)

/**
 * Compares by key, type and resourceVersion. Order is checked on first arrivals, per object by its name: an object that is
 * created again under the name of a deleted one follows that.
 */
export function differences(history: readonly HistoryEntry[], arrivals: readonly Arrival[]): Difference {
  const expected = new Set(history.map(nameOf))
  const seen = new Set<string>()
  const newest = new Map<string, bigint>()
  const result = exactly()
  for (const arrival of arrivals) {
    const name = nameOf(arrival)
    if (!expected.has(name)) result.unexpected.push(name)
    if (seen.has(name)) {
      result.repeated.push(name)
      continue
    }
    seen.add(name)
    const position = BigInt(arrival.resourceVersion)
    const last = newest.get(arrival.key) ?? -1n
    // A deletion that a relist found carries the last version that was known.
    const inOrder =
      position > last || (position === last && arrival.type === 'DELETED' && arrival.synthesized)
    if (!inOrder) result.outOfOrder.push(name)
    newest.set(arrival.key, position)
  }
  for (const name of expected) if (!seen.has(name)) result.missing.push(name)
  return result
}

/** The same for a change and for its arrival. */
export function nameOf(entry: { key: string; type: string; resourceVersion: string }): string {
  return `${entry.type} ${entry.key}@${entry.resourceVersion}`
}
