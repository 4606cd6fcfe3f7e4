import type { Transition } from '../change.ts'
import type { Config } from '../config/schema.ts'
import { decideWith } from '../decision.ts'
import type { Delivery } from '../delivery.ts'
import type { ClusterEvent } from '../event.ts'
import { createGeneration, type Generation } from '../generation.ts'
import { LIMIT_NAMES, type LimitName, type LimitOutcome, type RuleCounts } from '../limit.ts'
import { createMemoryLimits } from '../limits/memory.ts'
import type { Message, SinkType } from '../sink/index.ts'
import { sourceOf } from './event-of.ts'
import { type AskedRule, askRules } from './explain-rule.ts'
import { lastingMs } from './limit-words.ts'

/** What would be sent, and when. */
export interface Sent {
  atMs: number
  delivery: Delivery
  /** As the sink would get it; what is made of it may throw a TemplateFault. */
  message: Message
}

/** What a rule makes of an event that it matches. */
export interface RuleFate {
  rule: string
  /** Those that it takes: all that it names but for what rules above have taken. */
  sinks: readonly string[]
  /**
   * `held`: by `limit`, for good; `waits`: for `limit`, to be told later; `digested`: told at once with others that waited;
   * `dropped`: it says `drop`; `taken`: rules above have all of its sinks; `failed`: an error, so that it does not match.
   */
  fate: 'sent' | 'held' | 'waits' | 'digested' | 'dropped' | 'taken' | 'failed'
  limit?: LimitName | 'group'
  /** Of `failed`. */
  error?: string
}

/** What becomes of one event, as far as it is decided at once. */
export interface Fate {
  event: ClusterEvent
  atMs: number
  /** As the ledger counts it. */
  counted: 'matched' | 'limited' | 'dropped' | 'unmatched'
  /** Rules that match it, and those that failed, from top to bottom. */
  rules: readonly RuleFate[]
  /** With digests and notices that it brought about. */
  sent: readonly Sent[]
}

/** What a timer of a limit brought about. */
export interface Later {
  atMs: number
  sent: readonly Sent[]
  counts: ReadonlyMap<string, RuleCounts>
}

/** One configuration at work on events that it is fed, without a cluster, a Redis or a sink. */
export interface DryRun {
  readonly generation: Generation
  /** Times must not go back. Timers that are due before come first: take them with `advance`. */
  feed(event: ClusterEvent, atMs: number): Fate
  /** What a rule asks of an event, by itself. */
  ask(rule: string, event: ClusterEvent): AskedRule
  /** Lets time pass: gives what timers of limits bring about up to then. */
  advance(toMs: number): readonly Later[]
}

export interface DryRunOptions {
  config: Config
  /** Gives a sink type by the word behind `type:`. */
  load(type: string): Promise<SinkType>
}

