import { SET } from '../rule-sets/rule-sets.ts'
import { listHint } from '../rules/comma.ts'
import { ownerKindOf } from '../rules/owner.ts'
import { listOf, type Patterns, Rule } from '../rules/schema.ts'
import { archiveSink } from './check-archive.ts'
import { dropsAll } from './check-shadow.ts'
import type { ConfigDocument, Path } from './document.ts'
import type { Draft, RuleDraft } from './draft.ts'
import { faultProblems } from './fault-problems.ts'
import { optionPlace, ruleKeyFor, SINK_OPTIONS } from './key-hints.ts'
import { namespaceFaults } from './namespaces.ts'
import type { Problem } from './problem.ts'
import { nearest, suggester } from './suggest.ts'
import { targetsOf } from './targets.ts'
import { likelyTypo, watchedKindOf } from './watched-kind.ts'

/** What no schema sees in `rules`: conditions that cannot be read, names that lead nowhere, rules without effect. */
export function checkRules(draft: Draft, document: ConfigDocument): Problem[] {
  const above: Above = { names: new Map(), wall: undefined }
  const sinks = draft.sinks && { names: draft.sinks, known: new Set(draft.sinks), suggest: suggester() }
  return draft.rules.flatMap((rule) => [
    ...checkConditions(rule, document),
    ...checkEffect(rule, draft, document),
    ...checkOtherKinds(rule, document),
    ...checkTargets(rule, sinks, document),
    ...checkOrder(rule, above, document),
  ])
}

function checkConditions({ index, when, faults }: RuleDraft, document: ConfigDocument): Problem[] {
  const path = ['rules', index]
  const namespaces = when.namespace === undefined ? [] : namespaceFaults(when.namespace)
  const regarding = when.regarding?.namespace === undefined ? [] : namespaceFaults(when.regarding.namespace)
  return [
    ...faultProblems(faults, path, document),
    ...faultProblems(namespaces, [...path, 'when', 'namespace'], document),
    ...faultProblems(regarding, [...path, 'when', 'regarding', 'namespace'], document),
  ]
}

/** Events may be about objects of any kind, and anything may own them, watched or not, so a kind can only be a likely slip. */
function checkOtherKinds({ index, sound }: RuleDraft, document: ConfigDocument): Problem[] {
  const path = ['rules', index, 'when']
  return [
    ...kindSlips(sound.regarding?.kind, [...path, 'regarding', 'kind'], document, (text) =>
      text.replace(/^!/, ''),
    ),
    ...kindSlips(sound.owner, [...path, 'owner'], document, ownerKindOf),
    ...ownerNames(sound.owner, [...path, 'owner'], document),
    ...ownerNames(sound.regarding?.owner, [...path, 'regarding', 'owner'], document),
    ...kindSlips(sound.regarding?.owner, [...path, 'regarding', 'owner'], document, ownerKindOf),
  ]
}

/** A word alone is a kind, and those of owners are mostly written in capitals: a likely name. */
function ownerNames(patterns: Patterns = [], path: Path, document: ConfigDocument): Problem[] {
  return listOf(patterns).flatMap((text, at) => {
    const place = typeof patterns === 'string' ? path : [...path, at]
    const [, not = '', word = ''] = /^(!?)([a-z][a-z0-9]*)$/.exec(text) ?? []
    const kind = word === '' ? undefined : watchedKindOf(word)
    if (!kind || kind.builtIn.length > 0 || likelyTypo(kind) !== undefined) return []
    const hint = `for an owner of any kind that is called so, write "${not}*/${word}"`
    return [document.problem(place, `"${word}" is a kind here`, { hint, severity: 'warning' })]
  })
}

function kindSlips(
  patterns: Patterns = [],
  path: Path,
  document: ConfigDocument,
  kindIn: (text: string) => string | undefined,
): Problem[] {
  return listOf(patterns).flatMap((text, at) => {
    const place = typeof patterns === 'string' ? path : [...path, at]
    const bare = kindIn(text)
    const kind = bare === undefined ? undefined : watchedKindOf(bare)
    const meant = kind && likelyTypo(kind)
    if (meant === undefined || document.at(place)?.written !== undefined) return []
    const hint = `did you mean "${meant}"?`
    return [document.problem(place, `no cluster has a built-in kind ${bare}`, { hint, severity: 'warning' })]
  })
}

