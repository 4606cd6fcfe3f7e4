import { LIMIT_KEYS } from '../../rules/limits/schema.ts'
import { isSubsumedBy } from '../../rules/when.ts'
import type { ConfigDocument } from '../document.ts'
import type { Draft, RuleDraft } from '../partial-config.ts'
import type { Problem } from '../problem.ts'

/** The work grows with the square of the rules, so that only so many pairs are compared. */
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
      ? covering.filter((it) => compared++ < MAX_COMPARED && isSubsumedBy(rule.when, it.when))
      : []
    const found = isComparable ? coveredBy(rule, above, document) : []
    // A rule that is covered leaves no more to others than the rules above it do.
    const adds = found.length === 0 || rule.drop === true || rule.continue === false
    if (adds && asksOnlyWhen(rule) && (isComparable || dropsAll(rule))) covering.push(rule)
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
  const senders = to.map((sink) => above.find((it) => it.to?.includes(sink)))
  const known = [...new Set(senders.filter((it) => it !== undefined))]
  if (known.length === 0 || senders.includes(undefined)) return []
  const names = known.map(titleOf).join(' and ')
  const verb = known.length === 1 ? 'sends' : 'send'
  const sinks = to.map((sink) => `"${sink}"`).join(' and ')
  const message = `this rule sends nothing: ${names} ${verb} the same to ${sinks}`
  const hint = 'one event reaches one sink once, by the first rule: move this rule above, or leave it out'
  return [document.problem('shadowed-rule', path, message, { hint, severity: 'warning' })]
}

function dropsAll(rule: RuleDraft): boolean {
  const { complete, drop, when } = rule
  return complete && drop === true && asksOnlyWhen(rule) && Object.keys(when).length === 0
}

/** Keys of a rule that do not decide which events it matches; limits suppress events that it has matched. */
const NO_CONDITIONS: ReadonlySet<string> = new Set([
  ...['index', 'complete', 'sound', 'faults', 'name', 'when', 'drop', 'to', 'continue'],
  ...['message', 'severity', 'labels'],
  ...LIMIT_KEYS,
])

/** With other conditions than `when`, nothing is certain. */
function asksOnlyWhen(rule: RuleDraft): boolean {
  return Object.keys(rule).every((key) => NO_CONDITIONS.has(key))
}

/** Returns whether all of the rule was understood, and it either sends or drops. */
function isClear({ complete, when, sound, drop, to }: RuleDraft): boolean {
  const sendsOrDrops = drop === true ? to === undefined : to !== undefined
  return complete && sendsOrDrops && Object.keys(when).length === Object.keys(sound).length
}
