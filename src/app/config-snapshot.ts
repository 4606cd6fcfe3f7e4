import { routeOf } from '../config/routes.ts'
import type { Config } from '../config/schema.ts'
import type { Delivery, LogSettings } from '../model/delivery.ts'
import type { ClusterEvent, Resource, WayStep } from '../model/event.ts'
import type { Limits } from '../model/limit.ts'
import { createContents, createRender, type Render, type RuleAttributes } from '../render/message.ts'
import { combineRules, compileRule, type LimitScope, type MatchResult } from '../rules/compile.ts'
import { joinLimits, limitPlan } from '../rules/limits/limits.ts'
import type { RulePlan } from '../rules/limits/rule-plan.ts'
import { kindsToStore, namedPaths, namesPath, storesPrevious } from '../rules/previous-objects.ts'
import { laneByKey, type Markup, type Message, orderOf, type Preview, type SinkType } from '../sink/index.ts'
import { laneName } from '../sink/order.ts'
import { mapInSlices, runInSlices } from '../text/yielding.ts'
import type { MetadataRequirements } from '../watch/metadata/metadata-requirements.ts'
import { withCountable } from './evaluation.ts'
import { stepsToNeeds } from './metadata-needs.ts'

/** Everything derived from one configuration. Immutable: a reload makes another one, and replaces it between two commits. */
export interface ConfigSnapshot {
  config: Config
  choices: SinkChoices
  match(event: ClusterEvent): MatchResult
  limits: Limits
  /** The limits of each rule that has some, by its name: a reload compares them. */
  plans: ReadonlyMap<string, RulePlan>
  ruleNames: ReadonlySet<string>
  /** Rules without `debounce` for which events can still wait. After a start these can be all. */
  lostDebounces: ReadonlySet<string>
  /** The rules whose limit states this process evaluates when they are due: its own, and those with `debounce` that a reload has removed. */
  evaluatedRules: ReadonlySet<string>
  /** Whether one of its rules has limits. */
  hasLimits: boolean
  /** The related metadata that rules use. */
  needs: MetadataRequirements
  /** `<sink>/<lane>` */
  laneOf(delivery: Delivery): string
  /** Whether previous objects of this resource are stored. */
  keepsPrevious(resource: Resource): boolean
  /** Whether conditions of rules read the previous objects of this resource. */
  readsPrevious(resource: Resource): boolean
  /** What a rule asks for in `logs`. */
  logsOf(rule: string): LogSettings | undefined
  /** Whether rules name a path of changed values of such objects. */
  named(resource: Resource): ((way: readonly WayStep[]) => boolean) | undefined
}

export interface ConfigSnapshotParts {
  /** Returns a sink type by its name. */
  load(type: string): Promise<SinkType>
  onMatch(rule: string): void
  onRuleError(rule: string, error: unknown): void
  /** For the filter `age`. */
  clock?: { now(): number }
  /** The snapshot that the new one replaces. */
  before?: Pick<ConfigSnapshot, 'plans' | 'ruleNames' | 'evaluatedRules'>
}

/** Derives a snapshot from a checked configuration; yields to the event loop, because the running one is at work. */
export async function createConfigSnapshot(
  config: Config,
  { load, onMatch, onRuleError, clock, before }: ConfigSnapshotParts,
): Promise<ConfigSnapshot> {
  const choices = await chooseSinks(config, load, clock)
  const { rules } = config
  const planned = await planLimits(rules, before)
  const { limits, plans } = planned
  const compiled = await mapInSlices(rules, (rule) => compileRule(rule, scopeOf(plans.get(rule.name))))
  const match = combineRules(compiled, { onMatch, onError: onRuleError })
  const kept = await mapInSlices(rules, (rule) =>
    kindsToStore(rule, (rule.to ?? []).some(choices.showsChanges)),
  )
  const read = await mapInSlices(rules, (rule) => kindsToStore(rule, false))
  const named = await mapInSlices(rules, namedPaths)
  const logs = new Map(rules.flatMap(({ name, logs }) => (logs ? [[name, logs] as const] : [])))
  return {
    config,
    choices,
    match: (event) => withCountable(match(event), event, { limits, onRuleError }),
    ...planned,
    hasLimits: plans.size > 0,
    needs: await runInSlices(stepsToNeeds(config)),
    laneOf: choices.laneOf,
    keepsPrevious: storesPrevious(kept),
    readsPrevious: storesPrevious(read),
    logsOf: (rule) => logs.get(rule),
    named: namesPath(named.flat()),
  }
}

/**
 * Returns what a snapshot knows of limits, with those of the snapshot before by which events still wait. This is a function of its own so
 * that no closure of a snapshot captures the one before: each would keep the one before it, and none would be freed.
 */
