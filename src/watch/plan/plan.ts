import { createHash } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import { isOlder, type Source } from '../../model/change.ts'
import type { Resource } from '../../model/event.ts'
import { type Catalogue, resolveKind, titleOf } from '../client/discovery.ts'
import type { Adoption } from '../reflector/takeover.ts'
import type { WatchEntry } from '../schema.ts'

export interface PlannedSource extends Source {
  /** Objects of other namespaces are passed over as if they were not there. */
  namespaceFilter?: (namespace: string) => boolean
  /** Number of shards to split it into. */
  shards?: number | undefined
  /** How often its index is compared with the cluster. */
  verifyMs?: number
  /** What it takes over when it begins. */
  adoption?: Adoption | undefined
  /** Its kind was recorded as absent: all is new in a place that was not watched yet. */
  wasAbsent?: boolean
}

export interface WatchPlan {
  sources: PlannedSource[]
  /** Entries whose kind the cluster does not know yet. */
  waiting: WatchEntry[]
  /** Entries whose kind may be in a part of the API that did not answer. */
  unsure: WatchEntry[]
  /** Sources of which it is not known yet whether the server splits them. */
  undecided: { source: PlannedSource; message: string }[]
  problems: { entry: WatchEntry; message: string }[]
}

/** An entry with its resource, and what it selects. */
interface DesiredWatch {
  entry: WatchEntry
  resource: Resource
  /** Undefined: all. */
  namespaces: string[] | undefined
  /** Namespaces of entries that were joined, where a "!" of one of them means nothing for the others. */
  either?: readonly (readonly string[])[]
}

/**
 * Turns the entries of the configuration into sources. Literal namespaces become one source each (so that a Role per
 * namespace is enough); as soon as a glob or a `!` is among them, one source reads all namespaces and passes over the others.
 */
export function planSources(
  entries: readonly WatchEntry[],
  catalogue: Catalogue,
  clusterUid: string,
  matcherOf: MatcherOf,
): WatchPlan {
  const { plan, resolved } = resolveEntries(entries, catalogue)
  const watches: DesiredWatch[] = []
  for (const { entry, resource } of resolved) {
    if (!resource.namespaced && entry.namespaces) {
      const message = `${resource.kind} is not namespaced: leave "namespaces" out`
      plan.problems.push({ entry, message })
    } else watches.push({ entry, resource, namespaces: entry.namespaces })
  }
  for (const watch of mergeWatches(watches, plan.problems, matcherOf))
    plan.sources.push(...sourcesOf(watch, clusterUid, matcherOf))
  return plan
}

/** Returns whether the sources of these entries have all objects of another one, which would change none of them. */
export function isCovered(
  entry: WatchEntry,
  entries: readonly WatchEntry[],
  catalogue: Catalogue,
  matcherOf: MatcherOf,
): boolean {
  const [without, joined] = [entries, [...entries, entry]].map((all) => {
    const { sources, problems } = planSources(all, catalogue, '', matcherOf)
    return { keys: sources.map(({ key }) => key), problems: problems.length }
  })
  return isDeepStrictEqual(joined, without)
}

/** Entries with their resources; the plan has those without one, and nothing else yet. */
function resolveEntries(
  entries: readonly WatchEntry[],
  catalogue: Catalogue,
): { plan: WatchPlan; resolved: { entry: WatchEntry; resource: Resource }[] } {
  const plan: WatchPlan = { sources: [], waiting: [], unsure: [], undecided: [], problems: [] }
  const resolved: { entry: WatchEntry; resource: Resource }[] = []
  for (const entry of entries) {
    const resolution = resolveKind(entry.kind, catalogue)
    if (resolution.kind === 'absent') plan.waiting.push(entry)
    else if (resolution.kind === 'unsure') plan.unsure.push(entry)
    else if (resolution.kind === 'ambiguous') {
      const message = `"${entry.kind}" is ambiguous: write ${resolution.candidates.join(' or ')}`
      plan.problems.push({ entry, message })
    } else resolved.push({ entry, resource: resolution.resource })
  }
  return { plan, resolved }
}

