import { KINDS, needsOfConfig } from '../../app/metadata-needs.ts'
import { groupOf, watchedKindOf } from '../../config/lint/watched-kind.ts'
import { builtInKinds } from '../../rules/kind.ts'
import { exactTexts, Patterns } from '../../rules/pattern.ts'
import { type Catalogue, resolveKind } from '../../watch/client/discovery.ts'
import { isPattern } from '../../watch/plan/plan.ts'
import type { WatchEntry } from '../../watch/schema.ts'
import { objectNameOf, type ResolvedLogs, type ResolvedMetadata, type ResolvedWatch } from './permissions.ts'

/** Why a kind has no resource; a list has the candidates of an ambiguous one. */
export type Unresolved = 'needs-cluster' | 'unknown' | readonly string[]

interface WatchedResources {
  watches: ResolvedWatch[]
  unresolved: { index: number; kind: string; why: Unresolved }[]
}

/** Resolves the kinds of `watch`; without a catalogue those that are certain without a cluster. */
export function watchedResources(
  entries: readonly WatchEntry[],
  placeOf: (index: number) => string | undefined,
  catalogue?: Catalogue,
): WatchedResources {
  const result: WatchedResources = { watches: [], unresolved: [] }
  for (const [index, { kind, namespaces, fields = '' }] of entries.entries()) {
    const found = resolve(kind, catalogue)
    if ('why' in found) {
      result.unresolved.push({ index, kind, why: found.why })
      continue
    }
    const { group, resource, custom } = found
    const place = placeOf(index)
    const name = objectNameOf(fields)
    result.watches.push({
      index,
      kind,
      group,
      resource,
      custom,
      namespaces: namespaces?.some(isPattern) ? undefined : namespaces,
      ...(place !== undefined && { place }),
      ...(name !== undefined && { name }),
    })
  }
  return result
}

interface NeededMetadata {
  metadata: ResolvedMetadata[]
  unresolved: { kind: string; rules: readonly string[]; why: Unresolved }[]
}

/** Resolves the kinds whose metadata rules need in addition to what is watched. */
export function neededMetadata(
  config: Parameters<typeof needsOfConfig>[0],
  placeOf: (rule: number) => string | undefined,
  catalogue?: Catalogue,
): NeededMetadata {
  const result: NeededMetadata = { metadata: [], unresolved: [] }
  const places = new Map(config.rules.map(({ name }, index) => [name, placeOf(index)]))
  for (const { kind, rules, namespaces, name } of needsOfConfig(config).metadata) {
    const found = resolve(kind, catalogue)
    if ('why' in found) {
      result.unresolved.push({ kind, rules, why: found.why })
      continue
    }
    const isEverywhere = !found.namespaced || namespaces?.some(isPattern)
    result.metadata.push({
      rules: rules.map((rule) => {
        const place = places.get(rule)
        return { name: rule, ...(place !== undefined && { place }) }
      }),
      group: found.group,
      resource: found.resource,
      namespaces: isEverywhere ? undefined : namespaces,
      ...(name !== undefined && { name }),
    })
  }
  return result
}

/** Rules as written: their other keys are not read. */
interface RuleWithLogs {
  name: string
  drop?: unknown
  logs?: unknown
  when?: unknown
}

/**
 * Returns the pods whose logs rules ask for: those of the watched Pods and Events that the rules may match. A log is only read of a Pod
 * in the namespace that `when.namespace` tests, also for Events (`watch/logs/log-target.ts`).
 */
export function neededLogs(
  rules: readonly RuleWithLogs[],
  watches: readonly ResolvedWatch[],
  placeOf: (rule: number) => string | undefined,
): ResolvedLogs[] {
  return rules.flatMap(({ name: rule, drop, logs, when }, index) => {
    if (!logs || drop === true) return []
    const place = placeOf(index)
    const { kind: patterns, namespace } = (when ?? {}) as { kind?: unknown; namespace?: unknown }
    return watches
      .filter(({ kind, group, resource }) => hasLogs(group, resource) && KINDS.mayMatch(patterns, kind))
      .map(({ resource, namespaces, name }) => ({
        rule,
        namespaces: matchedNamespaces(namespace, namespaces),
        ...(place !== undefined && { place }),
        ...(resource === 'pods' && name !== undefined && { name }),
      }))
  })
}

/** Returns the watched namespaces that the patterns of a rule may match; undefined: all. */
function matchedNamespaces(
  patterns: unknown,
  watched: readonly string[] | undefined,
): readonly string[] | undefined {
  const { data } = Patterns.safeParse(patterns)
  const named = data === undefined ? undefined : exactTexts(data)
  return named?.filter((it) => watched?.includes(it) ?? true) ?? watched
}

function hasLogs(group: string, resource: string): boolean {
  if (resource === 'pods') return group === ''
  return resource === 'events' && (group === '' || group === 'events.k8s.io')
}

interface KnownResource {
  group: string
  /** The plural. */
  resource: string
  /** Defined by a CustomResourceDefinition, as far as its name shows: aggregated APIs look the same. */
  custom: boolean
  namespaced: boolean
}

function resolve(spelling: string, catalogue: Catalogue | undefined): KnownResource | { why: Unresolved } {
  const known = resourceWithoutCluster(spelling, catalogue)
  if (known) return known
  if (!catalogue) return { why: 'needs-cluster' }
  const resolution = resolveKind(spelling, catalogue)
  if (resolution.kind === 'ambiguous') return { why: resolution.candidates }
  if (resolution.kind !== 'found') return { why: 'unknown' }
  const { group, plural: resource, namespaced } = resolution.resource
  const isBuiltIn = builtInKinds.some((it) => it.group === group && it.plural === resource)
  return { group, resource, namespaced, custom: group.includes('.') && !isBuiltIn }
}

/** A built-in kind, or a custom resource written as plural.group; undefined for other spellings. */
function resourceWithoutCluster(spelling: string, catalogue?: Catalogue): KnownResource | undefined {
  const watched = watchedKindOf(spelling)
  if (!watched) return undefined
  const { builtIn } = watched
  const known = builtIn.find(({ group }) => group === '') ?? builtIn[0]
  if (known)
    return { group: known.group, resource: known.plural, custom: false, namespaced: known.namespaced }
  const { word: resource, qualifier } = watched.spelling
  const group = groupOf(qualifier ?? '')
  // `Database` is a kind, `database` may be one in lower case, `db` a short name: only a cluster knows their plurals.
  if (!/^[a-z][-a-z0-9]*s\./.test(spelling) || !group.includes('.')) return undefined
  const served = catalogue?.resources.find((it) => it.group === group && it.plural === resource)
  return { group, resource, custom: true, namespaced: served?.namespaced ?? true }
}
