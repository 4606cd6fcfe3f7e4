import { type Arrival, differences } from '../cluster/compare.ts'
import type { HistoryEntry } from '../cluster/etcd-history.ts'

export interface Verdict {
  lost: string[]
  unexpected: string[]
  outOfOrder: string[]
  summary: string
}

/**
 * Compares arrivals with etcd's history. Where the API server lost its own history (`gaps`), several changes of an
 * object may have become one, and an object may have come and gone unseen; nothing else may be missing.
 */
export function verdictOf(
  history: readonly HistoryEntry[],
  arrivals: readonly Arrival[],
  gaps: number,
): Verdict {
  const { missing, unexpected, repeated, outOfOrder } = differences(history, arrivals)
  const arrivalsOf = Map.groupBy(arrivals, ({ key }) => key)
  const historyOf = Map.groupBy(history, ({ key }) => key)
  const explained = (name: string) => {
    if (gaps === 0) return false
    const { key, resourceVersion } = entryOf(name)
    const came = arrivalsOf.get(key)
    const last = historyOf.get(key)?.at(-1)
    // Came and went within a gap.
    if (!came) return last?.type === 'DELETED'
    // A later state arrived, or the deletion did (a relist reports it with the last version that was known).
    return came.some(
      (arrival) => BigInt(arrival.resourceVersion) > BigInt(resourceVersion) || arrival.synthesized,
    )
  }
  const lost = missing.filter((name) => !explained(name))
  // A synthesized change has its object's newest version, and a synthesized deletion the last known one.
  const synthesized = new Set(arrivals.filter((arrival) => arrival.synthesized).map(({ key }) => key))
  const strange = unexpected.filter((name) => !synthesized.has(entryOf(name).key))
  const disordered = outOfOrder.filter((name) => !synthesized.has(entryOf(name).key))
  const summary =
    `${history.length} changes happened, ${arrivals.length} deliveries came: lost ${lost.length}, ` +
    `collapsed by ${gaps} gaps ${missing.length - lost.length}, repeated ${repeated.length}, ` +
    `out of order ${disordered.length}, unexpected ${strange.length}`
  return { lost, unexpected: strange, outOfOrder: disordered, summary }
}

function entryOf(name: string): { key: string; resourceVersion: string } {
  const [, rest = ''] = name.split(' ')
  const at = rest.lastIndexOf('@')
  return { key: rest.slice(0, at), resourceVersion: rest.slice(at + 1) }
}
