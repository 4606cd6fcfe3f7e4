import type { ResolvedWatch } from '../../rights/needed.ts'
import { objectNameOf } from '../../rights/object-name.ts'
import type { Catalogue } from '../../watch/discovery.ts'
import { isPattern } from '../../watch/plan.ts'
import { resolveKind } from '../../watch/resolve.ts'
import type { WatchEntry } from '../../watch/schema.ts'
import { type KnownResource, mayBeCustom, resourceWithoutCluster } from './offline-kind.ts'

export interface WatchedResources {
  watches: ResolvedWatch[]
  /** Entries that only a cluster that has their kind can resolve, and those that this one cannot. */
  unresolved: { index: number; kind: string; why: Unresolved }[]
}

/** `ambiguous` with what may be meant. */
export type Unresolved = 'needs-cluster' | 'unknown' | readonly string[]

/** Which resources the entries watch: what is sure by itself is not asked of the cluster. */
export function watchedResources(
  entries: readonly WatchEntry[],
  placeOf: (index: number) => string | undefined,
  catalogue?: Catalogue,
): WatchedResources {
  const result: WatchedResources = { watches: [], unresolved: [] }
  for (const [index, entry] of entries.entries()) {
    const { kind, namespaces, fields = '' } = entry
    const found = resourceWithoutCluster(kind) ?? resourceIn(kind, catalogue)
    if (!('resource' in found)) {
      result.unresolved.push({ index, kind, why: found.why })
      continue
    }
    const place = placeOf(index)
    const name = objectNameOf(fields)
    result.watches.push({
      index,
      kind,
      ...found,
      namespaces: namespaces?.some(isPattern) ? undefined : namespaces,
      ...(place !== undefined && { place }),
      ...(name !== undefined && { name }),
    })
  }
  return result
}

function resourceIn(kind: string, catalogue: Catalogue | undefined): KnownResource | { why: Unresolved } {
  if (!catalogue) return { why: 'needs-cluster' }
  const resolution = resolveKind(kind, catalogue)
  if (resolution.kind === 'ambiguous') return { why: resolution.candidates }
  if (resolution.kind !== 'found') return { why: 'unknown' }
  const { group, plural } = resolution.resource
  return { group, resource: plural, custom: mayBeCustom(resolution.resource) }
}