async function planLimits(rules: Config['rules'], before: ConfigSnapshotParts['before']) {
  const planned = await mapInSlices(rules, (rule) => limitPlan(rule, before?.plans.get(rule.name)))
  const plans = new Map(planned.flatMap((plan) => (plan ? [[plan.name, plan] as const] : [])))
  const ruleNames = new Set(rules.map(({ name }) => name))
  const removed = before ? removedDebounces(before, ruleNames) : []
  const undebounced = [...ruleNames].filter((name) => !plans.get(name)?.debounce)
  const lost = before ? undebounced.filter((name) => plans.get(name)?.formerDebounce) : undebounced
  return {
    plans,
    ruleNames,
    limits: joinLimits(planned),
    lostDebounces: new Set([...lost, ...removed]),
    evaluatedRules: new Set([...ruleNames, ...removed]),
  }
}

/** Returns the rules with `debounce` that reloads have removed since the start. */
function removedDebounces(
  { plans, ruleNames, evaluatedRules }: NonNullable<ConfigSnapshotParts['before']>,
  present: ReadonlySet<string>,
): string[] {
  const isDebounced = (name: string) => plans.get(name)?.debounce ?? plans.get(name)?.formerDebounce
  return [...evaluatedRules].filter(
    (name) => !present.has(name) && (!ruleNames.has(name) || isDebounced(name)),
  )
}

function scopeOf(plan: RulePlan | undefined): LimitScope | undefined {
  return plan && (plan.tracksState ? 'states' : 'events')
}

/** The functions of the configured sinks' types, by a sink's name. */
export interface SinkChoices {
  typeOf(sink: string): SinkType
  /** delivery → message, with the rule's options and templates */
  render: Render
  /** Returns what the reader of a sink sees of a text in its markup. */
  plainOf(text: string, sink: string): string
  /** Returns `<sink>/<lane>`: a lane that the sink type names, or one of 16 by the object's name or its group. */
  laneOf(delivery: Delivery): string
  /** Returns target and body of a message, if the type supports it. Throws TemplateFault. */
  preview(message: Message, sink: string): Preview
  /** Whether the sink sends several messages in one request. */
  batches(sink: string): boolean
  /** Whether the sink shows old and new values. */
  showsChanges(sink: string): boolean
}

/** Loads the types of the configured sinks; `load` returns a type by its name. */
export async function chooseSinks(
  config: Config,
  load: (type: string) => Promise<SinkType>,
  clock?: { now(): number },
): Promise<SinkChoices> {
  const types = new Map<string, SinkType>()
  const options = new Map<string, unknown>()
  for (const sink of config.sinks) {
    types.set(sink.name, await load(sink.type))
    options.set(sink.name, sink.options)
  }
  const rules = new Map<string, RuleAttributes>(
    config.rules.map((rule) => [rule.name, rule as RuleAttributes]),
  )
  const typeOf = (sink: string) => types.get(sink) as SinkType
  const markupOf = (sink: string): Markup => typeOf(sink).markup?.(options.get(sink)) ?? typeOf(sink)
  const plainOf = (text: string, sink: string) => {
    try {
      return markupOf(sink).plain?.(text) ?? text
    } catch {
      // Of a plug-in: how it was delivered is recorded all the same.
      return text
    }
  }
  const render = createRender({
    routeOf: (rule, sink) => routeOf(config.routes, rule, sink),
    ruleOf: (rule) => rules.get(rule),
    contentOf: createContents(config, markupOf, clock),
    plainOf,
  })
  return {
    typeOf,
    render,
    plainOf,
    laneOf(delivery) {
      const { sink } = delivery
      const lane = types.get(sink)?.lane
      const chosen = lane && laneName(() => lane(render(delivery, 0), options.get(sink)))
      return `${sink}/${chosen ?? `n${laneByKey(orderOf(delivery))}`}`
    },
    preview: (message, sink) => types.get(sink)?.preview?.(message, options.get(sink)) ?? {},
    batches: (sink) => types.get(sink)?.batches?.(options.get(sink)) ?? false,
    showsChanges: (sink) => types.get(sink)?.showsChanges?.(options.get(sink)) ?? false,
  }
}

/** The current config snapshot, and for each removed sink the last one that had it: its waiting deliveries need it. */
export class ConfigSnapshots {
  #current: ConfigSnapshot
  readonly #removed = new Map<string, ConfigSnapshot>()

  constructor(first: ConfigSnapshot) {
    this.#current = first
  }

  get current(): ConfigSnapshot {
    return this.#current
  }

  /** Returns the snapshot that has a sink. */
  of(sink: string): ConfigSnapshot {
    return this.#removed.get(sink) ?? this.#current
  }

  /** Renders a delivery; if its rule was removed, with the defaults of its sink. */
  render(delivery: Delivery, attempt: number): ReturnType<Render> {
    return this.of(delivery.sink).choices.render(delivery, attempt)
  }

  /** Replaces the current snapshot. */
  exchange(next: ConfigSnapshot): void {
    const has = (name: string) => next.config.sinks.some((sink) => sink.name === name)
    for (const { name } of this.#current.config.sinks) if (!has(name)) this.#removed.set(name, this.#current)
    for (const { name } of next.config.sinks) this.#removed.delete(name)
    this.#current = next
  }

  /** Forgets the snapshot of a removed sink for which no delivery waits. */
  forget(sink: string): void {
    this.#removed.delete(sink)
  }
}
