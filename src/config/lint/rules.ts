import { ownerKindOf } from '../../rules/owner.ts'
import { listHint, listOf, type Patterns } from '../../rules/pattern.ts'
import { Rule } from '../../rules/schema.ts'
import { SET } from '../../rules/sets/rule-sets.ts'
import { nearest } from '../../text/closest-match.ts'
import type { ConfigDocument, Path } from '../document.ts'
import { aliasOf } from '../error-messages/key-aliases.ts'
import { suggest, suggester } from '../error-messages/suggest.ts'
import type { Draft, RuleDraft } from '../partial-config.ts'
import type { Problem } from '../problem.ts'
import { targetsOf } from '../routes.ts'
import type { Located } from '../source-node.ts'
import { faultProblems } from './fault-problems.ts'
import { namespaceFaults } from './namespaces.ts'
import { likelyTypo, watchedKindOf } from './watched-kind.ts'

/** Checks each rule: conditions that cannot be read, sinks that do not exist, rules without effect. */
export function checkRules(draft: Draft, document: ConfigDocument): Problem[] {
  const sinks = draft.sinks && { names: draft.sinks, known: new Set(draft.sinks), suggest: suggester() }
  return draft.rules.flatMap((rule) => [
    ...checkConditions(rule, document),
    ...checkEffect(rule, draft, document),
    ...checkOtherKinds(rule, document),
    ...checkTargets(rule, sinks, document),
  ])
}

function checkConditions({ index, when, faults }: RuleDraft, document: ConfigDocument): Problem[] {
  const path = ['rules', index]
  const { namespace = [], regarding } = when
  const { namespace: ofRegarding = [] } = regarding ?? {}
  return [
    ...faultProblems(faults, path, document),
    ...faultProblems(namespaceFaults(namespace), [...path, 'when', 'namespace'], document),
    ...faultProblems(namespaceFaults(ofRegarding), [...path, 'when', 'regarding', 'namespace'], document),
  ]
}

/** Regarded objects and owners may be of any kind, watched or not, so that only likely typos are reported. */
function checkOtherKinds({ index, sound }: RuleDraft, document: ConfigDocument): Problem[] {
  const path = ['rules', index, 'when']
  const { owner, regarding } = sound
  const bare = (text: string) => text.replace(/^!/, '')
  return [
    ...kindTypos(regarding?.kind, [...path, 'regarding', 'kind'], document, bare),
    ...kindTypos(owner, [...path, 'owner'], document, ownerKindOf),
    ...kindTypos(regarding?.owner, [...path, 'regarding', 'owner'], document, ownerKindOf),
  ]
}

function kindTypos(
  patterns: Patterns = [],
  path: Path,
  document: ConfigDocument,
  kindIn: (text: string) => string | undefined,
): Problem[] {
  return listOf(patterns).flatMap((text, at) => {
    const place = typeof patterns === 'string' ? path : [...path, at]
    const word = kindIn(text)
    const kind = word === undefined ? undefined : watchedKindOf(word)
    if (!kind || kind.builtIn.length > 0 || document.at(place)?.written !== undefined) return []
    const warn = (code: 'unknown-kind' | 'kind-expected', message: string, hint: string) =>
      document.problem(code, place, message, { hint, severity: 'warning' })
    const typo = likelyTypo(kind)
    if (typo !== undefined)
      return [warn('unknown-kind', `no cluster has a built-in kind ${word}`, `did you mean "${typo}"?`)]
    // A word in lower-case letters is likely the name of an owner.
    if (path.at(-1) !== 'owner' || text.includes('/') || !/^!?[a-z][a-z0-9]*$/.test(text)) return []
    return [warn('kind-expected', `"${word}" is a kind here`, `for an owner's name write "*/${word}"`)]
  })
}

function checkEffect(
  { index, drop, to }: RuleDraft,
  { sinks = [] }: Draft,
  document: ConfigDocument,
): Problem[] {
  const path = ['rules', index]
  const rule = document.at(path)
  // A rule of a set is checked where the set is included.
  if (!rule?.entries || rule.file.name.startsWith(SET)) return []
  if (drop === true && to) {
    const message = 'this rule drops what it matches, so it cannot send it'
    const hint = 'leave one of "drop" and "to" out; to send and then stop, put a rule with "drop" behind it'
    return [document.problem('drop-with-sink', [...path, 'to'], message, { atKey: true, hint })]
  }
  const has = (key: string) => document.at([...path, key]) !== undefined
  if (has('to') || (has('drop') && drop !== false)) return []
  const known = Object.keys(Rule.shape)
  const isMisspelt = [...rule.entries.keys()].some(
    (key) =>
      !known.includes(key) && /^(to|drop)\b/.test(aliasOf([...path, key]) ?? nearest(key, known) ?? ''),
  )
  if (isMisspelt) return []
  const [first = 'SINK', ...others] = sinks
  const choice = others.length === 0 ? '' : ` (or another sink: ${others.slice(0, 10).join(', ')})`
  const hint = `write to: ${first}${choice}, or drop: true`
  return [document.problem('rule-without-effect', path, 'this rule has no "to": it does nothing', { hint })]
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
    const own = atKey ? nameInOptions(document.at(path.slice(0, -1)), sinks.known) : undefined
    if (own) {
      if (own.key !== sink) return []
      const hint = `write to: [${own.options.length === 0 ? own.sink : `{ ${own.sink}: { ${own.options.join(': …, ')}: … } }`}]`
      return [document.problem('unknown-sink', path, `there is no sink "${sink}"`, { atKey, hint })]
    }
    const isFirst = !named.has(sink)
    named.add(sink)
    if (sinks.known.has(sink)) {
      if (isFirst) return []
      const hint = 'one event reaches one sink once: leave one out'
      const placing = { atKey, hint, severity: 'warning' } as const
      return [document.problem('duplicate-sink', path, `"${sink}" is named twice`, placing)]
    }
    const written = atKey ? undefined : document.at(path)?.written
    if (written !== undefined)
      return [document.problem('unknown-sink', path, `the value of ${written} is no sink`)]
    const hint = sink.includes(',') ? listHint(sink) : sinks.suggest(sink, sinks.names, 'there are')
    return [document.problem('unknown-sink', path, `there is no sink "${sink}"`, { atKey, hint })]
  })
}

