import type { ClusterEvent, Resource } from '../event.ts'
import { type Conditions, compileWhen } from './conditions.ts'
import { type Fault, under } from './fault.ts'
import type { Rule } from './schema.ts'

/** What the rules make of one event. */
export interface MatchResult {
  /** The sinks it goes to, each once, with the first rule that named it. */
  sends: readonly { sink: string; rule: string }[]
  /** A rule dropped it before any sent it. */
  dropped: boolean
}

export interface CompileOptions {
  /** A rule that fails at run time does not match; the others go on. */
  onError(rule: string, error: unknown): void
  /** The conditions of a rule hold. */
  onMatch?(rule: string): void
}

interface CompiledRule extends Conditions {
  name: string
  drop: boolean
  to: readonly string[]
}

const UNMATCHED: MatchResult = { sends: [], dropped: false }

/**
 * Compiles rules into one function. They are read from top to bottom; every matching rule sends, `drop` ends, and a
 * sink gets an event once. Throws when a rule has faults: the configuration has checked them (`checkRule`).
 */
export function compileRules(
  rules: readonly Rule[],
  { onError, onMatch }: CompileOptions,
): (event: ClusterEvent) => MatchResult {
  const compiled = rules.map(compileRule)
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
    let sends: { sink: string; rule: string }[] | undefined
    for (const rule of rulesFor(event.resource)) {
      if (!matches(rule, event)) continue
      onMatch?.(rule.name)
      if (rule.drop) return { sends: sends ?? [], dropped: sends === undefined }
      sends = addSends(sends ?? [], rule)
    }
    return sends ? { sends, dropped: false } : UNMATCHED
  }
}

/** Everything that is wrong with the conditions of a rule; nothing when it compiles. */
export function checkRule({ when = {} }: Pick<Rule, 'when'>): readonly Fault[] {
  const result = compileWhen(when)
  return result.ok ? [] : under(['when'], result.faults)
}

function compileRule({ name, drop = false, to = [], when = {} }: Rule): CompiledRule {
  const result = compileWhen(when)
  if (!result.ok) throw new Error(`rule "${name}" was not checked: ${result.faults[0]?.message}`)
  return { name, drop, to, ...result.value }
}

function addSends(
  sends: { sink: string; rule: string }[],
  { name, to }: CompiledRule,
): { sink: string; rule: string }[] {
  for (const sink of to) if (!sends.some((send) => send.sink === sink)) sends.push({ sink, rule: name })
  return sends
}
