import type { Evaluate, Evaluation, Evaluator, PendingLimits, Source, Transition } from '../model/change.ts'
import type { Silences } from '../model/control.ts'
import type { Delivery } from '../model/delivery.ts'
import { type ClusterEvent, headerOf } from '../model/event.ts'
import {
  type Limited,
  type LimitKeys,
  type LimitOutcome,
  type LimitStates,
  type Limits,
  NO_RULE_COUNTS,
  type RuleCounts,
  type Suppression,
} from '../model/limit.ts'
import type { ChangeTrace, PipelineTracer } from '../observe/trace.ts'
import type { MatchResult } from '../rules/compile.ts'
import { silencedBy } from '../rules/limits/limit-transaction.ts'
import { splitSilenced } from '../rules/limits/silenced.ts'
import { type NormaliseContext, normalise } from '../watch/decode/normalise.ts'
import type { MetadataRequirements } from '../watch/metadata/metadata-requirements.ts'
import type { Enrichment } from './metadata-informers.ts'

/** The stages of an evaluation. */
interface EvaluationStages {
  /** raw object → ClusterEvent */
  normalise(source: Source, transition: Transition): ClusterEvent
  match(event: ClusterEvent): MatchResult
  limits: Limits
  /** Undefined without any. */
  silences?: Silences | undefined
  /** Called for an unreadable object, which is counted and skipped. */
  onMalformed(source: Source, transition: Transition, error: unknown): void
  /** Undefined when traces are off. */
  trace?: PipelineTracer['commit'] | undefined
}

export interface EvaluatorParts extends Pick<EvaluationStages, 'onMalformed' | 'trace'> {
  /** The cluster's name. */
  cluster: string
  /** Salts the hashes of Secret values. */
  salt: Buffer
  enrichment: Pick<Enrichment, 'surroundings'> | undefined
}

/** What of a config snapshot evaluates events. */
interface EvaluatedSnapshot extends Pick<EvaluationStages, 'match' | 'limits'> {
  laneOf: Evaluator['laneOf']
  evaluatedRules: ReadonlySet<string>
  needs: MetadataRequirements
  named: NormaliseContext['named']
}

/** How one commit is evaluated: by one configuration and the same silences, although a reload may come before its last attempt. */
export function evaluatorOf(
  snapshot: EvaluatedSnapshot,
  parts: EvaluatorParts,
  silences?: Silences | undefined,
): Omit<Evaluator, 'keepsUp'> {
  const { match, limits, laneOf, evaluatedRules: rules } = snapshot
  const { onMalformed, trace } = parts
  const stages = { normalise: normaliserOf(snapshot, parts), match, limits, silences, onMalformed, trace }
  return {
    evaluate: evaluateWith(stages),
    laneOf,
    rules,
    expire: (due, states, nowMs) => limits.expire(due, states, nowMs, silences),
  }
}

/** raw object → ClusterEvent */
export function normaliserOf(
  { needs, named }: EvaluatedSnapshot,
  { cluster, salt, enrichment }: EvaluatorParts,
): EvaluationStages['normalise'] {
  const owners = needs.owners || needs.regardingOwners
  const { inTemplates } = needs
  const context = { cluster, salt, surroundings: enrichment?.surroundings, owners, inTemplates, named }
  return (source, transition) => normalise(source, transition, context)
}

/** Returns the function normalise ─▶ match for the transitions of one commit; limits follow when their states are read. */
export function evaluateWith(stages: EvaluationStages): Evaluate {
  return (source, transitions) => {
    const commit = new CommitEvaluation(stages, source)
    const trace = transitions.length > 0 ? stages.trace?.(source) : undefined
    for (const transition of transitions) {
      const change = transition.deselected ? undefined : trace?.change(transition)
      try {
        const event = stages.normalise(source, transition)
        commit.add(transition, event, commit.unsilenced(event, stages.match(event)), change)
      } catch (error) {
        change?.malformed()
        commit.skip(transition, error)
      }
    }
    return { ...commit.result(), ...(trace && { trace }) }
  }
}

