import { eventKeysOf } from '../rules/event-conditions.ts'
import { isEventKind } from '../rules/kind.ts'
import { compileTypes } from '../rules/types.ts'
import { checkComparisons } from './check-comparisons.ts'
import { kindsReached, rulesByWatch } from './check-reach.ts'
import { conditionMeant, kindWithCondition } from './condition-types.ts'
import type { ConfigDocument, Path } from './document.ts'
import type { Draft, RuleDraft } from './draft.ts'
import type { Problem } from './problem.ts'
import { watchHint } from './watch-hint.ts'
import { isClusterScoped, titleOf, type WatchedKind, watchedKindOf } from './watched-kind.ts'

/** Keys that compare an object with what it was, and the changes that they look at. */
const COMPARING: Readonly<Record<string, readonly string[]>> = {
  changed: ['MODIFIED'],
  from: ['MODIFIED'],
  'to-state': ['ADDED', 'MODIFIED'],
  condition: ['ADDED', 'MODIFIED'],
}

/** Rules that never match because of the states that they ask for. Sure cases only. */
export function checkStates(draft: Draft, document: ConfigDocument): Problem[] {
  return draft.rules.flatMap((rule) => [
    ...checkTypes(rule, document),
    ...checkStatuses(rule, draft, document),
    ...checkOpposites(rule, document),
    ...checkComparisons(rule, document),
    ...checkKinds(rule, draft, document),
  ])
}

/** `type` leaves no change that has two states. */
function checkTypes({ index, sound: { type } }: RuleDraft, document: ConfigDocument): Problem[] {
  const compiled = type === undefined ? undefined : compileTypes(type)
  const test = compiled?.ok ? compiled.value.change : undefined
  if (!test) return []
  return Object.entries(COMPARING).flatMap(([key, types]) => {
    const path = ['rules', index, key]
    if (!document.at(path) || types.some((it) => test(it))) return []
    const message = `this rule matches nothing: "${key}" looks at ${types.join(' and ')}, and "type" leaves those out`
    return [document.problem(path, message, { atKey: true, hint: 'leave "type" out', severity: 'warning' })]
  })
}

const STATUSES = ['True', 'False', 'Unknown']
const EXACT = /^[A-Za-z][A-Za-z0-9]*$/

/** What no condition's status is. */
function checkStatuses(rule: RuleDraft, draft: Draft, document: ConfigDocument): Problem[] {
  const { index, condition } = rule
  const isNode = areNodes(rule, draft)
  return (['becomes', 'from'] as const).flatMap((key) => {
    const written = condition?.[key]
    return [written ?? []].flat().flatMap((status, at) => {
      if (!EXACT.test(status) || STATUSES.includes(status)) return []
      const path = ['rules', index, 'condition', key, ...(Array.isArray(written) ? [at] : [])]
      return [
        document.problem(path, 'the status of a condition is "True", "False" or "Unknown"', {
          severity: 'warning',
          hint: statusHint(status, key, condition, isNode),
        }),
      ]
    })
  })
}

function areNodes(rule: RuleDraft, draft: Draft): boolean {
  const kinds = kindsReached(rule, draft) ?? []
  return kinds.length > 0 && kinds.every(({ builtIn: [it] }) => it?.kind === 'Node')
}

function statusHint(status: string, key: string, condition: RuleDraft['condition'], isNode: boolean): string {
  const word = status.toLowerCase()
  const type = condition?.type.toLowerCase() ?? ''
  if (/^(yes|on)$/.test(word) || word === type) return `write ${key}: "True"`
  // Of a Node whose kubelet is dead nobody knows.
  if (word === 'notready' && type === 'ready' && isNode && !Array.isArray(condition?.[key as 'from']))
    return `write ${key}: ["False", "Unknown"]`
  if (/^(no|off)$/.test(word) || word === `not${type}`) return `write ${key}: "False"`
  const mayBeReason = key === 'becomes' && condition?.reason === undefined && /^[A-Z]/.test(status)
  return mayBeReason
    ? `is it the reason? write becomes: "False", reason: ${status}`
    : `such as ${key}: "False"`
}

