import { type Pattern, parsePatterns } from '../../rules/pattern.ts'
import { eventKeysOf, type When } from '../../rules/when.ts'
import { nearest } from '../../text/closest-match.ts'
import type { ConfigDocument, Path } from '../document.ts'
import { suggest } from '../error-messages/suggest.ts'
import { type Draft, draftOf, type RuleDraft, type WatchDraft } from '../partial-config.ts'
import type { Problem } from '../problem.ts'
import { namespacesMeet, passesNoNamespace } from './namespaces.ts'
import {
  isClusterScoped,
  likelyTypo,
  mayBeEvent,
  mayMean,
  namesOf,
  titleOf,
  type WatchedKind,
  watchedKindOf,
} from './watched-kind.ts'

/** Rules that can never match because of what is watched, and entries of `watch` that no rule uses; only certain cases. */
export function checkUnwatched(draft: Draft, document: ConfigDocument): Problem[] {
  const reaches = reachesOf(draft)
  if (!reaches) return []
  const { watched, byRule } = reaches
  const problems = [...byRule].flatMap(([rule, { faults }]) =>
    faults.flatMap((fault) => problemOf(fault, rule, watched, document)),
  )
  if (problems.length > 0 || draft.rules.length === 0) return problems
  const used = new Set([...byRule].flatMap(([{ drop }, { entries }]) => (drop === true ? [] : entries)))
  return watched
    .filter((entry) => !used.has(entry))
    .map(({ index, kind }) => {
      const message = `no rule sends anything about ${titleOf(kind)}`
      return document.problem('unused-watch', ['watch', index], message, { severity: 'warning' })
    })
}

/** Returns the entries of `watch`, by index, with the rules that can match what they read; undefined if that is uncertain. */
function rulesByWatch(draft: Draft): ReadonlyMap<number, readonly RuleDraft[]> | undefined {
  const reaches = reachesOf(draft)
  if (!reaches) return undefined
  const rules = new Map(reaches.watched.map(({ index }): [number, RuleDraft[]] => [index, []]))
  for (const [rule, { entries }] of reaches.byRule)
    for (const { index } of entries) rules.get(index)?.push(rule)
  return rules
}

/** Returns the watched kinds that a rule can match; undefined if that is uncertain. */
export function kindsReached(rule: RuleDraft, draft: Draft): readonly WatchedKind[] | undefined {
  return reachesOf(draft)
    ?.byRule.get(rule)
    ?.entries.map(({ kind }) => kind)
}

/** An entry of `watch`, with its kind. */
interface Watched {
  index: number
  kind: WatchedKind
  namespaces: readonly string[] | undefined
}

/** Why a rule cannot match: a kind that is not watched (by its index in the list), a key of Events, a namespace. */
type ReachFault =
  | { of: 'kind'; pattern: Pattern | undefined; at: number }
  | { of: 'events'; key: string; kinds: readonly Watched[] }
  | { of: 'namespace'; entries: readonly Watched[] }

/** The entries whose objects a rule can match, and why it cannot match others that it names. */
interface Reach {
  entries: readonly Watched[]
  faults: readonly ReachFault[]
}

interface Reaches {
  watched: readonly Watched[]
  byRule: ReadonlyMap<RuleDraft, Reach>
}

const known = new WeakMap<Draft, { reaches: Reaches | undefined }>()

/** Undefined when the kind of an entry was not understood. */
function reachesOf(draft: Draft): Reaches | undefined {
  const found = known.get(draft) ?? { reaches: readReaches(draft) }
  known.set(draft, found)
  return found.reaches
}

function readReaches({ watch, rules }: Draft): Reaches | undefined {
  const watched = watch.map(({ index, kind: text, namespaces, complete }) => {
    const kind = text === undefined ? undefined : watchedKindOf(text)
    return kind && { index, kind, namespaces: complete ? namespaces : undefined }
  })
  if (watched.length === 0 || !watched.every((it) => it !== undefined)) return undefined
  return { watched, byRule: new Map(rules.map((it) => [it, reachOf(it, watched)])) }
}

