import type { Catalogue } from './discovery.ts'
import {
  isPattern,
  type PlannedSource,
  resolveEntries,
  sourcesOf,
  type WatchPlan,
  type Wish,
} from './plan.ts'
import { titleOf } from './resolve.ts'
import type { WatchEntry } from './schema.ts'

/**
 * Turns entries into sources that read metadata alone. Several of one resource are joined; `fields` may name one object,
 * and namespaces of what is in none are passed over.
 */
export function planMetadata(
  entries: readonly WatchEntry[],
  catalogue: Catalogue,
  clusterUid: string,
  matcherOf: (patterns: readonly string[]) => (namespace: string) => boolean,
): WatchPlan {
  const { plan, resolved } = resolveEntries(entries, catalogue)
  const wishes: Wish[] = []
  for (const { entry, resource } of resolved)
    join(wishes, { entry, resource, namespaces: resource.namespaced ? entry.namespaces : undefined })
  plan.sources = wishes.flatMap((wish) => sourcesOf(wish, clusterUid, matcherOf).map(asMetadata))
  return plan
}

function join(wishes: Wish[], wish: Wish): void {
  const same = wishes.find(
    (it) => titleOf(it.resource) === titleOf(wish.resource) && it.entry.fields === wish.entry.fields,
  )
  if (!same) wishes.push(wish)
  else if (same.namespaces && wish.namespaces && ![...same.namespaces, ...wish.namespaces].some(isPattern))
    same.namespaces = [...new Set([...same.namespaces, ...wish.namespaces])]
  else same.namespaces = undefined
}

function asMetadata(source: PlannedSource): PlannedSource {
  const { key, title, fieldSelector } = source
  const name = fieldSelector.replace('metadata.name=', '')
  const object = name === '' ? '' : ` ${name}`
  return { ...source, key: `metadata:${key}`, title: `metadata of ${title}${object}`, metadataOnly: true }
}
