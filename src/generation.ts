import type { Config } from './config/schema.ts'
import type { Delivery } from './delivery.ts'
import type { Needs } from './enrich/needs.ts'
import type { ClusterEvent, Resource, WayStep } from './event.ts'
import type { Limits } from './limit.ts'
import { joinLimits, limitPlan, limitsOf } from './limits/limits.ts'
import { stepsToNeeds } from './needs.ts'
import { compileRule, joinRules, type MatchResult } from './rules/compile.ts'
import { keptByRule, keptFor } from './rules/keeps-old.ts'
import { namedByRule, namedFor } from './rules/paths/named.ts'
import type { SinkType } from './sink/index.ts'
import { chooseSinks, type SinkChoices } from './sink-set/choices.ts'
import { mapInSlices, runInSlices } from './slices.ts'

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
  /** Do rules name the path of a changed value of such objects? */
  named(resource: Resource): ((way: readonly WayStep[]) => boolean) | undefined
}

export interface GenerationParts {
  /** Gives a sink type by the word behind `type:`. */
  load(type: string): Promise<SinkType>
  onMatch(rule: string): void
  onRuleError(rule: string, error: unknown): void
  /** For the filter `age`. */
  clock?: { now(): number }
}

/** Derives it from a checked configuration, in slices that give the event loop back: another one may be at work. */
export async function createGeneration(
  config: Config,
  { load, onMatch, onRuleError, clock }: GenerationParts,
): Promise<Generation> {
  const choices = await chooseSinks(config, load, clock)
  const { rules } = config
  const limits = joinLimits(await mapInSlices(rules, limitPlan))
  const compiled = await mapInSlices(rules, (rule) => compileRule(rule, limitsOf(rule)))
  const match = joinRules(compiled, { onMatch, onError: onRuleError })
  const kept = await mapInSlices(rules, (rule) =>
    keptByRule(rule, ({ to = [] }) => to.some(choices.tellsChanges)),
  )
  const named = await mapInSlices(rules, namedByRule)
  return {
    config,
    choices,
    match: (event) => withCountable(match(event), event, { limits, onRuleError }),
    limits,
    ruleNames: new Set(rules.map(({ name }) => name)),
    hasLimits: rules.some((rule) => limitsOf(rule) !== undefined),
    needs: await runInSlices(stepsToNeeds(config)),
    laneOf: choices.laneOf,
    keepsOld: keptFor(kept),
    named: namedFor(named.flat()),
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
