import type { Source } from '../../model/change.ts'
import { type Catalogue, namesSource } from '../client/discovery.ts'
import { planSources, storageOf, type WatchPlan } from '../plan/plan.ts'
import type { WatchEntry } from '../schema.ts'
import type { WatchError } from './types.ts'

interface Addition {
  entry: WatchEntry
  /** Keys of its sources that have not begun; undefined until its kind is resolved. */
  left: Set<string> | undefined
  resolve(): void
  reject(error: WatchError): void
}

/** Namespaces are names here, and not patterns. */
export function matcherOf(names: readonly string[]): (namespace: string) => boolean {
  return (namespace) => names.includes(namespace)
}

/** Kinds that are added while the iteration goes on: each is pending until the API server has answered all of its sources. */
export class Additions {
  readonly #pending = new Set<Addition>()

  async wait(entry: WatchEntry): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const addition: Addition = { entry, left: undefined, resolve, reject }
    this.#pending.add(addition)
    try {
      await promise
    } finally {
      this.#pending.delete(addition)
    }
  }

  /** Finds the sources of the kinds that a plan has resolved. */
  resolved(
    plan: WatchPlan,
    catalogue: Catalogue,
    clusterUid: string,
    hasBegun: (key: string) => boolean,
  ): void {
    for (const addition of this.#pending) {
      if (addition.left) continue
      const alone = planSources([addition.entry], catalogue, clusterUid, matcherOf).sources
      const [first] = alone
      if (!first) continue
      const own = plan.sources.filter((it) => storageOf(it.resource) === storageOf(first.resource))
      const same = own.filter(({ key }) => alone.some((it) => it.key === key))
      // Merged with another entry it has the sources of both.
      const keys = (same.length > 0 ? same : own).map(({ key }) => key)
      addition.left = new Set(keys.filter((key) => !hasBegun(key)))
      if (addition.left.size === 0) addition.resolve()
    }
  }

  /** A source has begun. */
  begun(key: string): void {
    for (const { left, resolve } of this.#pending) if (left?.delete(key) && left.size === 0) resolve()
  }

  /** The kind is defined, and comes later. */
  accept(entry: WatchEntry): void {
    for (const it of this.#pending) if (it.entry === entry) it.resolve()
  }

  /** Rejects the additions of such entries, or sources; returns false if there is none. */
  reject(which: (entry: WatchEntry, keys: ReadonlySet<string>) => boolean, error: WatchError): boolean {
    const refused = [...this.#pending].filter(({ entry, left = new Set() }) => which(entry, left))
    for (const { reject } of refused) reject(error)
    return refused.length > 0
  }
}

/** Returns whether an entry makes this source, also while its kind is not served. */
export function selects(entry: WatchEntry, source: Source): boolean {
  const { kind, namespaces = [''], labels = '', fields = '' } = entry
  return (
    namesSource(kind, source) &&
    namespaces.includes(source.namespace) &&
    labels.trim() === source.labelSelector &&
    fields.trim() === source.fieldSelector
  )
}

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
