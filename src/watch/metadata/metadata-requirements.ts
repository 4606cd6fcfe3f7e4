import type { EnrichSettings } from '../schema.ts'

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
  /** Is it the cluster's own Event? */
  isEvent(kind: string): boolean
  /** Can a rule with this `when.kind` see objects of a watched kind? True when it is not certain. */
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
export interface MetadataRequirements {
  namespaceLabels: boolean
  /** Owners of what is not an Event. */
  owners: boolean
  regardingLabels: boolean
  regardingOwners: boolean
  metadata: readonly MetadataNeed[]
}

export const NO_REQUIREMENTS: MetadataRequirements = {
  namespaceLabels: false,
  owners: false,
  regardingLabels: false,
  regardingOwners: false,
  metadata: [],
}

/** The kinds between nearly every pod and its top controller. */
const BETWEEN = ['ReplicaSet', 'Job']
/** Controllers that are at the top, unless an operator owns them. */
const UPPER = ['Deployment', 'StatefulSet', 'DaemonSet', 'CronJob']
/** Kinds that Events are about. */
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
export function* requirementsOf(
  rules: readonly NeedyRule[],
  watch: readonly WatchedEntry[],
  settings: Pick<EnrichSettings, 'owners' | 'regarding'>,
  knowledge: KindKnowledge,
  templatesOf: RuleTemplates = () => undefined,
): Generator<void, MetadataRequirements> {
  const needs = { ...NO_REQUIREMENTS }
  const wanted = new Wanted()
  const upper = upperKinds(rules, settings)
  for (const [i, rule] of rules.entries()) {
    yield
    const mentions = mentionsOf(rule, templatesOf(i))
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

/** What one rule asks of the surroundings of an event. */
interface Mentions {
  namespaceLabels: boolean
  /** Controllers above the object. */
  owner: boolean
  /** The top controller, of an Event that above the object which it is about. */
  topOwner: boolean
  regardingLabels: boolean
  regardingOwner: boolean
}

/**
 * Reads a rule as it is written, so that keys of any room count: conditions, what limits count by, CEL, templates, of which
 * `elsewhere` holds the templates that are not in the rule. A text in CEL that looks like a use is taken for one.
 */
function mentionsOf(rule: object, elsewhere?: unknown): Mentions {
  const { when = {}, if: condition, message } = rule as { when?: object; if?: unknown; message?: unknown }
  const { regarding = {}, owner, namespaceLabels } = mapOf(when)
  const asked = mapOf(regarding)
  const counted = countedBy(rule)
  const cel = typeof condition === 'string' ? condition : ''
  const templates = [message, elsewhere].flatMap(textsIn).flatMap((text) => text.match(TAG) ?? [])
  return {
    namespaceLabels:
      namespaceLabels !== undefined ||
      counted.some((it) => it.startsWith('namespaceLabels.')) ||
      /\bnamespaceLabels\b/.test(cel),
    owner: owner !== undefined,
    topOwner: counted.includes('owner') || [cel, ...templates].some((it) => EVENT_OWNER.test(it)),
    regardingLabels:
      asked['labels'] !== undefined ||
      counted.some((it) => it.startsWith('regarding.labels.')) ||
      REGARDING_LABELS.test(cel),
    regardingOwner:
      asked['owner'] !== undefined ||
      counted.includes('regarding.owner') ||
      [cel, ...templates].some((it) => REGARDING_OWNER.test(it)),
  }
}

/** What a template fills in or decides. */
const TAG = /\{\{[^}]*\}{0,2}|\{%[^}]*\}?/g
/** `.name`, `.?name`, `["name"]` behind a variable. */
const MEMBER = String.raw`\s*(?:\.\s*\??|\[\s*\??\s*["'])\s*`
const EVENT_OWNER = new RegExp(String.raw`\bevent${MEMBER}owner`)
const REGARDING_LABELS = new RegExp(String.raw`\bregarding\b["'\]]*${MEMBER}labels`)
const REGARDING_OWNER = new RegExp(String.raw`\bregarding\b["'\]]*${MEMBER}owner`)

/** All that limits of the rule count by: `per` and `by`, whatever the limit is called. */
function countedBy(rule: object): string[] {
  return Object.values(rule).flatMap((limit) => {
    const { per, by } = mapOf(limit)
    return [per, by].flat().filter((it) => typeof it === 'string')
  })
}

function mapOf(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as Record<string, unknown>)
    : {}
}

function textsIn(value: unknown): string[] {
  if (typeof value === 'string') return [value]
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(textsIn) : []
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
