import type { RelatedKeys } from '../../model/event.ts'
import type { EnrichSettings } from '../schema.ts'
import { type Mentions, mentionsOf } from './metadata-mentions.ts'

/** A rule as it is written; `rules` of a configuration are some. */
export interface NeedyRule {
  name: string
  when?: object | undefined
}

/** Texts of any depth, in which templates may stand that a rule uses and that do not stand in it. */
type RuleTemplates = (rule: number) => unknown

/** An entry of `watch`. */
export interface WatchedEntry {
  kind: string
  namespaces?: readonly string[] | undefined
  fields?: string | undefined
}

/** What is known of kinds without a cluster. */
export interface KindKnowledge {
  /** Returns true if the kind is the cluster's own Event. */
  isEvent(kind: string): boolean
  /** Returns the name of a kind of the core group without namespaces, however it is spelled; undefined for other kinds. */
  coreClusterKind(kind: string): string | undefined
  /** Returns true if a rule with this `when.kind` can see objects of a watched kind, or if it is not certain. */
  mayMatch(patterns: unknown, kind: string): boolean
}

/** The metadata of one kind that rules need. */
export interface MetadataNeed {
  /** As a configuration spells it. */
  kind: string
  /** As in an entry of `watch`; undefined is all. */
  namespaces?: readonly string[]
  /** This object alone. */
  name?: string
  /** These annotations; others are not kept. */
  annotations?: readonly string[]
  /** The rules that need it. */
  rules: readonly string[]
}

/** What a configuration needs to know of the surroundings of events. */
export interface MetadataRequirements {
  /** Labels or annotations of namespaces. */
  namespaceMetadata: boolean
  /** Owners of what is not an Event. */
  owners: boolean
  /** Labels or annotations of what Events are about. */
  regardingMetadata: boolean
  regardingOwners: boolean
  /** What templates name: notifications carry it. */
  inTemplates: RelatedKeys
  metadata: readonly MetadataNeed[]
}

const NO_KEYS: RelatedKeys = {
  namespaceLabels: [],
  namespaceAnnotations: [],
  regardingLabels: [],
  regardingAnnotations: [],
}

export const NO_REQUIREMENTS: MetadataRequirements = {
  namespaceMetadata: false,
  owners: false,
  regardingMetadata: false,
  regardingOwners: false,
  inTemplates: NO_KEYS,
  metadata: [],
}

/** The kinds between nearly every pod and its top controller. */
const BETWEEN = ['ReplicaSet', 'Job']
/** Controllers that are at the top, unless an operator owns them. */
const UPPER = ['Deployment', 'StatefulSet', 'DaemonSet', 'CronJob']
/** Kinds that Events are about: where a rule names no kind, the metadata of these are known. */
export const METADATA_KINDS = [
  ...['Pod', 'Node', 'PersistentVolumeClaim', 'HorizontalPodAutoscaler'],
  ...['Deployment', 'ReplicaSet', 'StatefulSet', 'DaemonSet', 'Job', 'CronJob'],
]
/** Those of them that have owners in most clusters. */
const OWNED = ['Pod', ...BETWEEN]
const CONTROLLERS = new Set(
  [...BETWEEN, ...UPPER, 'ReplicationController', 'Node'].map((it) => it.toLowerCase()),
)

/**
 * Which metadata the rules need, in the namespaces that the watches cover: pure, and without a cluster. May be left before each
 * rule.
 */
