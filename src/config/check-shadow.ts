import { LIMIT_KEYS } from '../limits/schema.ts'
import { implies } from '../rules/implies.ts'
import type { ConfigDocument } from './document.ts'
import type { Draft, RuleDraft } from './draft.ts'
import type { Problem } from './problem.ts'
import { mayImply, sketchOf } from './shadow-sketch.ts'

/** Pairs of rules that are looked at, and those that are compared: what lies behind is not told. */
const MOST_PAIRS = 2_000_000
const MOST_COMPARED = 30_000

/**
 * Rules that rules above leave nothing to send. Only what is certain: other rules may overlap without harm. The work is counted,
 * for it grows with the square of the rules.
 */
export function checkShadow({ rules }: Draft, document: ConfigDocument): Problem[] {
  const readable = rules.filter(isReadable).map((rule) => ({ rule, sketch: sketchOf(rule.when) }))
  const walls: typeof readable = []
  let pairs = MOST_PAIRS
  let compared = MOST_COMPARED
  const isWider = ({ rule, sketch }: (typeof readable)[number], wide: (typeof readable)[number]) =>
    compared > 0 && mayImply(sketch, wide.sketch) && compared-- > 0 && implies(rule.when, wide.rule.when)

  return readable.flatMap((it) => {
    const { rule } = it
    pairs -= walls.length
    if (pairs < 0) return []
    const above = walls.filter((wide) => isWider(it, wide)).map((wide) => wide.rule)
    const told = problemsOf(rule, above, document)
    // What is left nothing leaves no more to others than the rules above it do.
    const adds = told.length === 0 || rule.drop === true || rule.continue === false
    if (adds && asksOnlyWhen(rule)) walls.push(it)
    return told
  })
}

function problemsOf(rule: RuleDraft, above: readonly RuleDraft[], document: ConfigDocument): Problem[] {
  if (above.some(dropsAll)) return []
  const wall = above.find((it) => it.drop === true || it.continue === false)
  if (wall) return [unreached(rule, wall, document)]
  const winners = (rule.to ?? []).map((sink) => above.find(({ to }) => to?.includes(sink)))
  const known = winners.filter((it) => it !== undefined)
  if (known.length === 0 || known.length < winners.length) return []
  return [silent(rule, [...new Set(known)], document)]
}

/** Does this rule, which has no conditions, end the list? */
export function dropsAll(rule: RuleDraft): boolean {
  const { complete, drop, when } = rule
  return complete && drop === true && asksOnlyWhen(rule) && Object.keys(when).length === 0
}

/** What of a rule decides nothing about which events it takes; its limits hold back what it has taken. */
const NO_CONDITIONS: ReadonlySet<string> = new Set([
  ...[
    'index',
    'complete',
    'sound',
    'faults',
    'name',
    'when',
    'drop',
    'to',
    'continue',
    'message',
    'severity',
    'labels',
  ],
  ...LIMIT_KEYS,
])

/** Is all that it asks in `when`? With other conditions, nothing is certain. */
function asksOnlyWhen(rule: RuleDraft): boolean {
  return Object.keys(rule).every((key) => NO_CONDITIONS.has(key))
}

function isReadable({ complete, when, sound, drop, to }: RuleDraft): boolean {
  const isClear = drop === true ? to === undefined : to !== undefined
  return complete && isClear && Object.keys(when).length === Object.keys(sound).length
}

function unreached(rule: RuleDraft, wall: RuleDraft, document: ConfigDocument): Problem {
  const does = wall.drop === true ? 'drops' : 'ends with'
  const message = `no event comes here: ${titleOf(wall, rule, document)} ${does} all that this rule matches`
  return document.problem(['rules', rule.index], message, {
    hint: 'move this rule above it, or leave it out',
    severity: 'warning',
  })
}

function silent(rule: RuleDraft, winners: RuleDraft[], document: ConfigDocument): Problem {
  const { index, to = [] } = rule
  const names = winners.map((winner) => titleOf(winner, rule, document)).join(' and ')
  const verb = winners.length === 1 ? 'sends' : 'send'
  const sinks = to.map((sink) => `"${sink}"`).join(' and ')
  return document.problem(
    ['rules', index],
    `this rule sends nothing: ${names} ${verb} the same to ${sinks}`,
    {
      hint: 'one event reaches one sink once, by the first rule: move this rule above, or leave it out',
      severity: 'warning',
    },
  )
}

function titleOf({ name, index }: RuleDraft, seenFrom: RuleDraft, document: ConfigDocument): string {
  return `"${name}" in ${document.lineWords(['rules', index], ['rules', seenFrom.index])}`
}
