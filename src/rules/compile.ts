import type { ClusterEvent } from '../event.ts'
import type { LimitedMatch } from '../limit.ts'
import type { Condition, RulePart } from './condition.ts'
import { type Compiled, compiled, type Fault } from './fault.ts'
import { partMakers } from './part-makers.ts'
import { type Candidate, createRuleIndex, type IndexedRule } from './rule-index.ts'
import type { Rule } from './schema.ts'

/** What the rules make of one event. */
export interface MatchResult {
  /** The sinks it goes to, each once, with the first rule that named it; of rules without limits. */
  sends: readonly { sink: string; rule: string }[]
  /** Rules with limits that match, or that follow the state of the object. A rule that matches takes its sinks, limits or not. */
  limited: readonly LimitedMatch[]
  /** A rule dropped it before any sent it. */
  dropped: boolean
  /** The rule that dropped it, also after others had sent it. */
  droppedBy?: string
}

export interface CompileOptions {
  /** A condition that fails at run time: its rule does not match, unless it says `onError: deliver`; the others go on. */
  onError(rule: string, error: unknown): void
  /** All that the rule asks is so. */
  onMatch?(rule: string): void
  /** Has this rule limits, and do they follow the state of objects? Then each event of its kinds is told. */
  limitsOf?(rule: string): LimitsOf | undefined
}

export type LimitsOf = 'events' | 'states'

/** Opaque: for `joinRules`. */
export interface CompiledRule extends IndexedRule {
  name: string
  drop: boolean
  ends: boolean
  delivers: boolean
  to: readonly string[]
  limits: LimitsOf | undefined
}

const UNMATCHED: MatchResult = { sends: [], limited: [], dropped: false }

/**
 * Compiles rules into one function. They are read from top to bottom; every matching rule sends, `drop` and
 * `continue: false` end, and a sink gets an event once. Throws when a rule has faults: the configuration has checked them
 * (`checkRule`).
 */
export function compileRules(
  rules: readonly Rule[],
  { limitsOf = () => undefined, ...options }: CompileOptions,
): (event: ClusterEvent) => MatchResult {
  return joinRules(
    rules.map((rule) => compileRule(rule, limitsOf(rule.name))),
    options,
  )
}

/** The one function of rules that were compiled one by one. */
export function joinRules(
  rules: readonly CompiledRule[],
  { onError, onMatch }: Omit<CompileOptions, 'limitsOf'>,
): (event: ClusterEvent) => MatchResult {
  const candidatesOf = createRuleIndex(rules)

  /** A condition that cannot be answered is told, and counts as the rule says: undefined where nothing is known then. */
  function passes(rule: CompiledRule, condition: Condition, event: ClusterEvent): boolean | undefined {
    try {
      return condition.test(event)
    } catch (error) {
      onError(rule.name, error)
      return rule.delivers || undefined
    }
  }

  function standingOf({ rule, conditions }: Candidate<CompiledRule>, event: ClusterEvent): Standing {
    let entered = true
    let unknown = false
    for (const condition of conditions) {
      if (!entered && condition.edge) continue
      const passed = passes(rule, condition, event)
      if (passed) continue
      if (passed === undefined || (rule.limits === 'states' && condition.isUnknown?.(event))) {
        unknown = true
        if (rule.limits === 'states') continue
        return UNKNOWN
      }
      if (!condition.edge || rule.limits !== 'states') return NEITHER
      entered = false
    }
    // Whatever was asked: what is deleted is over.
    if (unknown) return event.type === 'DELETED' ? NEITHER : UNKNOWN
    return entered ? BOTH : HOLDS
  }

  /** Whatever rules ask: of an object that nobody watches any more nothing holds. */
  function leaving(candidates: readonly Candidate<CompiledRule>[]): MatchResult {
    const limited = candidates.flatMap(({ rule }) =>
      rule.limits === 'states' ? [{ rule: rule.name, sinks: [], holds: false, entered: false }] : [],
    )
    return limited.length > 0 ? { sends: [], limited, dropped: false } : UNMATCHED
  }

  return (event) => {
    const candidates = candidatesOf(event)
    if (candidates.length === 0) return UNMATCHED
    if (event.left) return leaving(candidates)
    let made:
      | { sends: { sink: string; rule: string }[]; limited: LimitedMatch[]; taken: string[] }
      | undefined
    let matched = false
    let ended = false
    let dropped = false
    let droppedBy: string | undefined
    for (const candidate of candidates) {
      const { rule } = candidate
      const ofStates = rule.limits === 'states'
      if (ended && !ofStates) continue
      const standing = standingOf(candidate, event)
      // Of a state that nobody could tell, nobody says that it is over.
      if (standing === UNKNOWN || (standing === NEITHER && !ofStates)) continue
      made ??= { sends: [], limited: [], taken: [] }
      const { sends, limited, taken } = made
      const { holds, entered: isEntered } = standing
      const entered = isEntered && !ended
      if (entered) onMatch?.(rule.name)
      const sinks = holds && !ended ? rule.to.filter((sink) => !taken.includes(sink)) : []
      if (ofStates || (rule.limits && entered)) limited.push({ rule: rule.name, sinks, holds, entered })
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
}

interface Standing {
  holds: boolean
  entered: boolean
}

const UNKNOWN = { holds: false, entered: false }
const NEITHER = { holds: false, entered: false }
const HOLDS = { holds: true, entered: false }
const BOTH = { holds: true, entered: true }

/** Everything that is wrong with the conditions of a rule; nothing when it compiles. */
export function checkRule(rule: Omit<Rule, 'name'>): readonly Fault[] {
  const result = compileParts(rule)
  return result.ok ? [] : result.faults
}

/** One rule. Throws when it has faults. */
export function compileRule(rule: Rule, limits: LimitsOf | undefined): CompiledRule {
  const { name, drop = false, to = [], onError } = rule
  const parts = compileParts(rule)
  if (!parts.ok) throw new Error(`rule "${name}" was not checked: ${parts.faults[0]?.message}`)
  return {
    name,
    drop,
    ends: drop || rule.continue === false,
    delivers: onError === 'deliver',
    to: [...new Set(to)],
    limits: drop ? undefined : limits,
    always: !drop && limits === 'states',
    ...parts.value,
  }
}

/** All parts of a rule, their conditions with the cheap ones first. */
export function compileParts(rule: Omit<Rule, 'name'>): Compiled<Required<RulePart>> {
  const results = partMakers.map((make) => make(rule))
  const faults = results.flatMap((it) => (it.ok ? [] : it.faults))
  if (faults.length > 0) return { ok: false, faults }
  const parts = results.flatMap((it) => (it.ok ? it.value : []))
  const conditions = parts.flatMap((it) => it.conditions).sort((a, b) => a.cost - b.cost)
  const kinds = parts.flatMap(({ ofKind }) => ofKind ?? [])
  return compiled({ ofKind: (names) => kinds.every((test) => test(names)), conditions })
}