export function* requirementsOf(
  rules: readonly NeedyRule[],
  watch: readonly WatchedEntry[],
  settings: Pick<EnrichSettings, 'owners' | 'regarding'>,
  knowledge: KindKnowledge,
  templatesOf: RuleTemplates = () => undefined,
): Generator<void, MetadataRequirements> {
  const needs = { ...NO_REQUIREMENTS }
  const wanted = new Wanted(knowledge)
  const upper = upperKinds(rules, settings)
  const named = new Map<keyof RelatedKeys, Set<string>>()
  for (const [i, rule] of rules.entries()) {
    yield
    const mentions = mentionsOf(rule, templatesOf(i))
    if (!Object.values(mentions).includes(true)) continue
    for (const [field, keys] of Object.entries(mentions.inTemplates) as [keyof RelatedKeys, string[]][])
      named.set(field, (named.get(field) ?? new Set()).union(new Set(keys)))
    for (const entry of watch) {
      const { kind: patterns, namespace } = (rule.when ?? {}) as { kind?: unknown; namespace?: unknown }
      const namespaces = namespacesFor(namespace, entry.namespaces)
      if (!knowledge.mayMatch(patterns, entry.kind) || namespaces?.length === 0) continue
      const isEvent = knowledge.isEvent(entry.kind)
      if (mentions.namespaceMetadata) {
        needs.namespaceMetadata = true
        wanted.namespaces(namespaces, mentions.namespaceAnnotations, rule.name)
      }
      const kinds = isEvent
        ? regardedKinds(rule, entry, mentions, upper, settings)
        : mentions.owner || mentions.topOwner
          ? [...BETWEEN, ...upper]
          : []
      needs.owners ||= (mentions.owner || mentions.topOwner) && !isEvent
      needs.regardingMetadata ||= isEvent && mentions.regardingMetadata
      needs.regardingOwners ||= isEvent && (mentions.topOwner || mentions.regardingOwner)
      const annotations = isEvent ? mentions.regardingAnnotations : []
      for (const kind of kinds) wanted.kind(kind, namespaces, isEvent, annotations, rule.name)
    }
  }
  const inTemplates = {
    ...NO_KEYS,
    ...Object.fromEntries([...named].map(([field, keys]) => [field, [...keys].sort()])),
  }
  return { ...needs, inTemplates, metadata: wanted.all() }
}

function regardedKinds(
  rule: NeedyRule,
  entry: WatchedEntry,
  { topOwner, regardingOwner, regardingMetadata }: Mentions,
  upper: readonly string[],
  settings: Pick<EnrichSettings, 'regarding'>,
): readonly string[] {
  const byOwner = topOwner || regardingOwner
  if (!byOwner && !regardingMetadata) return []
  const { regarding = {} } = (rule.when ?? {}) as { regarding?: { kind?: unknown } }
  const usual = regardingMetadata ? METADATA_KINDS : [...OWNED, ...upper]
  const named = literals(regarding.kind) ?? selectedKind(entry) ?? settings.regarding ?? usual
  return byOwner ? [...named, ...BETWEEN, ...upper] : named
}

/** `involvedObject.kind=Pod`: the API server sends Events about these alone. */
function selectedKind({ fields = '' }: WatchedEntry): string[] | undefined {
  const kind = /(?:^|,)\s*(?:involvedObject|regarding)\.kind\s*==?\s*([A-Za-z0-9]+)\s*(?:,|$)/.exec(
    fields,
  )?.[1]
  return kind === undefined ? undefined : [kind]
}

/**
 * What may own something is read only where something may own it: where the configuration, or a rule, names a kind that is
 * no built-in controller.
 */
function upperKinds(rules: readonly NeedyRule[], { owners }: Pick<EnrichSettings, 'owners'>): string[] {
  const asked = rules.flatMap(({ when = {} }) => {
    const { owner, regarding } = when as { owner?: unknown; regarding?: { owner?: unknown } }
    return [...ownerKinds(owner), ...ownerKinds(regarding?.owner)]
  })
  const foreign = [...owners, ...asked].some((kind) => !isController(kind))
  return [...new Set([...(foreign ? UPPER : []), ...owners])]
}

/** `StatefulSet`, `statefulsets.apps`. */
function isController(kind: string): boolean {
  const word = kind.toLowerCase().split('.')[0] ?? ''
  return CONTROLLERS.has(word) || CONTROLLERS.has(word.replace(/s$/, ''))
}

/** Patterns that are nothing but kinds; undefined when one of them is more, or there is none. */
function literals(patterns: unknown): string[] | undefined {
  const list = [patterns].flat().filter((it) => typeof it === 'string')
  const positive = list.filter((it) => !it.startsWith('!'))
  if (positive.length === 0 || positive.some((it) => it.startsWith('/') || /[*?]/.test(it))) return undefined
  return positive
}

/** The kinds of `Kind/name`. */
function ownerKinds(patterns: unknown): string[] {
  const list = [patterns].flat().filter((it) => typeof it === 'string')
  const kinds = list.map((it) => it.replace(/^!/, '').split('/')[0] ?? '')
  return kinds.filter((kind) => kind !== '' && !/[*?]/.test(kind))
}

interface WantedKind {
  namespaces: readonly string[] | undefined
  annotations: Set<string>
  rules: Set<string>
}

