import { type Mentions, mentionsOf } from './mentions.ts'
import { hasPatterns, joinNamespaces, namespacesFor } from './needed-namespaces.ts'
import type { EnrichSettings } from './schema.ts'

/** A rule as it is written; `rules` of a configuration are some. */
export interface NeedyRule {
  name: string
  when?: object | undefined
}

/** Texts of any depth, in which templates may stand that a rule uses and that do not stand in it. */
export type TemplatesBeside = (rule: number) => unknown

/** An entry of `watch`. */
export interface WatchedEntry {
  kind: string
  namespaces?: readonly string[] | undefined
  fields?: string | undefined
}

/** What is known of kinds without a cluster. */
export interface KindKnowledge {
  /** Is it the cluster's own Event? */
  isEvent(kind: string): boolean
  /** Can a rule with this `when.kind` see objects of a watched kind? True when in doubt. */
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
  /** The rules that need it. */
  rules: readonly string[]
}

/** What a configuration needs to know of the surroundings of events. */
export interface Needs {
  namespaceLabels: boolean
  /** Owners of what is not an Event. */
  owners: boolean
  regardingLabels: boolean
  regardingOwners: boolean
  metadata: readonly MetadataNeed[]
}

export const NO_NEEDS: Needs = {
  namespaceLabels: false,
  owners: false,
  regardingLabels: false,
  regardingOwners: false,
  metadata: [],
}

/** What stands between nearly every pod and its top controller. */
const BETWEEN = ['ReplicaSet', 'Job']
/** Controllers that are at the top, unless an operator owns them. */
const UPPER = ['Deployment', 'StatefulSet', 'DaemonSet', 'CronJob']
/** Kinds that Events tell about. */
const USUAL = [
  ...['Pod', 'Node', 'PersistentVolumeClaim', 'HorizontalPodAutoscaler'],
  ...['Deployment', 'ReplicaSet', 'StatefulSet', 'DaemonSet', 'Job', 'CronJob'],
]
/** Those of them that have owners in most clusters. */
const OWNED = ['Pod', ...BETWEEN]
const CONTROLLERS = new Set(
  [...BETWEEN, ...UPPER, 'ReplicationController', 'Node'].map((it) => it.toLowerCase()),
)
const CLUSTER_SCOPED = new Set(['Node', 'Namespace', 'PersistentVolume'])

/**
 * Which metadata the rules need, in the namespaces that the watches cover: pure, and without a cluster. May be left before each
 * rule.
 */
export function* needsOf(
  rules: readonly NeedyRule[],
  watch: readonly WatchedEntry[],
  settings: Pick<EnrichSettings, 'owners' | 'regarding'>,
  knowledge: KindKnowledge,
  beside: TemplatesBeside = () => undefined,
): Generator<void, Needs> {
  const needs = { ...NO_NEEDS }
  const wanted = new Wanted()
  const upper = upperKinds(rules, settings)
  for (const [i, rule] of rules.entries()) {
    yield
    const mentions = mentionsOf(rule, beside(i))
    if (!Object.values(mentions).includes(true)) continue
    for (const entry of watch) {
      const { kind: patterns, namespace } = (rule.when ?? {}) as { kind?: unknown; namespace?: unknown }
      const namespaces = namespacesFor(namespace, entry.namespaces)
      if (!knowledge.mayMatch(patterns, entry.kind) || namespaces?.length === 0) continue
      const isEvent = knowledge.isEvent(entry.kind)
      if (mentions.namespaceLabels) {
        needs.namespaceLabels = true
        wanted.namespaces(namespaces, rule.name)
      }
      const kinds = isEvent
        ? regardedKinds(rule, entry, mentions, upper, settings)
        : mentions.owner || mentions.topOwner
          ? [...BETWEEN, ...upper]
          : []
      needs.owners ||= (mentions.owner || mentions.topOwner) && !isEvent
      needs.regardingLabels ||= isEvent && mentions.regardingLabels
      needs.regardingOwners ||= isEvent && (mentions.topOwner || mentions.regardingOwner)
      for (const kind of kinds) wanted.kind(kind, namespaces, isEvent, rule.name)
    }
  }
  return { ...needs, metadata: wanted.all() }
}

function regardedKinds(
  rule: NeedyRule,
  entry: WatchedEntry,
  { topOwner, regardingOwner, regardingLabels }: Mentions,
  upper: readonly string[],
  settings: Pick<EnrichSettings, 'regarding'>,
): readonly string[] {
  const byOwner = topOwner || regardingOwner
  if (!byOwner && !regardingLabels) return []
  const { regarding = {} } = (rule.when ?? {}) as { regarding?: { kind?: unknown } }
  const usual = regardingLabels ? USUAL : [...OWNED, ...upper]
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

/** Joins what several rules want of one kind. */
class Wanted {
  readonly #kinds = new Map<string, { namespaces: readonly string[] | undefined; rules: Set<string> }>()
  readonly #names = new Map<string, Set<string>>()
  readonly #all = new Set<string>()

  kind(kind: string, namespaces: readonly string[] | undefined, isEvent: boolean, rule: string): void {
    // Events about what is in no namespace are in "default".
    const none = CLUSTER_SCOPED.has(kind)
    if (none && isEvent && namespaces && !hasPatterns(namespaces) && !namespaces.includes('default')) return
    const wished = none ? undefined : namespaces
    const known = this.#kinds.get(kind)
    if (known) {
      known.namespaces = joinNamespaces(known.namespaces, wished)
      known.rules.add(rule)
    } else this.#kinds.set(kind, { namespaces: wished, rules: new Set([rule]) })
  }

  /** Labels of namespaces: of those that are named, else of all. */
  namespaces(namespaces: readonly string[] | undefined, rule: string): void {
    if (!namespaces || hasPatterns(namespaces)) this.#all.add(rule)
    else for (const it of namespaces) this.#names.set(it, (this.#names.get(it) ?? new Set()).add(rule))
  }

  all(): MetadataNeed[] {
    const kinds = [...this.#kinds].map(([kind, { namespaces, rules }]) => ({
      kind,
      ...(namespaces && { namespaces }),
      rules: [...rules],
    }))
    const named = [...this.#names].map(([name, rules]) => ({ kind: 'Namespace', name, rules: [...rules] }))
    if (this.#all.size === 0) return [...named, ...kinds]
    const rules = [...new Set([...this.#all, ...named.flatMap((it) => it.rules)])]
    return [{ kind: 'Namespace', rules }, ...kinds.filter(({ kind }) => kind !== 'Namespace')]
  }
}