/** Equal for resources that have the same objects: core/v1 and events.k8s.io Events, and all versions of a kind. */
export function storageOf({ group, plural }: Resource): string {
  return plural === 'events' && group === 'events.k8s.io' ? 'events.' : `${plural}.${group}`
}

type MatcherOf = (patterns: readonly string[]) => (namespace: string) => boolean

/** One object must be seen once: entries with the same selectors are merged, others must not overlap. */
function mergeWatches(
  watches: readonly DesiredWatch[],
  problems: WatchPlan['problems'],
  matcherOf: MatcherOf,
): DesiredWatch[] {
  const merged: DesiredWatch[] = []
  for (const watch of watches) {
    const rivals = merged.filter((it) => storageOf(it.resource) === storageOf(watch.resource))
    const same = rivals.find(({ entry }) => selectorsOf(entry) === selectorsOf(watch.entry))
    const overlapping = rivals.find((it) => it !== same && overlap(it, watch, matcherOf))
    if (overlapping) problems.push({ entry: watch.entry, message: overlapMessage(watch, overlapping) })
    else if (same) join(same, watch)
    else merged.push({ ...watch })
  }
  return merged
}

function join(into: DesiredWatch, watch: DesiredWatch): void {
  const before = into.either ?? [into.namespaces]
  const isKnown = before.some((it) => isDeepStrictEqual(it, watch.namespaces))
  const lists = isKnown ? before : [...before, watch.namespaces]
  const all = lists.some((it) => it === undefined)
  into.namespaces = all ? undefined : [...new Set(lists.flatMap((it) => it ?? []))]
  const isMixed = lists.length > 1 && into.namespaces?.some((it) => it.startsWith('!')) === true
  if (isMixed) into.either = lists as string[][]
  else delete into.either
  const initial = earlier(into.entry.initial, watch.entry.initial)
  if (initial !== undefined) into.entry = { ...into.entry, initial }
  const verify = Math.min(into.entry.verify ?? Infinity, watch.entry.verify ?? Infinity)
  if (verify < Infinity) into.entry = { ...into.entry, verify }
  const shards = Math.max(into.entry.shards ?? 1, watch.entry.shards ?? 1)
  if (shards > 1) into.entry = { ...into.entry, shards }
}

/** Returns where joined entries begin so that none of them misses what it asks for: at the older position, or with all that exists. */
function earlier(a: WatchEntry['initial'], b: WatchEntry['initial']): WatchEntry['initial'] {
  if (a === 'emit' || b === 'emit') return 'emit'
  if (typeof a !== 'object') return typeof b === 'object' ? b : (a ?? b)
  return typeof b === 'object' && isOlder(b.resourceVersion, a.resourceVersion) ? b : a
}

/** Returns true if a namespace can be in both, or if it is not certain. */
function overlap(a: DesiredWatch, b: DesiredWatch, matcherOf: MatcherOf): boolean {
  for (const [one, other] of [
    [a, b],
    [b, a],
  ] as const)
    if (one.namespaces && !one.namespaces.some(isPattern))
      return one.namespaces.some(testOf(other, matcherOf))
  return true
}

function testOf({ namespaces, either }: DesiredWatch, matcherOf: MatcherOf): (namespace: string) => boolean {
  if (!namespaces) return () => true
  const tests = (either ?? [namespaces]).map(matcherOf)
  return (namespace) => tests.some((test) => test(namespace))
}

function overlapMessage({ entry, resource }: DesiredWatch, other: DesiredWatch): string {
  return (
    `${titleOf(resource)} is watched twice with different selectors (${selectorsOf(other.entry) || 'none'}; ` +
    `${selectorsOf(entry) || 'none'}) in the same namespaces: an object would be seen twice; merge the entries and select in rules`
  )
}

function selectorsOf({ labels = '', fields = '' }: WatchEntry): string {
  return [labels.trim() && `labels ${labels.trim()}`, fields.trim() && `fields ${fields.trim()}`]
    .filter(Boolean)
    .join(', ')
}

/** A glob, an expression or a `!`: with one of them all namespaces are read. */
export function isPattern(namespace: string): boolean {
  return /[*?!/]/.test(namespace)
}