function checkEffect(
  { index, drop, to }: RuleDraft,
  { sinks = [] }: Draft,
  document: ConfigDocument,
): Problem[] {
  const path = ['rules', index]
  const rule = document.at(path)
  // Of a set it is told where that is included.
  if (!rule?.entries || rule.file.name.startsWith(SET)) return []
  const has = (key: string) => document.at([...path, key]) !== undefined
  if (drop === true && to) {
    const hint = 'leave one of "drop" and "to" out; to send and then stop, put a rule with "drop" behind it'
    return [
      document.problem([...path, 'to'], 'this rule drops what it matches, so it cannot send it', {
        atKey: true,
        hint,
      }),
    ]
  }
  const doesNothing = !has('to') && (!has('drop') || drop === false)
  if (!doesNothing) return []
  const known = Object.keys(Rule.shape)
  const unknown = [...(document.at(path)?.entries?.keys() ?? [])].filter((key) => !known.includes(key))
  const isMisspelt = unknown.some((key) => /^(to|drop)$/.test(ruleKeyFor(key) ?? nearest(key, known) ?? ''))
  if (isMisspelt) return []
  return [
    document.problem(path, 'this rule has no "to": it does nothing', {
      hint: `write to: ${sinkWords(sinks)}, or drop: true`,
    }),
  ]
}

function sinkWords([first = 'SINK', ...others]: readonly string[]): string {
  return others.length === 0 ? first : `${first} (or another sink: ${others.slice(0, 10).join(', ')})`
}

interface Sinks {
  names: readonly string[]
  known: ReadonlySet<string>
  suggest: ReturnType<typeof suggester>
}

function checkTargets(
  { index, to = [] }: RuleDraft,
  sinks: Sinks | undefined,
  document: ConfigDocument,
): Problem[] {
  if (!sinks || to.length === 0) return []
  const named = new Set<string>()
  return targetsOf(document, index).flatMap(({ sink, path, atKey }) => {
    const isFirst = !named.has(sink)
    named.add(sink)
    if (sinks.known.has(sink)) return isFirst ? [] : [namedTwice(sink, path, atKey, document)]
    const written = atKey ? undefined : document.at(path)?.written
    if (written !== undefined) return [document.problem(path, `what ${written} stands for is no sink`)]
    return [
      document.problem(path, `there is no sink "${sink}"`, {
        atKey,
        hint: sink.includes(',')
          ? listHint(sink)
          : (optionHint(sink, atKey, sinks.names) ?? sinks.suggest(sink, sinks.names, 'there are')),
      }),
    ]
  })
}

/** `to: { oncall: , channel: "#shop" }` */
function optionHint(key: string, atKey: boolean, sinks: readonly string[]): string | undefined {
  if (!atKey) return undefined
  const [first = 'NAME'] = sinks
  if (key === 'sink' || key === 'name') return `write the sink's name as the key: to: [{ ${first}: { … } }]`
  return SINK_OPTIONS.includes(key) ? optionPlace(key, sinks.length === 1 ? first : 'NAME') : undefined
}

function namedTwice(sink: string, place: Path, atKey: boolean, document: ConfigDocument): Problem {
  return document.problem(place, `"${sink}" stands here twice`, {
    atKey,
    hint: 'one event reaches one sink once: leave one out',
    severity: 'warning',
  })
}

/** What rules above a rule are to it. */
interface Above {
  names: Map<string, RuleDraft>
  /** The first that drops everything. */
  wall: RuleDraft | undefined
}

function checkOrder(rule: RuleDraft, above: Above, document: ConfigDocument): Problem[] {
  const { index, name } = rule
  const problems: Problem[] = []
  const line = (it: RuleDraft) => document.lineWords(['rules', it.index], ['rules', index])
  const same = name === undefined ? undefined : above.names.get(name)
  if (same) {
    const hint = `the first one is in ${line(same)}`
    problems.push(document.problem(['rules', index, 'name'], `two rules are called "${name}"`, { hint }))
  } else if (name !== undefined) above.names.set(name, rule)
  const { wall } = above
  if (!wall && dropsAll(rule)) above.wall = rule
  if (wall) {
    const hint = `move it above, or give the rule in ${line(wall)} a "when"`
    const message = `no event comes here: the rule in ${line(wall)} drops everything`
    problems.push(document.problem(['rules', index], message, { hint }))
  }
  return problems
}

/** The sinks that no rule names: perhaps a rule is missing. Nothing while it is open where a rule sends to. */
export function checkUnusedSinks({ sinks = [], rules }: Draft, document: ConfigDocument): Problem[] {
  const known = new Set(sinks)
  const isOpen = ({ to, drop }: RuleDraft) => (to ? to.some((name) => !known.has(name)) : drop !== true)
  if (rules.length === 0 || rules.some(isOpen)) return []
  const used = new Set([...rules.flatMap(({ to = [] }) => to), archiveSink(document)])
  return sinks
    .filter((name) => !used.has(name))
    .map((name) =>
      document.problem(['sinks', name], `no rule sends anything to "${name}"`, {
        atKey: true,
        severity: 'warning',
      }),
    )
}
