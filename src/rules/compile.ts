import type { ClusterEvent } from '../event.ts'
import { type Condition, compileConditions } from './conditions.ts'
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
}

interface CompiledRule {
  name: string
  drop: boolean
  to: readonly string[]
  conditions: readonly Condition[]
}

const NOTHING: MatchResult = { sends: [], dropped: false }

/**
 * Compiles rules into one function. They are read from top to bottom; every matching rule sends, `drop` ends, and a sink
 * gets an event once. Rules that cannot match a kind at all are left out for it, so many rules cost little.
 */
export function compileRules(
  rules: readonly Rule[],
  { onError }: CompileOptions,
): (event: ClusterEvent) => MatchResult {
  const compiled = rules.map(compileRule)
  const byResource = new Map<unknown, readonly CompiledRule[]>()

  function rulesFor(event: ClusterEvent): readonly CompiledRule[] {
    let some = byResource.get(event.resource)
    if (!some) {
      some = compiled.filter(({ conditions }) =>
        conditions.every(({ name, test }) => name !== 'kind' || test(event)),
      )
      byResource.set(event.resource, some)
    }
    return some
  }

  function matches({ name, conditions }: CompiledRule, event: ClusterEvent): boolean {
    try {
      return conditions.every(({ test }) => test(event))
    } catch (error) {
      onError(name, error)
      return false
    }
  }

  return (event) => {
    let sends: { sink: string; rule: string }[] | undefined
    for (const rule of rulesFor(event)) {
      if (!matches(rule, event)) continue
      if (rule.drop) return { sends: sends ?? [], dropped: sends === undefined }
      sends ??= []
      for (const sink of rule.to)
        if (!sends.some((send) => send.sink === sink)) sends.push({ sink, rule: rule.name })
    }
    return sends ? { sends, dropped: false } : NOTHING
  }
}

function compileRule({ name, drop = false, to = [], when = {} }: Rule): CompiledRule {
  return { name, drop, to, conditions: compileConditions(when) }
}
