import { isDeepStrictEqual } from 'node:util'
import { compileTypes } from '../../rules/change-values.ts'
import { isEventKind } from '../../rules/kind.ts'
import { compilePatterns } from '../../rules/pattern.ts'
import { requirementsOf } from '../../rules/selector.ts'
import type { ConfigDocument, Path } from '../document.ts'
import type { Draft, RuleDraft } from '../partial-config.ts'
import type { Problem } from '../problem.ts'
import { kindsReached } from './reach.ts'
import { titleOf, type WatchedKind } from './watched-kind.ts'

/** Rules that can never match because of the states that they name; only certain cases. */
export function checkNeverMatches(draft: Draft, document: ConfigDocument): Problem[] {
  return draft.rules.flatMap((rule) => [
    ...checkTypes(rule, document),
    ...checkExclusions(rule, document),
    ...checkStatuses(rule, document),
    ...checkEveryStatus(rule, document),
    ...checkComparisons(rule, document),
    ...checkPreviousEvents(rule, kindsReached(rule, draft) ?? [], document),
    ...checkConditionType(rule, kindsReached(rule, draft) ?? [], document),
  ])
}

/** Keys that compare an object with its previous state, and the changes that they look at. */
const COMPARING: Readonly<Record<string, readonly string[]>> = {
  changed: ['MODIFIED'],
  from: ['MODIFIED'],
  'to-state': ['ADDED', 'MODIFIED'],
  condition: ['ADDED', 'MODIFIED'],
}

/** `type: DELETED` with `changed` */
function checkTypes({ index, sound: { type } }: RuleDraft, document: ConfigDocument): Problem[] {
  const compiled = type === undefined ? undefined : compileTypes(type)
  const test = compiled?.ok ? compiled.value.change : undefined
  if (!test) return []
  return Object.entries(COMPARING).flatMap(([key, types]) => {
    const path = ['rules', index, key]
    if (!document.at(path) || types.some((it) => test(it))) return []
    const message = `this rule matches nothing: "${key}" looks at ${types.join(' and ')}, and "type" leaves those out`
    const placing = { atKey: true, hint: 'leave "type" out', severity: 'warning' } as const
    return [document.problem('never-matches', path, message, placing)]
  })
}

/** `changed: count` of Events, whose previous objects are not stored. */
function checkPreviousEvents(
  rule: RuleDraft,
  kinds: readonly WatchedKind[],
  document: ConfigDocument,
): Problem[] {
  if (rule.faults.length > 0 || !areEvents(kinds)) return []
  return (['changed', 'unchanged', 'from'] as const).flatMap((key) => {
    const path = ['rules', rule.index, key]
    if (rule[key] === undefined || !document.at(path)) return []
    const message = `this rule matches nothing: "${key}" compares with the previous object, which is not stored for Events`
    const hint = 'limit repeated Events by "throttle" or "count", or compare event.count in "if"'
    return [document.problem('never-matches', path, message, { atKey: true, hint, severity: 'warning' })]
  })
}

function areEvents(kinds: readonly WatchedKind[]): boolean {
  return kinds.length > 0 && kinds.every(({ builtIn }) => builtIn.length > 0 && builtIn.every(isEventKind))
}

/** Two values of a key, or two keys, that no event meets together. */
function checkExclusions(rule: RuleDraft, document: ConfigDocument): Problem[] {
  const { index, sound, from = {}, 'to-state': to, condition } = rule
  const found: [path: Path, message: string][] = []
  const asked = typeof sound.labels === 'string' ? requirementsOf(sound.labels) : []
  const wanted = asked.filter(({ operator }) => operator === 'in')
  const twice = wanted.find((it) =>
    wanted.some(({ key, values }) => key === it.key && !values.some((value) => it.values.includes(value))),
  )
  if (twice) found.push([['when', 'labels'], `the label ${twice.key} has one value`])
  const isBoth = ([path, patterns]: [string, unknown]) =>
    !path.includes('*') && Object.hasOwn(from, path) && isDeepStrictEqual(patterns, from[path])
  if (to && Object.keys(to).length > 0 && Object.entries(to).every(isBoth))
    found.push([['to-state'], '"from" has the same state'])
  if (
    condition?.from !== undefined &&
    !condition.reason &&
    isDeepStrictEqual(condition.from, condition.becomes)
  )
    found.push([['condition', 'becomes'], '"from" has the same status'])
  return found.map(([path, why]) =>
    document.problem('never-matches', ['rules', index, ...path], `this rule matches nothing: ${why}`, {
      severity: 'warning',
    }),
  )
}