/** Joins what several rules want of one kind. */
class Wanted {
  readonly #knowledge: KindKnowledge
  readonly #kinds = new Map<string, WantedKind>()
  readonly #names = new Map<string, WantedKind>()
  readonly #all: WantedKind = { namespaces: undefined, annotations: new Set(), rules: new Set() }

  constructor(knowledge: KindKnowledge) {
    this.#knowledge = knowledge
  }

  kind(
    spelling: string,
    namespaces: readonly string[] | undefined,
    isEvent: boolean,
    annotations: readonly string[],
    rule: string,
  ): void {
    const clusterKind = this.#knowledge.coreClusterKind(spelling)
    const none = clusterKind !== undefined
    // Events about what is in no namespace are in "default".
    if (none && isEvent && namespaces && !hasPatterns(namespaces) && !namespaces.includes('default')) return
    const kind = clusterKind ?? spelling
    const wished = none ? undefined : namespaces
    const known = this.#kinds.get(kind)
    if (known) known.namespaces = joinNamespaces(known.namespaces, wished)
    this.#add(this.#kinds, kind, wished, annotations, rule)
  }

  /** Metadata of namespaces: of those that are named, else of all. */
  namespaces(namespaces: readonly string[] | undefined, annotations: readonly string[], rule: string): void {
    for (const key of annotations) this.#all.annotations.add(key)
    if (!namespaces || hasPatterns(namespaces)) this.#all.rules.add(rule)
    else for (const it of namespaces) this.#add(this.#names, it, undefined, [], rule)
  }

  all(): MetadataNeed[] {
    // One list of all namespaces has the annotations that any rule names.
    const regarded = this.#kinds.get('Namespace')
    const annotations = this.#all.annotations.union(regarded?.annotations ?? new Set<string>())
    const named = [...this.#names].map(([name, { rules }]) => ({
      ...needOf('Namespace', { namespaces: undefined, annotations, rules }),
      name,
    }))
    const others = [...this.#kinds].filter(([kind]) => kind !== 'Namespace')
    const kinds = others.map(([kind, it]) => needOf(kind, it))
    if (this.#all.rules.size === 0 && !regarded) return [...named, ...kinds]
    const rules = new Set([
      ...this.#all.rules,
      ...named.flatMap((it) => it.rules),
      ...(regarded?.rules ?? []),
    ])
    return [needOf('Namespace', { namespaces: undefined, annotations, rules }), ...kinds]
  }

  #add(
    to: Map<string, WantedKind>,
    name: string,
    namespaces: readonly string[] | undefined,
    annotations: readonly string[],
    rule: string,
  ): void {
    const it = to.get(name) ?? { namespaces, annotations: new Set(), rules: new Set() }
    to.set(name, it)
    it.rules.add(rule)
    for (const key of annotations) it.annotations.add(key)
  }
}

function needOf(kind: string, { namespaces, annotations, rules }: WantedKind): MetadataNeed {
  return {
    kind,
    ...(namespaces && { namespaces }),
    ...(annotations.size > 0 && { annotations: [...annotations].sort() }),
    rules: [...rules],
  }
}

/** More of them are one watch of all namespaces, as it costs less. */
const MOST = 5

/**
 * Where objects are that a rule with these patterns sees through an entry of `watch` with those; undefined: in all
 * namespaces. Empty when it sees none.
 */
function namespacesFor(
  patterns: unknown,
  watched: readonly string[] | undefined,
): readonly string[] | undefined {
  const asked = namesIn(patterns)
  if (!watched) return asked && asked.length <= MOST ? asked : undefined
  const names = namesIn(watched)
  return (names && asked?.filter((it) => names.includes(it))) ?? watched
}

/** A glob, an expression or a `!` is among them. */
function hasPatterns(namespaces: readonly string[]): boolean {
  return namespaces.some((it) => /[*?!/]/.test(it))
}

/** Both; all of them when they cannot be said in one list. */
function joinNamespaces(
  a: readonly string[] | undefined,
  b: readonly string[] | undefined,
): readonly string[] | undefined {
  if (!a || !b) return undefined
  const joined = [...new Set([...a, ...b])]
  if (joined.length === a.length && joined.length === b.length) return a
  // In one list a `!` would take from the other's, too.
  return joined.some((it) => it.startsWith('!')) ? undefined : joined
}

function namesIn(patterns: unknown): string[] | undefined {
  const list = [patterns].flat().filter((it) => typeof it === 'string')
  return list.length === 0 || hasPatterns(list) ? undefined : list
}