function reachOf({ sound: when }: RuleDraft, watched: readonly Watched[]): Reach {
  const parsed = when.kind === undefined ? undefined : parsePatterns(when.kind)
  const kinds: readonly Pattern[] = parsed?.ok ? parsed.value : []
  const ofKind = watched.filter(({ kind }) => matchesKind(kinds, kind))
  const faults: ReachFault[] = kinds.flatMap((pattern, at): ReachFault[] => {
    const isWatched = watched.some(({ kind }) => mayMean(pattern, kind))
    return pattern.negated || pattern.form !== 'literal' || isWatched ? [] : [{ of: 'kind', pattern, at }]
  })
  if (ofKind.length === 0 && faults.length === 0) faults.push({ of: 'kind', pattern: undefined, at: 0 })
  if (ofKind.length === 0) return { entries: [], faults }
  const [key] = eventKeysOf(when)
  const answering = key === undefined ? ofKind : ofKind.filter(({ kind }) => mayBeEvent(kind))
  if (answering.length === 0)
    return { entries: [], faults: [...faults, { of: 'events', key: key ?? 'type', kinds: ofKind }] }
  const entries = answering.filter((entry) => matchesNamespace(when, entry))
  if (entries.length === 0) faults.push({ of: 'namespace', entries: answering })
  return { entries, faults }
}

function matchesKind(kinds: readonly Pattern[], watched: WatchedKind): boolean {
  const positive = kinds.filter(({ negated }) => !negated)
  const isExcluded =
    watched.builtIn.length > 0 && kinds.some((pattern) => pattern.negated && mayMean(pattern, watched))
  return !isExcluded && (positive.length === 0 || positive.some((pattern) => mayMean(pattern, watched)))
}

function matchesNamespace({ namespace }: When, { kind, namespaces }: Watched): boolean {
  if (isClusterScoped(kind)) return passesNoNamespace(namespace)
  return namespacesMeet(namespace, namespaces && [...namespaces])
}

function problemOf(
  fault: ReachFault,
  rule: RuleDraft,
  watched: readonly Watched[],
  document: ConfigDocument,
): Problem {
  const path = ['rules', rule.index, 'when']
  if (fault.of === 'kind') return kindProblem(fault, rule, watched, document)
  if (fault.of === 'events') return eventsProblem(fault, rule.sound, path, document)
  const { entries } = fault
  const place = [...path, 'namespace']
  if (entries.every(({ kind }) => isClusterScoped(kind))) {
    const message = `${titlesOf(entries)} objects are in no namespace`
    return document.problem('namespace-of-cluster-kind', place, message, { hint: 'leave "namespace" out' })
  }
  const namespaces = [...new Set(entries.flatMap((it) => it.namespaces ?? []))].join(', ')
  const message = `${titlesOf(entries)} objects of this namespace are not watched`
  return document.problem('unwatched-namespace', place, message, { hint: `watched: ${namespaces}` })
}

const MAX_NAMES = 12

function kindProblem(
  { pattern, at }: { pattern: Pattern | undefined; at: number },
  { index, drop }: RuleDraft,
  watched: readonly Watched[],
  document: ConfigDocument,
): Problem {
  const path = ['rules', index, 'when', 'kind']
  const all = `watched: ${titlesOf(watched)}`
  if (!pattern) return document.problem('unwatched-kind', path, 'no watched kind matches this', { hint: all })
  const place = document.at(path)?.items ? [...path, at] : path
  const written = document.at(place)?.written
  if (written !== undefined)
    return document.problem('unwatched-kind', place, `no entry of "watch" watches the value of ${written}`)
  const { text } = pattern
  // A misspelt kind of `watch` is no advice.
  const names = watched
    .filter(({ kind }) => likelyTypo(kind) === undefined)
    .flatMap(({ kind }) => namesOf(kind))
  const isNear = names.length <= MAX_NAMES && nearest(text, names) !== undefined
  const kind = watchedKindOf(text)
  const typo = kind && likelyTypo(kind)
  const question = typo === undefined ? '' : `did you mean "${typo}"? `
  const advice = drop === true ? 'there is nothing to drop: leave it out' : addKind(typo ?? text)
  const hint = isNear ? suggest(text, names) : `${question}${all}; ${advice}`
  return document.problem('unwatched-kind', place, `no entry of "watch" watches ${text}`, { hint })
}

function addKind(kind: string): string {
  return `add ${kind} to "watch"`
}