/** A source for each literal namespace, or one for all. */
function sourcesOf(watch: DesiredWatch, clusterUid: string, matcherOf: MatcherOf): PlannedSource[] {
  const { entry, resource, namespaces, either } = watch
  const base = {
    resource,
    labelSelector: entry.labels?.trim() ?? '',
    fieldSelector: entry.fields?.trim() ?? '',
    initial: entry.initial ?? ('now' as const),
    clusterUid,
    spelling: entry.kind,
    custom: false,
    ...(entry.shards !== undefined && { shards: entry.shards }),
    ...(entry.verify !== undefined && { verifyMs: entry.verify }),
  }
  const title = titleOf(resource)
  if (!namespaces) return [{ ...base, namespace: '', title, key: keyOf(base, '', '') }]
  if (!namespaces.some(isPattern)) {
    return namespaces.map((namespace) => ({
      ...base,
      namespace,
      title: `${title} in ${namespace}`,
      key: keyOf(base, namespace, ''),
    }))
  }
  const filter = (either ?? [namespaces]).map((it) => [...it].sort().join(',')).join(' or ')
  return [
    {
      ...base,
      namespace: '',
      title: `${title} in ${filter}`,
      key: keyOf(base, '', filter),
      namespaces: either ?? [namespaces],
      namespaceFilter: testOf(watch, matcherOf),
    },
  ]
}

/** Readable, and different whenever what is selected is. The version is left out: a new one has the same objects. */
function keyOf(base: Omit<Source, 'key' | 'title' | 'namespace'>, namespace: string, filter: string): string {
  const parts = [
    base.clusterUid,
    storageOf(base.resource),
    namespace,
    filter,
    base.labelSelector,
    base.fieldSelector,
  ]
  const digest = createHash('sha256').update(JSON.stringify(parts)).digest('hex').slice(0, 10)
  return `${titleOf(base.resource)}${namespace && `/${namespace}`}#${digest}`
}

/**
 * Turns entries into sources that read metadata alone. Several of one resource are joined; `fields` may name one object,
 * and namespaces of what is in none are passed over.
 */
export function planMetadata(
  entries: readonly WatchEntry[],
  catalogue: Catalogue,
  clusterUid: string,
  matcherOf: MatcherOf,
): WatchPlan {
  const { plan, resolved } = resolveEntries(entries, catalogue)
  const watches: DesiredWatch[] = []
  for (const { entry, resource } of resolved)
    joinSame(watches, { entry, resource, namespaces: resource.namespaced ? entry.namespaces : undefined })
  plan.sources = watches.flatMap((watch) =>
    sourcesOf(watch, clusterUid, matcherOf).map((source) => asMetadata(source, watch.entry)),
  )
  return plan
}

/** An entry for metadata, and the annotations that are kept of it. */
export interface MetadataEntry extends WatchEntry {
  annotations?: readonly string[]
}

function joinSame(watches: DesiredWatch[], watch: DesiredWatch): void {
  const same = watches.find(
    (it) => titleOf(it.resource) === titleOf(watch.resource) && it.entry.fields === watch.entry.fields,
  )
  if (same && same.entry !== watch.entry) {
    const annotations = [same.entry, watch.entry].flatMap((it: MetadataEntry) => it.annotations ?? [])
    const joined: MetadataEntry = { ...same.entry, annotations: [...new Set(annotations)].sort() }
    same.entry = joined
  }
  if (!same) watches.push(watch)
  else if (same.namespaces && watch.namespaces && ![...same.namespaces, ...watch.namespaces].some(isPattern))
    same.namespaces = [...new Set([...same.namespaces, ...watch.namespaces])]
  else same.namespaces = undefined
}

/** What was read without an annotation is read again: such a source is another one. */
function asMetadata(source: PlannedSource, { annotations = [] }: MetadataEntry): PlannedSource {
  const { key, title, fieldSelector } = source
  const name = fieldSelector.replace('metadata.name=', '')
  const object = name === '' ? '' : ` ${name}`
  const kept = annotations.length === 0 ? '' : ` with ${annotations.join(',')}`
  return {
    ...source,
    key: `metadata:${key}${kept}`,
    title: `metadata of ${title}${object}`,
    metadataOnly: true,
    ...(annotations.length > 0 && { annotations }),
  }
}
