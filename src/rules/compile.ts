import type { ClusterEvent, Resource } from '../event.ts'
import type { LimitedMatch } from '../limit.ts'
import { type Conditions, compileWhen } from './conditions.ts'
import { type Fault, under } from './fault.ts'
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
  /** A rule that fails at run time does not match; the others go on. */
  onError(rule: string, error: unknown): void
  /** The conditions of a rule hold. */
  onMatch?(rule: string): void
  /** Has this rule limits, and do they follow the state of objects? Then each event of its kinds is told. */
  limitsOf?(rule: string): LimitsOf | undefined
}

export type LimitsOf = 'events' | 'states'

interface CompiledRule extends Conditions {
  name: string
  drop: boolean
  to: readonly string[]
  limits: LimitsOf | undefined
}

const UNMATCHED: MatchResult = { sends: [], limited: [], dropped: false }

/**
 * Compiles rules into one function. They are read from top to bottom; every matching rule sends, `drop` ends, and a
 * sink gets an event once. Throws when a rule has faults: the configuration has checked them (`checkRule`).
 */
export function compileRules(
  rules: readonly Rule[],
  { onError, onMatch, limitsOf = () => undefined }: CompileOptions,
): (event: ClusterEvent) => MatchResult {
  const compiled = rules.map((rule) => compileRule(rule, limitsOf(rule.name)))
  const index = new WeakMap<Resource, readonly CompiledRule[]>()

  /** The rules that can match a kind, so that many rules for other kinds cost nothing. */
  function rulesFor(resource: Resource): readonly CompiledRule[] {
    const known = index.get(resource)
    if (known) return known
    const chosen = compiled.filter(({ ofKind }) => ofKind(resource))
    index.set(resource, chosen)
    return chosen
  }

  function matches({ name, conditions }: CompiledRule, event: ClusterEvent): boolean {
    try {
      for (const condition of conditions) if (!condition.test(event)) return false
      return true
    } catch (error) {
      onError(name, error)
      return false
    }
  }

  return (event) => {
    const result = { sends: [] as { sink: string; rule: string }[], limited: [] as LimitedMatch[] }
    let matched = false
    for (const rule of rulesFor(event.resource)) {
      const holds = matches(rule, event)
      if (!holds && rule.limits !== 'states') continue
      if (holds) onMatch?.(rule.name)
      if (holds && rule.drop) return { ...result, dropped: !matched, droppedBy: rule.name }
      const sinks = holds ? rule.to.filter((sink) => !isTaken(result, sink)) : []
      if (rule.limits) result.limited.push({ rule: rule.name, sinks, holds, entered: holds })
      else for (const sink of sinks) result.sends.push({ sink, rule: rule.name })
      matched ||= holds
    }
    return matched || result.limited.length > 0 ? { ...result, dropped: false } : UNMATCHED
  }
}

/** Everything that is wrong with the conditions of a rule; nothing when it compiles. */
export function checkRule({ when = {} }: Pick<Rule, 'when'>): readonly Fault[] {
  const result = compileWhen(when)
  return result.ok ? [] : under(['when'], result.faults)
}

function compileRule(
  { name, drop = false, to = [], when = {} }: Rule,
  limits: LimitsOf | undefined,
): CompiledRule {
  const result = compileWhen(when)
  if (!result.ok) throw new Error(`rule "${name}" was not checked: ${result.faults[0]?.message}`)
  return { name, drop, to: [...new Set(to)], limits, ...result.value }
}

function isTaken({ sends, limited }: Omit<MatchResult, 'dropped'>, sink: string): boolean {
  return sends.some((send) => send.sink === sink) || limited.some(({ sinks }) => sinks.includes(sink))
}