function eventsProblem(
  { key, kinds }: { key: string; kinds: readonly Watched[] },
  when: When,
  path: Path,
  document: ConfigDocument,
): Problem {
  const what = key === 'type' ? 'the types Normal and Warning' : `"${key}"`
  const place = [...path, key]
  if (when.kind === undefined) {
    const message = `only Events have ${what}, and no entry of "watch" watches Event`
    return document.problem('unwatched-kind', place, message, { atKey: true, hint: addKind('Event') })
  }
  const message = `only Events have ${what}, and this rule is for ${titlesOf(kinds)}`
  const kind = kinds[0] ? titleOf(kinds[0].kind) : 'Pod'
  const hint = `for Events about such objects: when: { kind: Event, regarding: { kind: ${kind} }, … }`
  return document.problem('never-matches', place, message, { atKey: true, hint })
}

function titlesOf(entries: readonly Watched[]): string {
  return [...new Set(entries.map(({ kind }) => titleOf(kind)))].join(', ')
}

/** Kinds of which a cluster has many, or that change all the time. */
const MANY = new Set(['Pod', 'Event', 'EndpointSlice', 'Endpoints', 'Lease', 'ReplicaSet', 'Job'])

/** Watches that read a whole cluster for rules that match a part of it, which the API server could select; only `check` reports them. */
export function checkBroadWatches(document: ConfigDocument): Problem[] {
  const root = document.at([])
  return root?.entries ? broadWatches(draftOf(root), document) : []
}

function broadWatches(draft: Draft, document: ConfigDocument): Problem[] {
  const byWatch = rulesByWatch(draft)
  if (!byWatch || draft.rules.some(({ complete }) => !complete)) return []
  return draft.watch.flatMap((entry) => {
    const kind = watchedKindOf(entry.kind ?? '')
    const title = kind && titleOf(kind)
    if (!title || !MANY.has(title)) return []
    const all = byWatch.get(entry.index) ?? []
    const rules = all.filter(({ drop }) => drop !== true)
    const drops = all.filter(({ drop }) => drop === true)
    const narrower =
      rules.length === 0 ? undefined : selectionFor(entry, rules, drops, document, title === 'Event')
    if (narrower === undefined) return []
    const message = `all ${title} objects of the cluster are read, and the rules ask for a part of them`
    const hint = `write { kind: ${entry.kind}, ${narrower} }`
    return [document.problem('broad-watch', ['watch', entry.index], message, { hint, severity: 'warning' })]
  })
}

/** Returns what to select by; undefined if the entry selects already, or a rule matches more. */
function selectionFor(
  { namespaces, labels, fields }: WatchDraft,
  rules: readonly RuleDraft[],
  drops: readonly RuleDraft[],
  document: ConfigDocument,
  isEvents: boolean,
): string | undefined {
  if (namespaces || labels !== undefined || fields !== undefined) return undefined
  const names = rules.map(({ sound }) => exactNames(sound.namespace))
  if (names.every((it) => it !== undefined)) {
    const all = [...new Set(names.flat())].toSorted()
    // With fewer namespaces, a rule that drops must still match something.
    if (all.length <= MAX_NAMESPACES && drops.every(({ sound }) => namespacesMeet(sound.namespace, all)))
      return `namespaces: [${isReferenced(rules, 'namespace', document) ? '…' : all.join(', ')}]`
  }
  // Events do not have the labels of their objects, and hardly any of their own.
  if (isEvents) return undefined
  const [first, ...rest] = rules.map(({ sound }) => sound.labels)
  const isSame = typeof first === 'string' && rest.every((it) => it === first)
  return isSame ? `labels: "${isReferenced(rules, 'labels', document) ? '…' : first}"` : undefined
}

/** Values of references are not shown; the source has them as `${…}`. */
function isReferenced(rules: readonly RuleDraft[], key: string, document: ConfigDocument): boolean {
  return rules.some(({ index }) => {
    const found = document.at(['rules', index, 'when', key])
    const isWritten = [found, ...(found?.items ?? [])].some((it) => it?.written !== undefined)
    return isWritten || found?.file.text.slice(found.start, found.end).includes('${') === true
  })
}

/** Each namespace is a source of its own. */
const MAX_NAMESPACES = 20

/** Returns the names if the API server can select them: patterns are matched here. */
function exactNames(patterns: RuleDraft['when']['namespace']): string[] | undefined {
  const parsed = patterns === undefined ? undefined : parsePatterns(patterns)
  if (!parsed?.ok || !parsed.value.every(({ form, negated }) => form === 'literal' && !negated))
    return undefined
  return parsed.value.map(({ text }) => text)
}
