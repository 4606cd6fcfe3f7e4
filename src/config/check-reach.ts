import { eventKeysOf } from '../rules/event-conditions.ts'
import { type Pattern, parsePatterns } from '../rules/pattern.ts'
import type { When } from '../rules/schema.ts'
import type { ConfigDocument, Path } from './document.ts'
import type { Draft, RuleDraft } from './draft.ts'
import { namespacesMeet, passesNoNamespace } from './namespaces.ts'
import type { Problem } from './problem.ts'
import { nearest, suggest } from './suggest.ts'
import { watchHint } from './watch-hint.ts'
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

/** An entry of `watch`, and what is known of its kind. */
interface Watched {
  index: number
  kind: WatchedKind
  namespaces: readonly string[] | undefined
}

/** Rules that can never match because of what is watched, and what is watched for no rule. Sure cases only. */
export function checkReach(draft: Draft, document: ConfigDocument): Problem[] {
  const reaches = reachesOf(draft)
  if (!reaches) return []
  const { watched, byRule } = reaches
  const reached = new Set<Watched>()
  for (const rule of draft.rules)
    if (rule.drop !== true) for (const entry of (byRule.get(rule) as Reach).entries) reached.add(entry)
  const idle = watched.filter((entry) => !reached.has(entry))
  const blocked = draft.rules.filter((rule) => (byRule.get(rule) as Reach).blocked.length > 0)
  const toWatch = {
    // What only a rule with "drop" wants is not watched for anything.
    add: [
      ...new Set(
        blocked.flatMap(({ sound, drop }) => (drop === true ? [] : kindsToWatch(patternsOf(sound), watched))),
      ),
    ],
    // Of several rules nobody knows which wants what is watched already.
    idle: blocked.length === 1 && draft.rules.every(({ complete }) => complete) ? idle : [],
  }
  const problems = blocked.flatMap((rule) =>
    (byRule.get(rule) as Reach).blocked.flatMap((tell) =>
      tell(document, ['rules', rule.index, 'when'], toWatch),
    ),
  )
  if (problems.length > 0 || draft.rules.length === 0) return problems
  return idle.map(({ index, kind }) =>
    document.problem(['watch', index], `no rule sends anything about ${titleOf(kind)}`, {
      severity: 'warning',
    }),
  )
}

/** The entries of `watch`, each with the rules that can match what it reads; undefined while that is open. */
export function rulesByWatch(draft: Draft): ReadonlyMap<number, readonly RuleDraft[]> | undefined {
  const reaches = reachesOf(draft)
  if (!reaches) return undefined
  const rules = new Map(reaches.watched.map(({ index }): [number, RuleDraft[]] => [index, []]))
  for (const [rule, { entries }] of reaches.byRule)
    for (const { index } of entries) rules.get(index)?.push(rule)
  return rules
}

/** The watched kinds that a rule can match; undefined while that is open. */
export function kindsReached(rule: RuleDraft, draft: Draft): readonly WatchedKind[] | undefined {
  return reachesOf(draft)
    ?.byRule.get(rule)
    ?.entries.map(({ kind }) => kind)
}

/** What `watch` lacks, and what it has for no rule. */
interface ToWatch {
  add: readonly string[]
  idle: readonly Watched[]
}

type Blocked = (document: ConfigDocument, path: Path, toWatch: ToWatch) => Problem[]

/** The entries whose objects a rule can match, and why it cannot match others that it names. */
interface Reach {
  entries: readonly Watched[]
  blocked: readonly Blocked[]
}

interface Reaches {
  watched: readonly Watched[]
  byRule: ReadonlyMap<RuleDraft, Reach>
}

const known = new WeakMap<Draft, { reaches: Reaches | undefined }>()

/** Undefined when the kind of an entry was not understood: nobody knows what it would have been. */
function reachesOf(draft: Draft): Reaches | undefined {
  const found = known.get(draft) ?? { reaches: readReaches(draft) }
  known.set(draft, found)
  return found.reaches
}

function readReaches(draft: Draft): Reaches | undefined {
  const watched = readWatched(draft)
  return watched && { watched, byRule: new Map(draft.rules.map((it) => [it, reachOf(it, watched)])) }
}

function reachOf({ sound: when, drop }: RuleDraft, watched: readonly Watched[]): Reach {
  const kinds = patternsOf(when)
  const ofKind = watched.filter(({ kind }) => meansKind(kinds, kind))
  const unwatched = unwatchedKinds(kinds, watched)
  const isUnknown = unwatched.length > 0 || ofKind.length === 0
  const blocked: Blocked[] = isUnknown
    ? [
        (document, path, toWatch) =>
          kindProblems(document, path, { kinds, unwatched, watched, toWatch, drops: drop === true }),
      ]
    : []
  if (ofKind.length === 0) return { entries: [], blocked }
  const eventKeys = eventKeysOf(when)
  const answering = eventKeys.length === 0 ? ofKind : ofKind.filter(({ kind }) => mayBeEvent(kind))
  if (answering.length === 0) {
    const key = eventKeys[0] ?? 'type'
    blocked.push((document, path, { idle }) => [noEvent(document, path, { when, key, ofKind, idle })])
    return { entries: [], blocked }
  }
  const entries = answering.filter((entry) => reachesNamespace(when, entry))
  if (entries.length === 0) blocked.push((document, path) => [noNamespace(document, path, answering)])
  return { entries, blocked }
}

function readWatched({ watch }: Draft): Watched[] | undefined {
  if (watch.length === 0) return undefined
  const watched = watch.map(({ index, kind: text, namespaces, complete }) => {
    const kind = text === undefined ? undefined : watchedKindOf(text)
    return kind && { index, kind, namespaces: complete ? namespaces : undefined }
  })
  return watched.every((it) => it !== undefined) ? watched : undefined
}

