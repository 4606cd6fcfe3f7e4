import type { Catalogue } from '../client/discovery.ts'
import { planSources, storageOf } from '../plan/plan.ts'
import type { WatchEntry } from '../schema.ts'
import { matcherOf } from './additions.ts'

/** A watch of which all objects, or some, are those of an earlier one, by another source. */
interface Overlap {
  entry: WatchEntry
  message: string
}

/**
 * Returns the entries that cannot be watched together with earlier ones: of one kind all namespaces and some of them. They would be one source,
 * which knows nothing of what the sources of the namespaces have handed over: deletions would be missed, and changes repeated.
 */
export function overlapsOf(
  entries: readonly WatchEntry[],
  catalogue: Catalogue,
  clusterUid: string,
): Overlap[] {
  const scopes = new Map<string, 'all' | 'some'>()
  const overlaps: Overlap[] = []
  for (const entry of entries) {
    const [source] = planSources([entry], catalogue, clusterUid, matcherOf).sources
    if (!source) continue
    const { resource, labelSelector, fieldSelector, namespace } = source
    const selection = JSON.stringify([storageOf(resource), labelSelector, fieldSelector])
    const scope = namespace === '' ? 'all' : 'some'
    const before = scopes.get(selection) ?? scope
    scopes.set(selection, before)
    if (before === scope) continue
    const message = `${resource.plural} are watched in ${before} namespaces, and would be in ${scope}: remove that watch first`
    overlaps.push({ entry, message })
  }
  return overlaps
}
