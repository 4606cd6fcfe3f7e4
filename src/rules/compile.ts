import type { ClusterEvent } from '../model/event.ts'
import type { LimitedMatch } from '../model/limit.ts'
import { celPart } from './cel/part.ts'
import type { CompiledConditions, Condition, ConditionCompiler } from './condition.ts'
import { expiryConditions } from './event-expiry.ts'
import { type Compiled, compiled, type Fault } from './fault.ts'
import { type Candidate, createRuleIndex, type IndexedRule } from './rule-index.ts'
import type { Rule } from './schema.ts'
import { changedConditions, conditionConditions, stateConditions } from './transitions.ts'
import { whenConditions } from './when.ts'

/** The result of all rules for one event. */
export interface MatchResult {
  /** For rules without limits: the event's sinks, each once, with the first rule that names it. */
  sends: readonly { sink: string; rule: string }[]
  /** Rules with limits that match, or track the state of the object. A rule that matches takes its sinks, whatever its limits do. */
  limited: readonly LimitedMatch[]
  /** A rule dropped the event before any rule sent it. */
  dropped: boolean
  /** The rule that dropped the event, also if others had sent it. */
  droppedBy?: string
}

interface MatchHandlers {
  /** Called when a condition throws. Its rule does not match, unless it has `onError: deliver`; other rules continue. */
  onError(rule: string, error: unknown): void
  onMatch?(rule: string): void
}

interface CompileOptions extends MatchHandlers {
  /** Whether a rule has limits, and whether they track the state of objects: then they get each event of its kinds. */
  limitsOf?(rule: string): LimitScope | undefined
}

export type LimitScope = 'events' | 'states'

/**
 * Compiles rules into one function. They apply from top to bottom: every matching rule sends, `drop` and `continue: false` end, and a
 * sink gets an event once. Throws if a rule has faults, which `checkRule` returns.
 */
export function compileRules(
  rules: readonly Rule[],
  { limitsOf = () => undefined, ...handlers }: CompileOptions,
): (event: ClusterEvent) => MatchResult {
  return combineRules(
    rules.map((rule) => compileRule(rule, limitsOf(rule.name))),
    handlers,
  )
}

/** Returns the function of rules that were compiled one by one. */
export function combineRules(
  rules: readonly CompiledRule[],
  handlers: MatchHandlers,
): (event: ClusterEvent) => MatchResult {
  const matcher = new RuleMatcher(rules, handlers)
  return (event) => matcher.match(event)
}

const UNMATCHED: MatchResult = { sends: [], limited: [], dropped: false }

class RuleMatcher {
  readonly #candidatesOf: (event: ClusterEvent) => readonly Candidate<CompiledRule>[]
  readonly #handlers: MatchHandlers

  constructor(rules: readonly CompiledRule[], handlers: MatchHandlers) {
    this.#candidatesOf = createRuleIndex(rules)
    this.#handlers = handlers
  }

  match(event: ClusterEvent): MatchResult {
    const candidates = this.#candidatesOf(event)
    if (candidates.length === 0) return UNMATCHED
    if (event.deselected) return deselected(candidates)
    let made:
      | { sends: { sink: string; rule: string }[]; limited: LimitedMatch[]; taken: string[] }
      | undefined
    let matched = false
    let ended = false
    let dropped = false
    let droppedBy: string | undefined
    for (const candidate of candidates) {
      const { rule } = candidate
      const tracksState = rule.limits === 'states'
      if (ended && !tracksState) continue
      const status = this.#statusOf(candidate, event)
      // A rule that tracks states ends an incident only if it certainly no longer matches.
      if (status === UNKNOWN || (status === NO_MATCH && !tracksState)) continue
      made ??= { sends: [], limited: [], taken: [] }
      const { sends, limited, taken } = made
      const { holds } = status
      const entered = status.entered && !ended
      if (entered) this.#handlers.onMatch?.(rule.name)
      const sinks = holds && !ended ? rule.to.filter((sink) => !taken.includes(sink)) : []
      if (tracksState || (rule.limits && entered)) limited.push({ rule: rule.name, sinks, holds, entered })
      else if (entered) for (const sink of sinks) sends.push({ sink, rule: rule.name })
      if (!entered) continue
      taken.push(...sinks)
      if (rule.drop) {
        dropped = !matched
        droppedBy = rule.name
      }
      matched = true
      ended = rule.ends
    }
    if (!made) return UNMATCHED
    const { sends, limited } = made
    return matched || limited.length > 0
      ? { sends, limited, dropped, ...(droppedBy !== undefined && { droppedBy }) }
      : UNMATCHED
  }

