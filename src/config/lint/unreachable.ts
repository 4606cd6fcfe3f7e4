import { isDeepStrictEqual } from 'node:util'
import { matchesExpiry } from '../../rules/event-expiry.ts'
import { LIMIT_KEYS } from '../../rules/limits/schema.ts'
import { isSubsumedBy } from '../../rules/when.ts'
import type { ConfigDocument } from '../document.ts'
import type { Draft, RuleDraft } from '../partial-config.ts'
import type { Problem } from '../problem.ts'

/** Maximum number of pairs of rules that are compared: the work grows with the square of the rules. */
const MAX_COMPARED = 20_000

/** Rules that the rules above leave nothing to send, and names that two rules have; only certain cases. */
export function checkUnreachable({ rules }: Draft, document: ConfigDocument): Problem[] {
  const byName = new Map<string, RuleDraft>()
  const covering: RuleDraft[] = []
  let compared = 0
  return rules.flatMap((rule) => {
    const problems = duplicateName(rule, byName, document)
    const dropping = covering.find(dropsAll)
    if (dropping) {
      const line = document.lineName(['rules', dropping.index], ['rules', rule.index])
      const message = `no event comes here: the rule in ${line} drops everything`
      const hint = `move it above, or give the rule in ${line} a "when"`
      return [...problems, document.problem('unreachable-rule', ['rules', rule.index], message, { hint })]
    }
    const isComparable = isClear(rule)
    const above = isComparable
      ? covering.filter((it) => compared++ < MAX_COMPARED && matchesAllOf(it, rule))
      : []
    const found = isComparable ? coveredBy(rule, above, document) : []
    // A rule that is covered leaves no more to others than the rules above it do.
    const adds = found.length === 0 || rule.drop === true || rule.continue === false
    if (adds && (isComparable || dropsAll(rule))) covering.push(rule)
    return [...problems, ...found]
  })
}

function duplicateName(rule: RuleDraft, byName: Map<string, RuleDraft>, document: ConfigDocument): Problem[] {
  const { name, index } = rule
  const same = name === undefined ? undefined : byName.get(name)
  if (name !== undefined && !same) byName.set(name, rule)
  if (!same) return []
  const hint = `the first one is in ${document.lineName(['rules', same.index], ['rules', index])}`
  const message = `two rules are called "${name}"`
  return [document.problem('duplicate-rule-name', ['rules', index, 'name'], message, { hint })]
}

/** `above` are the rules above that match all that this rule matches. */
function coveredBy(rule: RuleDraft, above: readonly RuleDraft[], document: ConfigDocument): Problem[] {
  const path = ['rules', rule.index]
  const titleOf = ({ name, index }: RuleDraft) => `"${name}" in ${document.lineName(['rules', index], path)}`
  const end = above.find((it) => it.drop === true || it.continue === false)
  if (end) {
    const does = end.drop === true ? 'drops' : 'ends with'
    const message = `no event comes here: ${titleOf(end)} ${does} all that this rule matches`
    const placing = { hint: 'move this rule above it, or leave it out', severity: 'warning' } as const
    return [document.problem('unreachable-rule', path, message, placing)]
  }
  const { to = [] } = rule
  const taken = to.flatMap((sink) => {
    const sender = above.find((it) => it.to?.includes(sink))
    return sender ? [{ sink, sender }] : []
  })
  if (taken.length === 0) return []
  const senders = [...new Set(taken.map(({ sender }) => sender))]
  const names = senders.map(titleOf).join(' and ')
  const verb = senders.length === 1 ? 'sends' : 'send'
  const sinks = taken.map(({ sink }) => `"${sink}"`).join(' and ')
  const once = 'one event reaches one sink once, by the first rule'
  if (taken.length === to.length) {
    const message = `this rule sends nothing: ${names} ${verb} the same to ${sinks}`
    const hint = `${once}: move this rule above, or leave it out`
    return [document.problem('shadowed-rule', path, message, { hint, severity: 'warning' })]
  }
  const message = `this rule sends nothing to ${sinks}: ${names} ${verb} the same there`
  const hint = `${once}: move this rule above, or define a second sink`
  return [document.problem('shadowed-sink', [...path, 'to'], message, { hint, severity: 'warning' })]
}

/** Whether a rule above matches all that this one matches: by `when`, and by equal further conditions. */
function matchesAllOf(above: RuleDraft, rule: RuleDraft): boolean {
  if (!isSubsumedBy(rule.when, above.when) || (matchesExpiry(rule) && !matchesExpiry(above))) return false
  const own = furtherConditions(rule)
  return Object.entries(furtherConditions(above)).every(([key, value]) => isDeepStrictEqual(value, own[key]))
}

/** The conditions besides `when`, without `for`, which is a limit also where it is within `condition`. */
function furtherConditions({ condition, ...rule }: RuleDraft): Record<string, unknown> {
  const others = Object.entries(rule).filter(([key, value]) => !NO_CONDITIONS.has(key) && value !== undefined)
  const { for: _, ...transition } = condition ?? {}
  return { ...Object.fromEntries(others), ...(condition && { condition: transition }) }
}

function dropsAll(rule: RuleDraft): boolean {
  if (!rule.complete || rule.drop !== true) return false
  return Object.keys({ ...rule.when, ...furtherConditions(rule) }).length === 0
}

/** Keys of a rule that do not decide which events it matches; limits suppress events that it has matched. */
const NO_CONDITIONS: ReadonlySet<string> = new Set([
  ...['index', 'complete', 'sound', 'faults', 'name', 'when', 'drop', 'to', 'continue'],
  ...['message', 'severity', 'labels', 'logs'],
  ...LIMIT_KEYS,
])

/** Returns whether all of the rule was understood, and it either sends or drops. */
function isClear({ complete, when, sound, drop, to }: RuleDraft): boolean {
  const sendsOrDrops = drop === true ? to === undefined : to !== undefined
  return complete && sendsOrDrops && Object.keys(when).length === Object.keys(sound).length
}