/** Removes the rules whose group key cannot be computed for this event: an error of these rules only. */
export function withCountable(
  result: MatchResult,
  event: ClusterEvent,
  { limits, onRuleError }: { limits: Limits; onRuleError(rule: string, error: unknown): void },
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

/** A match result without silenced deliveries; `isSilenced`: there were some, and none is left. */
type SilencedResult = MatchResult & { isSilenced?: boolean }

/** Collects the results of the transitions of one commit. */
class CommitEvaluation {
  readonly #stages: EvaluationStages
  readonly #source: Source
  readonly #deliveries: Delivery[] = []
  readonly #rules = new Map<string, RuleCounts & { suppressed: { drop?: number; silence?: number } }>()
  readonly #counts = { matched: 0, dropped: 0, unmatched: 0, limited: 0 }
  readonly #suppressed: Suppression[] = []
  readonly #untested: string[] = []
  /** Events for limits: `isCounted` if another rule's result counts the event already. */
  readonly #limited: { transition: Transition; limited: Limited; isCounted: boolean }[] = []
  /** See `PendingLimits.places`. */
  readonly #places = new Map<string, number>()

  constructor(stages: EvaluationStages, source: Source) {
    this.#stages = stages
    this.#source = source
  }

  skip(transition: Transition, error: unknown): void {
    if (!transition.deselected) this.#counts.unmatched++
    this.#stages.onMalformed(this.#source, transition, error)
  }

  /** Takes out the deliveries of rules without limits that are silenced, and counts them. Limits do the same for theirs. */
  unsilenced(event: ClusterEvent, result: MatchResult): SilencedResult {
    const { silences } = this.#stages
    if (!silences || result.sends.length === 0) return result
    const sends: SilencedResult['sends'][number][] = []
    const atMs = Date.parse(event.time)
    for (const [rule, some] of Map.groupBy(result.sends, (send) => send.rule)) {
      const sinks = some.map(({ sink }) => sink)
      const { left, silenced, untested } = splitSilenced(silences, { rule, sinks, event }, atMs)
      for (const { id } of untested) this.#untested.push(id)
      for (const [silence, of] of silenced)
        this.#suppressed.push(silencedBy(silence, { rule, event, sinks: of }))
      if (left.length === 0) this.#count(rule, 'silence')
      sends.push(...left.map((sink) => ({ sink, rule })))
    }
    return sends.length === result.sends.length
      ? result
      : { ...result, sends, isSilenced: sends.length === 0 }
  }

  add(
    transition: Transition,
    event: ClusterEvent,
    result: SilencedResult,
    change: ChangeTrace | undefined,
  ): void {
    const { sends, limited } = result
    // The object did not change, so nothing is counted.
    if (event.deselected) {
      if (limited.length > 0) this.#limit(transition, event, limited, true)
      return
    }
    // Before anything is counted: no rule sends an unreadable object.
    const contents = sends.length > 0 ? contentsOf(event) : undefined
    for (const rule of new Set(sends.map((send) => send.rule))) this.#count(rule, 'sent')
    if (result.droppedBy !== undefined) this.#count(result.droppedBy, 'drop')
    const traces = change?.matched(event, result)
    const isOpen = sends.length === 0 && limited.some(({ entered }) => entered)
    if (limited.length > 0) {
      this.#places.set(event.id, this.#deliveries.length + sends.length)
      this.#limit(transition, event, limited, !isOpen)
    }
    if (contents) {
      this.#counts.matched++
      for (const [place, { sink, rule }] of sends.entries()) {
        const delivery: Delivery = { sink, rule, event: contents.event, objectJson: contents.objectJson }
        const trace = traces?.[place]
        if (trace) delivery.trace = trace
        this.#deliveries.push(delivery)
      }
    } else if (!isOpen) {
      if (result.isSilenced) this.#counts.limited++
      else if (result.dropped) this.#counts.dropped++
      else this.#counts.unmatched++
    }
  }

  result(): Evaluation {
    const limits =
      this.#limited.length === 0
        ? undefined
        : new LimitEvaluation(this.#stages, this.#source, this.#limited, this.#places)
    const { limited, ...counts } = this.#counts
    const evaluation = {
      deliveries: this.#deliveries,
      ...counts,
      rules: this.#rules,
      ...(limited > 0 && { limited }),
      ...(this.#suppressed.length > 0 && { suppressed: this.#suppressed }),
      ...(this.#untested.length > 0 && { untested: this.#untested }),
    }
    return { ...evaluation, ...(limits && { limits }) }
  }

  #limit(transition: Transition, event: ClusterEvent, matches: Limited['matches'], isCounted: boolean): void {
    this.#limited.push({ transition, limited: { event, matches }, isCounted })
  }

  #count(rule: string, became: 'sent' | 'drop' | 'silence'): void {
    let counts = this.#rules.get(rule)
    if (!counts) {
      counts = { ...NO_RULE_COUNTS, suppressed: {} }
      this.#rules.set(rule, counts)
    }
    counts.matched++
    if (became === 'sent') counts.sent++
    else counts.suppressed[became] = (counts.suppressed[became] ?? 0) + 1
  }
}

/** Evaluates the limits of a commit. They read an event when they emit or store it: an unreadable one is skipped as if no rule had matched. */
class LimitEvaluation implements PendingLimits {
  readonly keys: LimitKeys
  readonly counted: readonly boolean[]
  readonly places: ReadonlyMap<string, number>
  readonly #stages: EvaluationStages
  readonly #source: Source
  readonly #transitions: readonly Transition[]
  readonly #limited: readonly Limited[]
  readonly #reported = new Set<number>()

  constructor(
    stages: EvaluationStages,
    source: Source,
    events: readonly { transition: Transition; limited: Limited; isCounted: boolean }[],
    places: ReadonlyMap<string, number>,
  ) {
    this.#stages = stages
    this.#source = source
    this.#transitions = events.map(({ transition }) => transition)
    this.#limited = events.map(({ limited }) => limited)
    this.counted = events.map(({ isCounted }) => isCounted)
    this.places = places
    this.keys = stages.limits.keysOf(this.#limited)
  }

  apply(states: LimitStates, nowMs: number): LimitOutcome {
    const { limits, silences } = this.#stages
    try {
      return limits.apply(this.#limited, states, nowMs, silences)
    } catch (error) {
      const readable = this.#limited.map(({ event }, place) => this.#isReadable(event, place))
      if (!readable.includes(false)) throw error
      const outcome = limits.apply(
        this.#limited.filter((_, place) => readable[place]),
        states,
        nowMs,
        silences,
      )
      const emitted = outcome.emitted[Symbol.iterator]()
      return { ...outcome, emitted: readable.map((it) => it && emitted.next().value === true) }
    }
  }

  /** Reports an unreadable event once, however often the commit is repeated. */
  #isReadable(event: ClusterEvent, place: number): boolean {
    try {
      contentsOf(event)
      return true
    } catch (error) {
      if (!this.#reported.has(place))
        this.#stages.onMalformed(this.#source, this.#transitions[place] as Transition, error)
      this.#reported.add(place)
      return false
    }
  }
}

/** Reads the event. Throws if the object cannot be parsed. */
function contentsOf(event: ClusterEvent): Pick<Delivery, 'event' | 'objectJson'> {
  return { event: headerOf(event), objectJson: event.objectJson }
}