/** What is asked to be and not to be. */
function checkOpposites({ index, ...rule }: RuleDraft, document: ConfigDocument): Problem[] {
  const found: { path: Path; message: string; hint: string }[] = []
  const { condition, from, 'to-state': to } = rule
  if (condition && isSame(condition.from, condition.becomes))
    found.push({
      path: ['condition', 'from'],
      message: 'this rule matches nothing: "from" is the same as "becomes"',
      hint: formerHint(condition.becomes),
    })
  for (const [path, patterns] of Object.entries(to ?? {}))
    if (from && Object.keys(to ?? {}).length === 1 && isSame(from[path], patterns))
      found.push({
        path: Object.keys(from).length === 1 ? ['from'] : ['from', path],
        message: 'this rule matches nothing: "from" is the same as "to-state"',
        hint: `leave ${Object.keys(from).length === 1 ? '"from"' : `"${path}" of "from"`} out, or name the state before`,
      })
  const changed = [rule.changed ?? []].flat()
  const covering = (path: string) =>
    [rule.unchanged ?? []].flat().find((it) => path === it || /^[.[]/.test(after(it, path)))
  const [first] = changed
  if (first !== undefined && changed.every((path) => covering(path) !== undefined))
    found.push({
      path: ['unchanged'],
      message: `this rule matches nothing: what is "changed" at ${first} is not "unchanged"${covering(first) === first ? '' : ` at ${covering(first)}`}`,
      hint: 'leave "changed" or "unchanged" out',
    })
  return found.map(({ path, message, hint }) =>
    document.problem(['rules', index, ...path], message, { atKey: true, hint, severity: 'warning' }),
  )
}

function formerHint(becomes: string | string[]): string {
  const former = becomes === 'False' ? 'True' : becomes === 'True' ? 'False' : undefined
  return former === undefined
    ? 'leave "from" out, or name the status before'
    : `write from: "${former}", or leave "from" out`
}

function after(start: string, text: string): string {
  return text.startsWith(start) ? text.slice(start.length) : ''
}

function isSame(one: string | string[] | undefined, other: string | string[]): boolean {
  return typeof one === 'string' && one === other && !one.startsWith('!')
}

/** Conditions that no object of the rule's kinds has. */
function checkKinds(rule: RuleDraft, draft: Draft, document: ConfigDocument) {
  const { index, sound, condition } = rule
  const kinds = kindsReached(rule, draft) ?? []
  if (kinds.length === 0) return []
  const problems: Problem[] = []
  const tell = (path: Path, message: string, hint: string) =>
    problems.push(
      document.problem(['rules', index, ...path], message, { atKey: true, hint, severity: 'warning' }),
    )
  const areEvents = kinds.every(({ builtIn }) => builtIn.length > 0 && builtIn.every(isEventKind))
  if (condition && areEvents) problems.push(conditionOfEvent(rule, draft, document))
  const meant = condition && conditionMeant(condition.type, kinds)
  if (meant !== undefined)
    problems.push(
      document.problem(
        ['rules', index, 'condition', 'type'],
        `a ${titleOf(kinds[0] as WatchedKind)} has no condition "${condition?.type}"`,
        { hint: `did you mean "${meant}"?`, severity: 'warning' },
      ),
    )
  const { namespaceLabels: labels } = sound
  const asksFor = typeof labels === 'string' && /^[^!]*[=(]/.test(labels) && !labels.includes('notin')
  if (asksFor && kinds.every(isClusterScoped))
    tell(
      ['when', 'namespaceLabels'],
      `this rule matches nothing: a ${kinds[0]?.builtIn[0]?.kind} is in no namespace`,
      sound.labels === undefined
        ? `to match the ${kinds[0]?.builtIn[0]?.kind}'s own labels write labels: ${/^[\w./=-]+$/.test(labels) ? labels : JSON.stringify(labels)}`
        : 'leave "namespaceLabels" out',
    )
  return problems
}

/** The kind is wrong, or the condition is, where the rest is about Events. */
function conditionOfEvent(rule: RuleDraft, draft: Draft, document: ConfigDocument): Problem {
  const message = 'this rule matches nothing: an Event has no conditions'
  const path = ['rules', rule.index]
  const hasKind = document.at([...path, 'when', 'kind']) !== undefined
  const [key] = eventKeysOf(rule.sound)
  if (key !== undefined) {
    const hint = `leave "condition" out: "${key}" is of Events; a condition is for a rule of its own`
    return document.problem([...path, 'condition'], message, { atKey: true, hint, severity: 'warning' })
  }
  return document.problem([...path, ...(hasKind ? ['when', 'kind'] : ['condition'])], message, {
    atKey: !hasKind,
    hint: otherKindHint(rule, draft, document),
    severity: 'warning',
  })
}

/** A kind that has the condition, and `watch` as it has to be for it. */
function otherKindHint(rule: RuleDraft, draft: Draft, document: ConfigDocument): string {
  const type = rule.condition?.type ?? ''
  const { namespace, namespaceLabels } = rule.sound
  const kind = kindWithCondition(type, { namespaced: (namespace ?? namespaceLabels) !== undefined })
  if (kind === undefined) return `name the kind that has ${type}, and watch it`
  const hasKind = document.at(['rules', rule.index, 'when', 'kind']) !== undefined
  const written = `write ${hasKind ? '' : 'when: { '}kind: ${kind}${hasKind ? '' : ' }'}`
  const isWatched = draft.watch.some((it) => {
    const watched = it.kind === undefined ? undefined : watchedKindOf(it.kind)
    return watched !== undefined && titleOf(watched) === kind
  })
  if (isWatched) return written
  const byWatch = [...(rulesByWatch(draft) ?? [])]
  const idle = byWatch.flatMap(([at, rules]) =>
    rules.every((it) => it === rule || it.drop === true) ? [at] : [],
  )
  return `${written}, and watch it: ${watchHint(document, [kind], idle).replace(/^write (?=watch)/, '')}`
}