  #statusOf({ rule, conditions }: Candidate<CompiledRule>, event: ClusterEvent): Status {
    const tracksState = rule.limits === 'states'
    let entered = true
    let unknown = false
    for (const condition of conditions) {
      if (!entered && condition.edge) continue
      const passed = this.#test(rule, condition, event)
      if (passed) continue
      if (passed === undefined || (tracksState && condition.isUnknown?.(event))) {
        unknown = true
        if (tracksState) continue
        return UNKNOWN
      }
      if (!condition.edge || !tracksState) return NO_MATCH
      entered = false
    }
    // A deletion ends every state.
    if (unknown) return event.type === 'DELETED' ? NO_MATCH : UNKNOWN
    return entered ? ENTERED : HOLDS
  }

  /** Returns undefined if the condition throws and the rule skips errors; false if it throws because the object lacks a field. */
  #test(rule: CompiledRule, condition: Condition, event: ClusterEvent): boolean | undefined {
    try {
      return condition.test(event)
    } catch (error) {
      this.#handlers.onError(rule.name, error)
      if (rule.delivers) return true
      return condition.isMissing?.(error, event) ? false : undefined
    }
  }
}

/** The watch no longer selects the object: no rule matches it any more. */
function deselected(candidates: readonly Candidate<CompiledRule>[]): MatchResult {
  const limited = candidates.flatMap(({ rule }) =>
    rule.limits === 'states' ? [{ rule: rule.name, sinks: [], holds: false, entered: false }] : [],
  )
  return limited.length > 0 ? { sends: [], limited, dropped: false } : UNMATCHED
}

/** `holds`: the object's state matches; `entered`: the change matches too. */
interface Status {
  holds: boolean
  entered: boolean
}

const UNKNOWN: Status = { holds: false, entered: false }
const NO_MATCH: Status = { holds: false, entered: false }
const HOLDS: Status = { holds: true, entered: false }
const ENTERED: Status = { holds: true, entered: true }

/** Opaque: for `combineRules`. */
interface CompiledRule extends IndexedRule {
  name: string
  drop: boolean
  ends: boolean
  delivers: boolean
  to: readonly string[]
  limits: LimitScope | undefined
}

/** Compiles one rule. Throws if it has faults. */
export function compileRule(rule: Rule, limits: LimitScope | undefined): CompiledRule {
  const { name, drop = false, to = [], onError } = rule
  const conditions = compileConditions(rule)
  if (!conditions.ok) throw new Error(`rule "${name}" was not checked: ${conditions.faults[0]?.message}`)
  return {
    name,
    drop,
    ends: drop || rule.continue === false,
    delivers: onError === 'deliver',
    to: [...new Set(to)],
    limits: drop ? undefined : limits,
    always: !drop && limits === 'states',
    ...conditions.value,
  }
}

/** Returns all faults in the conditions of a rule. */
export function checkRule(rule: Omit<Rule, 'name'>): readonly Fault[] {
  const result = compileConditions(rule)
  return result.ok ? [] : result.faults
}

const COMPILERS: readonly ConditionCompiler[] = [
  whenConditions,
  expiryConditions,
  celPart,
  changedConditions,
  stateConditions,
  conditionConditions,
  checkContradictions,
]

/** Compiles the conditions of a rule; cheap conditions come first. */
export function compileConditions(rule: Omit<Rule, 'name'>): Compiled<Required<CompiledConditions>> {
  const results = COMPILERS.map((compile) => compile(rule))
  const faults = results.flatMap((it) => (it.ok ? [] : it.faults))
  if (faults.length > 0) return { ok: false, faults }
  const parts = results.flatMap((it) => (it.ok ? it.value : []))
  const conditions = parts.flatMap((it) => it.conditions).sort((a, b) => a.cost - b.cost)
  const kinds = parts.flatMap(({ ofKind }) => ofKind ?? [])
  return compiled({ ofKind: (names) => kinds.every((test) => test(names)), conditions })
}

function checkContradictions({
  drop,
  continue: goesOn,
  onError,
}: Omit<Rule, 'name'>): ReturnType<ConditionCompiler> {
  const faults: Fault[] = []
  if (drop === true && onError === 'deliver')
    faults.push({
      path: ['onError'],
      message: 'a rule that drops delivers nothing',
      hint: 'leave it out: a failed condition does not drop',
    })
  if (drop === true && goesOn === true)
    faults.push({
      path: ['continue'],
      message: 'a rule that drops always ends',
      hint: 'leave "continue" out, or "drop"',
    })
  return faults.length > 0 ? { ok: false, faults } : compiled({ conditions: [] })
}