/** `{ sink: oncall, channel: "#shop" }`: returns the key that names a sink, the sink, and the other keys. */
function nameInOptions(
  target: Located | undefined,
  known: ReadonlySet<string>,
): { key: string; sink: string; options: string[] } | undefined {
  const keys = [...(target?.entries?.keys() ?? [])]
  const key = keys.find((it) => /^(sink|name|receiver|ref)$/.test(it) && !known.has(it))
  const sink = key === undefined ? undefined : target?.entries?.get(key)?.value.value
  if (key === undefined || typeof sink !== 'string' || !known.has(sink)) return undefined
  return { key, sink, options: keys.filter((it) => it !== key) }
}

/** Sinks that no rule names; nothing while it is uncertain where a rule sends to. */
export function checkUnusedSinks({ sinks = [], rules }: Draft, document: ConfigDocument): Problem[] {
  const known = new Set(sinks)
  const isOpen = ({ to, drop }: RuleDraft) => (to ? to.some((name) => !known.has(name)) : drop !== true)
  if (rules.length === 0 || rules.some(isOpen)) return []
  const used = new Set([
    ...rules.flatMap(({ to = [] }) => to),
    archiveSink(document),
    ...NOTIFY_SINKS.map((path) => document.at(path)?.value),
  ])
  return sinks
    .filter((name) => !used.has(name))
    .map((name) => {
      const placing = { atKey: true, severity: 'warning' } as const
      return document.problem('unused-sink', ['sinks', name], `no rule sends anything to "${name}"`, placing)
    })
}

const ARCHIVE_HINT = 'give the archive a sink of its own, which nothing else sends to'
/** The sinks of reports: of failures, and of the heartbeat. */
const NOTIFY_SINKS = [
  ['notify', 'to'],
  ['notify', 'heartbeat', 'to'],
] as const
export const ARCHIVE_SINK = ['deadLetters', 'archive', 'sink'] as const

/** Returns the sink that archives dead letters, as written; undefined if there is none. */
export function archiveSink(document: ConfigDocument): string | undefined {
  const name = document.at(ARCHIVE_SINK)?.value
  return typeof name === 'string' ? name : undefined
}

/** The sinks of `notify` must exist. */
export function checkNotify({ sinks }: Draft, document: ConfigDocument): Problem[] {
  return NOTIFY_SINKS.flatMap((path) => {
    const name = document.at(path)?.value
    if (typeof name !== 'string' || sinks === undefined || sinks.includes(name)) return []
    const hint = suggest(name, sinks, 'there are')
    return [document.problem('unknown-sink', path, `there is no sink "${name}"`, { hint })]
  })
}

/** The archive must exist, and no rule may send to it: its own dead letters would return to it. */
export function checkArchive({ sinks, rules }: Draft, document: ConfigDocument): Problem[] {
  const name = archiveSink(document)
  if (name === undefined || sinks === undefined) return []
  if (!sinks.includes(name)) {
    const hint = suggest(name, sinks, 'there are')
    return [document.problem('unknown-sink', ARCHIVE_SINK, `there is no sink "${name}"`, { hint })]
  }
  const rule = rules.findIndex(({ to = [] }) => to.includes(name))
  if (NOTIFY_SINKS.some((path) => document.at(path)?.value === name)) {
    const message = `"${name}" would archive its own dead letters in itself: notify sends to it, too`
    return [document.problem('archive-loop', ARCHIVE_SINK, message, { hint: ARCHIVE_HINT })]
  }
  if (rule === -1) return []
  const where = document.lineName(['rules', rule], ARCHIVE_SINK)
  const message = `"${name}" would archive its own dead letters in itself: the rule on ${where} sends to it, too`
  return [document.problem('archive-loop', ARCHIVE_SINK, message, { hint: ARCHIVE_HINT })]
}
