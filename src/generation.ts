import type { Config } from './config/schema.ts'
import type { Delivery } from './delivery.ts'
import type { Needs } from './enrich/needs.ts'
import type { ClusterEvent, Resource } from './event.ts'
import type { Limits } from './limit.ts'
import { createLimits, limitsOf } from './limits/limits.ts'
import { needsOfConfig } from './needs.ts'
import { compileRules, type MatchResult } from './rules/compile.ts'
import { keepsOld } from './rules/keeps-old.ts'
import type { SinkType } from './sink/index.ts'
import { chooseSinks, type SinkChoices } from './sink-set/choices.ts'

/** All that follows from one configuration. It never changes: a reload makes another, and exchanges them between two commits. */
export interface Generation {
  config: Config
  choices: SinkChoices
  match(event: ClusterEvent): MatchResult
  limits: Limits
  ruleNames: ReadonlySet<string>
  /** Has one of its rules limits? */
  hasLimits: boolean
  /** What rules ask of the surroundings of events. */
  needs: Needs
  /** `<sink>/<lane>` */
  laneOf(delivery: Delivery): string
  /** Are old objects of this resource worth keeping? */
  keepsOld(resource: Resource): boolean
}

export interface GenerationParts {
  /** Gives a sink type by the word behind `type:`. */
  load(type: string): Promise<SinkType>
  onMatch(rule: string): void
  onRuleError(rule: string, error: unknown): void
  /** For the filter `age`. */
  clock?: { now(): number }
}

/** Derives it from a checked configuration. */
export async function createGeneration(
  config: Config,
  { load, onMatch, onRuleError, clock }: GenerationParts,
): Promise<Generation> {
  const choices = await chooseSinks(config, load, clock)
  const limitsByName = new Map(config.rules.map((rule) => [rule.name, limitsOf(rule)]))
  const limits = createLimits(config.rules)
  const match = compileRules(config.rules, {
    onMatch,
    onError: onRuleError,
    limitsOf: (name) => limitsByName.get(name),
  })
  return {
    config,
    choices,
    match: (event) => withCountable(match(event), event, { limits, onRuleError }),
    limits,
    ruleNames: new Set(config.rules.map(({ name }) => name)),
    hasLimits: [...limitsByName.values()].some((limits) => limits !== undefined),
    needs: needsOfConfig(config),
    laneOf: choices.laneOf,
    keepsOld: keepsOld(config.rules, ({ to = [] }) => to.some(choices.tellsChanges)),
  }
}

/** Without the rules whose limits cannot tell by what to count this event: an error of theirs, and of no other rule. */
function withCountable(
  result: MatchResult,
  event: ClusterEvent,
  { limits, onRuleError }: { limits: Limits } & Pick<GenerationParts, 'onRuleError'>,
): MatchResult {
  if (result.limited.length === 0) return result
  const limited = result.limited.filter((match) => {
    try {
      limits.keysOf([{ event, matches: [match] }])
      return true
    } catch (error) {
      onRuleError(match.rule, error)
      return false
    }
  })
  return limited.length === result.limited.length ? result : { ...result, limited }
}