/** `becomes: NotReady` */
function checkStatuses({ index, condition }: RuleDraft, document: ConfigDocument): Problem[] {
  return (['becomes', 'from'] as const).flatMap((key) => {
    const written = condition?.[key]
    return [written ?? []].flat().flatMap((status, at) => {
      if (!/^[A-Za-z][A-Za-z0-9]*$/.test(status) || /^(True|False|Unknown)$/.test(status)) return []
      const path = ['rules', index, 'condition', key, ...(Array.isArray(written) ? [at] : [])]
      const message = 'the status of a condition is "True", "False" or "Unknown"'
      const first = /^(not|un)/i.test(status) ? 'False' : 'True'
      const hint = `write ${key}: "${first}", or ${key}: ["False", "Unknown"]; a reason belongs into "reason"`
      return [document.problem('unknown-status', path, message, { hint, severity: 'warning' })]
    })
  })
}

/** `becomes: ["True", "False", Unknown]`: from one of the list to another is no match. */
function checkEveryStatus({ index, condition }: RuleDraft, document: ConfigDocument): Problem[] {
  if (!condition?.becomes || condition.reason !== undefined) return []
  const wanted = compilePatterns(condition.becomes)
  if (!wanted.ok || !['True', 'False', 'Unknown'].every((status) => wanted.value(status))) return []
  const path = ['rules', index, 'condition', 'becomes']
  const message =
    '"becomes" has every status: the rule matches only when an object gets the condition, and no change after that'
  const hint = `for every change of the status write changed: status.conditions[type=${condition.type}].status`
  return [document.problem('every-status', path, message, { hint, severity: 'warning' })]
}

/** `to-state: { status.readyReplicas: "<1" }` */
function checkComparisons(rule: RuleDraft, document: ConfigDocument): Problem[] {
  return (['from', 'to-state'] as const).flatMap((key) =>
    Object.entries(rule[key] ?? {}).flatMap(([field, pattern]) => {
      if (typeof pattern !== 'string') return []
      const [, operator, number] = /^\s*([<>]=?|[!=]=)\s*(-?\d+(?:\.\d+)?)\s*$/.exec(pattern) ?? []
      if (operator === undefined) return []
      const message = `"${key}" compares text: "${pattern}" does not compare numbers`
      const hint = /[<>]/.test(operator)
        ? comparisonHint(rule, key, `${operator} ${number}`, field)
        : `write "${operator === '!=' ? '!' : ''}${number}"`
      const path = ['rules', rule.index, key, field]
      return [
        document.problem('number-comparison', path, message, { atKey: true, hint, severity: 'warning' }),
      ]
    }),
  )
}

function comparisonHint(
  rule: RuleDraft,
  key: 'from' | 'to-state',
  comparison: string,
  field: string,
): string {
  const hasBoth = rule.from !== undefined && rule['to-state'] !== undefined
  const isPlain = /^[a-z]\w*(\.[a-z]\w*)+$/i.test(field)
  if (!isPlain || hasBoth || rule.if !== undefined || rule.changed !== undefined)
    return 'compare numbers in "if"'
  const object = key === 'from' ? 'oldObject' : 'object'
  return `write if: ${object}.${field.replaceAll('.', '.?')}.orValue(0) ${comparison}, with changed: ${field}`
}

/** Conditions of built-in kinds. Controllers may add others. */
const CONDITIONS: Readonly<Record<string, readonly string[]>> = {
  Node: ['Ready', 'MemoryPressure', 'DiskPressure', 'PIDPressure', 'NetworkUnavailable'],
  Pod: ['Ready', 'Initialized', 'PodScheduled', 'ContainersReady', 'DisruptionTarget'],
  Deployment: ['Available', 'Progressing', 'ReplicaFailure'],
  Job: ['Complete', 'Failed', 'Suspended', 'FailureTarget', 'SuccessCriteriaMet'],
  HorizontalPodAutoscaler: ['AbleToScale', 'ScalingActive', 'ScalingLimited'],
}

/** A condition of Events, which have none, or one that differs from a known one only by capitals. */
function checkConditionType(
  { index, condition }: RuleDraft,
  kinds: readonly WatchedKind[],
  document: ConfigDocument,
): Problem[] {
  if (!condition || kinds.length === 0) return []
  const path: Path = ['rules', index]
  if (areEvents(kinds)) {
    const hasKind = document.at([...path, 'when', 'kind']) !== undefined
    const place = [...path, ...(hasKind ? ['when', 'kind'] : ['condition'])]
    const message = 'this rule matches nothing: an Event has no conditions'
    const hint = 'name the kind that has the condition, such as kind: Node, and watch it'
    return [document.problem('never-matches', place, message, { atKey: !hasKind, hint, severity: 'warning' })]
  }
  if (kinds.some(({ builtIn }) => builtIn.length !== 1)) return []
  const known = kinds.flatMap(({ builtIn: [it] }) => CONDITIONS[it?.kind ?? ''] ?? [])
  const intended = known.find((it) => it.toLowerCase() === condition.type.toLowerCase())
  if (intended === undefined || known.includes(condition.type)) return []
  const message = `a ${titleOf(kinds[0] as WatchedKind)} has no condition "${condition.type}"`
  const placing = { hint: `did you mean "${intended}"?`, severity: 'warning' } as const
  return [document.problem('unknown-condition', [...path, 'condition', 'type'], message, placing)]
}