/** Puts a configuration together as `run` does, but for what reads, stores and sends. */
export async function createDryRun({ config, load }: DryRunOptions): Promise<DryRun> {
  let nowMs = 0
  let matched: string[] = []
  let errors = new Map<string, string>()
  const generation = await createGeneration(config, {
    load,
    clock: { now: () => nowMs },
    onMatch: (rule) => void matched.push(rule),
    onRuleError: (rule, error) =>
      void errors.set(rule, error instanceof Error ? error.message : String(error)),
  })
  const limits = createMemoryLimits(generation.limits)
  const drops = new Set(config.rules.filter(({ drop }) => drop).map(({ name }) => name))
  const order = new Map(config.rules.map(({ name }, index) => [name, index]))
  const fors = new Set(config.rules.filter((rule) => lastingMs(rule) !== undefined).map(({ name }) => name))

  function sentOf(deliveries: readonly Delivery[], atMs: number): Sent[] {
    return deliveries.map((delivery) => {
      const message = generation.choices.render(delivery, 0)
      return {
        atMs,
        delivery,
        get message() {
          // Messages are made on first use, which may be later.
          nowMs = atMs
          return message
        },
      }
    })
  }

  function fateOf(
    rule: string,
    event: ClusterEvent,
    result: Result,
    limited: LimitOutcome | undefined,
  ): RuleFate {
    const error = errors.get(rule)
    if (error !== undefined && !matched.includes(rule)) return { rule, sinks: [], fate: 'failed', error }
    if (drops.has(rule)) return { rule, sinks: [], fate: 'dropped' }
    const match = result.limited.find((it) => it.rule === rule)
    if (!match) {
      const sinks = result.sends.filter((it) => it.rule === rule).map(({ sink }) => sink)
      return { rule, sinks, fate: sinks.length > 0 ? 'sent' : 'taken' }
    }
    const { sinks } = match
    if (sinks.length === 0) return { rule, sinks, fate: 'taken' }
    return { rule, sinks, ...limitedFate(rule, event, limited, fors.has(rule)) }
  }

  let asking: ReturnType<typeof askRules> | undefined

  return {
    generation,
    ask(rule, event) {
      asking ??= askRules(config)
      return asking(rule, event)
    },
    feed(event, atMs) {
      nowMs = atMs
      ;[matched, errors] = [[], new Map()]
      let result: Result = NO_RESULT
      const decide = decideWith({
        normalise: () => event,
        match(it) {
          result = generation.match(it)
          return result
        },
        limits: generation.limits,
        onMalformed(_source, _transition, error) {
          throw error
        },
      })
      const decision = decide(sourceOf(event.resource), [transitionOf(event)])
      const outcome = decision.limits && limits.apply(limitedIn(event, result), atMs)
      const rules = [...new Set([...matched, ...errors.keys()])].toSorted(
        (a, b) => (order.get(a) ?? 0) - (order.get(b) ?? 0),
      )
      return {
        event,
        atMs,
        counted: countedAs(decision, outcome),
        rules: rules.map((rule) => fateOf(rule, event, result, outcome)),
        sent: sentOf([...decision.deliveries, ...(outcome?.deliveries ?? [])], atMs),
      }
    },
    advance: (toMs) =>
      limits.advance(toMs).map(({ atMs, outcome }) => ({
        atMs,
        sent: sentOf(outcome.deliveries, atMs),
        counts: outcome.rules,
      })),
  }
}

type Result = ReturnType<Generation['match']>
const NO_RESULT: Result = { sends: [], limited: [], dropped: false }

function limitedIn(event: ClusterEvent, { limited }: Result) {
  return limited.length > 0 ? [{ event, matches: limited }] : []
}

function countedAs(
  decision: { matched: number; dropped: number; unmatched: number },
  outcome: LimitOutcome | undefined,
): Fate['counted'] {
  if (decision.matched > 0) return 'matched'
  if (decision.dropped > 0) return 'dropped'
  if (decision.unmatched > 0) return 'unmatched'
  return outcome?.told[0] ? 'matched' : 'limited'
}

function limitedFate(
  rule: string,
  { id }: ClusterEvent,
  outcome: LimitOutcome | undefined,
  lasts: boolean,
): Pick<RuleFate, 'fate' | 'limit'> {
  const own = outcome?.deliveries.filter((it) => it.rule === rule && it.notice?.kind !== 'resolved') ?? []
  if (own.some((it) => it.notice === undefined && it.event.id === id)) return { fate: 'sent' }
  if (own.some((it) => it.notice?.kind === 'digest')) return { fate: 'digested', limit: 'group' }
  if (!outcome) return { fate: 'sent' }
  const suppressed = outcome.rules.get(rule)?.suppressed ?? {}
  const limit = LIMIT_NAMES.find((name) => (suppressed[name] ?? 0) > 0)
  return limit ? { fate: 'held', limit } : { fate: 'waits', limit: waitsFor(rule, outcome, lasts) }
}

/** What has lasted, and what need not last, waits for its group, or for the end of `mute`. */
function waitsFor(rule: string, { writes }: LimitOutcome, lasts: boolean): LimitName | 'group' {
  if (lasts) return 'for'
  const own = [...writes.own].some(([key, state]) => key.endsWith(`:${rule}`) && state?.waiting)
  return own ? 'mute' : 'group'
}

function transitionOf(event: ClusterEvent): Transition {
  return {
    type: event.type,
    uid: event.uid,
    resourceVersion: event.resourceVersion,
    namespace: event.namespace ?? '',
    name: event.name,
    labelsJson: '{}',
    observedAtMs: Date.parse(event.time),
    synthesized: event.synthesized,
  }
}
