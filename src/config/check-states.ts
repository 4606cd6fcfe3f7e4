import { isEventKind } from '../rules/kind.ts'
import { compileTypes } from '../rules/types.ts'
import { kindsReached } from './check-reach.ts'
import type { ConfigDocument, Path } from './document.ts'
import type { Draft, RuleDraft } from './draft.ts'
import type { Problem } from './problem.ts'
import { isClusterScoped } from './watched-kind.ts'

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
    ...checkStatuses(rule, document),
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
function checkStatuses({ index, condition }: RuleDraft, document: ConfigDocument): Problem[] {
  return (['becomes', 'from'] as const).flatMap((key) => {
    const written = condition?.[key]
    return [written ?? []].flat().flatMap((status, at) => {
      if (!EXACT.test(status) || STATUSES.includes(status)) return []
      const path = ['rules', index, 'condition', key, ...(Array.isArray(written) ? [at] : [])]
      return [
        document.problem(path, 'the status of a condition is "True", "False" or "Unknown"', {
          severity: 'warning',
          hint: statusHint(status, condition?.type ?? '', key),
        }),
      ]
    })
  })
}

function statusHint(status: string, type: string, key: string): string {
  if (/^(yes|on)$/i.test(status) || status === type) return `write ${key}: "True"`
  if (/^(no|off)$/i.test(status) || status === `Not${type}`) return `write ${key}: "False"`
  return /^[A-Z]/.test(status) ? `is it the reason? write reason: ${status}` : `such as ${key}: "False"`
}

/** What is asked to be and not to be. */
function checkOpposites({ index, ...rule }: RuleDraft, document: ConfigDocument): Problem[] {
  const found: { path: Path; message: string; hint: string }[] = []
  const { condition, from, 'to-state': to } = rule
  if (condition && isSame(condition.from, condition.becomes))
    found.push({
      path: ['condition', 'from'],
      message: 'this rule matches nothing: "from" is the same as "becomes"',
      hint: 'leave "from" out',
    })
  for (const [path, patterns] of Object.entries(to ?? {}))
    if (from && Object.keys(to ?? {}).length === 1 && isSame(from[path], patterns))
      found.push({
        path: ['from', path],
        message: 'this rule matches nothing: "from" is the same as "to-state"',
        hint: 'leave "from" out',
      })
  const changed = [rule.changed ?? []].flat()
  const covering = (path: string) =>
    [rule.unchanged ?? []].flat().find((it) => path === it || /^[.[]/.test(after(it, path)))
  const [first] = changed
  if (first !== undefined && changed.every((path) => covering(path) !== undefined))
    found.push({
      path: ['unchanged'],
      message: `this rule matches nothing: "changed" asks that ${first} is another, and "unchanged" that ${covering(first)} is the same`,
      hint: 'leave one of them out',
    })
  return found.map(({ path, message, hint }) =>
    document.problem(['rules', index, ...path], message, { atKey: true, hint, severity: 'warning' }),
  )
}

function after(start: string, text: string): string {
  return text.startsWith(start) ? text.slice(start.length) : ''
}

function isSame(one: string | string[] | undefined, other: string | string[]): boolean {
  return typeof one === 'string' && one === other && !one.startsWith('!')
}

/** `<1` is a text, and no number is that. */
function checkComparisons({ index, ...rule }: RuleDraft, document: ConfigDocument): Problem[] {
  return (['from', 'to-state'] as const).flatMap((key) =>
    Object.entries(rule[key] ?? {}).flatMap(([field, patterns]) => {
      if (typeof patterns !== 'string') return []
      const [, operator, number] = /^\s*([<>]=?|[!=]=)\s*(-?\d+(?:\.\d+)?)\s*$/.exec(patterns) ?? []
      if (operator === undefined) return []
      const path = ['rules', index, key, field]
      const object = key === 'from' ? 'oldObject' : 'object'
      return [
        document.problem(path, `patterns compare no numbers: only the text "${patterns}" is this`, {
          severity: 'warning',
          hint: `write if: ${object}.${field} ${operator} ${number}`,
        }),
      ]
    }),
  )
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
  if (condition && areEvents)
    tell(
      ['condition'],
      'this rule matches nothing: an Event has no conditions',
      `name the kind that has ${condition.type}, such as when: { kind: Node }`,
    )
  const { namespaceLabels: labels } = sound
  const asksFor = typeof labels === 'string' && /^[^!]*[=(]/.test(labels) && !labels.includes('notin')
  if (asksFor && kinds.every(isClusterScoped))
    tell(
      ['when', 'namespaceLabels'],
      `this rule matches nothing: a ${kinds[0]?.builtIn[0]?.kind} is in no namespace`,
      'its own labels are "labels"',
    )
  return problems
}