function patternsOf({ kind }: When): readonly Pattern[] {
  const parsed = kind === undefined ? undefined : parsePatterns(kind)
  return parsed?.ok ? parsed.value : []
}

function meansKind(kinds: readonly Pattern[], watched: WatchedKind): boolean {
  const positive = kinds.filter(({ negated }) => !negated)
  const negative = kinds.filter(({ negated }) => negated)
  const isExcluded = watched.builtIn.length > 0 && negative.some((pattern) => mayMean(pattern, watched))
  return !isExcluded && (positive.length === 0 || positive.some((pattern) => mayMean(pattern, watched)))
}

/** Places in the list of kinds that name what nobody watches. */
function unwatchedKinds(kinds: readonly Pattern[], watched: readonly Watched[]): number[] {
  return kinds.flatMap((pattern, index) =>
    pattern.negated || pattern.form !== 'literal' || watched.some(({ kind }) => mayMean(pattern, kind))
      ? []
      : [index],
  )
}

/** Those of them that are no slips of what is watched. */
function kindsToWatch(kinds: readonly Pattern[], watched: readonly Watched[]): string[] {
  const known = watched.flatMap(({ kind }) => namesOf(kind))
  const texts = unwatchedKinds(kinds, watched).map((index) => kinds[index]?.text ?? '')
  return texts
    .filter((text) => nearest(text, known.length > 12 ? [] : known) === undefined)
    .map((text) => builtInMeant(text) ?? text)
}

/** The built-in kind that a text nearly is. */
function builtInMeant(text: string): string | undefined {
  const kind = watchedKindOf(text)
  return kind && likelyTypo(kind)
}

function kindProblems(
  document: ConfigDocument,
  path: Path,
  {
    kinds,
    unwatched,
    watched,
    toWatch,
    drops,
  }: {
    kinds: readonly Pattern[]
    unwatched: readonly number[]
    watched: readonly Watched[]
    toWatch: ToWatch
    drops: boolean
  },
): Problem[] {
  const kindPath = [...path, 'kind']
  const isList = document.at(kindPath)?.items !== undefined
  const titles = titlesOf(watched)
  const list = document.at(['watch'])
  const isFlow = list?.file.text[list.start] === '['
  if (unwatched.length === 0)
    return [document.problem(kindPath, 'no watched kind matches this', { hint: `watched: ${titles}` })]
  const known = watched.flatMap(({ kind }) => namesOf(kind))
  return unwatched.map((index) => {
    const { text = '' } = kinds[index] ?? {}
    const place = isList ? [...kindPath, index] : kindPath
    const written = document.at(place)?.written
    if (written !== undefined)
      return document.problem(place, `no entry of "watch" watches what ${written} stands for`)
    const hint = suggest(text, known.length > 12 ? [] : known)
    const isNear = hint?.startsWith('did')
    if (drops && !isNear)
      return document.problem(place, `no entry of "watch" watches ${text}`, {
        hint: `watched: ${titles}; there is nothing to drop: leave ${kinds.length > 1 ? 'it' : 'this rule'} out`,
      })
    // Entries of one list in the file are written at once, those of a block one by one.
    const meant = builtInMeant(text)
    const add = isFlow ? toWatch.add : [meant ?? text]
    const question = meant === undefined ? '' : `did you mean "${meant}"? `
    return document.problem(place, `no entry of "watch" watches ${text}`, {
      hint: isNear
        ? hint
        : `${question}watched: ${titles}; ${watchHint(document, add, indicesOf(toWatch.idle))}`,
    })
  })
}

function indicesOf(entries: readonly Watched[]): number[] {
  return entries.map(({ index }) => index)
}

function noEvent(
  document: ConfigDocument,
  path: Path,
  {
    when,
    key,
    ofKind,
    idle,
  }: { when: When; key: string; ofKind: readonly Watched[]; idle: readonly Watched[] },
): Problem {
  const what = key === 'type' ? 'the types Normal and Warning' : `"${key}"`
  if (when.kind === undefined) {
    const message = `only Events have ${what}, and no entry of "watch" watches Event`
    return document.problem([...path, key], message, {
      atKey: true,
      hint: watchHint(document, ['Event'], indicesOf(idle)),
    })
  }
  const kind = ofKind[0] ? titleOf(ofKind[0].kind) : 'Pod'
  const message = `only Events have ${what}, and this rule is for ${titlesOf(ofKind)}`
  const hint = `for Events about such objects: when: { kind: Event, regarding: { kind: ${kind} }, … }`
  return document.problem([...path, key], message, { atKey: true, hint })
}

function reachesNamespace({ namespace }: When, { kind, namespaces }: Watched): boolean {
  if (isClusterScoped(kind)) return passesNoNamespace(namespace)
  return namespacesMeet(namespace, namespaces && [...namespaces])
}

function noNamespace(document: ConfigDocument, path: Path, entries: readonly Watched[]): Problem {
  const place = [...path, 'namespace']
  if (entries.every(({ kind }) => isClusterScoped(kind))) {
    return document.problem(place, `${titlesOf(entries)} objects are in no namespace`, {
      hint: 'leave "namespace" out',
    })
  }
  const watched = [...new Set(entries.flatMap(({ namespaces }) => namespaces ?? []))].join(', ')
  return document.problem(place, `${titlesOf(entries)} objects of this namespace are not watched`, {
    hint: `watched: ${watched}`,
  })
}

function titlesOf(entries: readonly Watched[]): string {
  return [...new Set(entries.map(({ kind }) => titleOf(kind)))].join(', ')
}
