import type { Config } from '../../config/schema.ts'
import type { Evaluation, Source, Transition } from '../../model/change.ts'
import type { Silences } from '../../model/control.ts'
import type { Delivery } from '../../model/delivery.ts'
import type { ChangeType, ClusterEvent, RelatedMetadata, Resource } from '../../model/event.ts'
import { LIMIT_NAMES, type LimitName, type LimitOutcome, type RuleCounts } from '../../model/limit.ts'
import type { MatchResult } from '../../rules/compile.ts'
import { MemoryLimits } from '../../rules/limits/memory.ts'
import type { Message, SinkType } from '../../sink/index.ts'
import { titleOf } from '../../watch/client/discovery.ts'
import { type NormaliseContext, normalise } from '../../watch/decode/normalise.ts'
import { readFrame } from '../../watch/decode/scan.ts'
import { objectJsonOf } from '../../watch/decode/trim.ts'
import { logTarget } from '../../watch/logs/log-target.ts'
import { type ConfigSnapshot, createConfigSnapshot } from '../config-snapshot.ts'
import { evaluateWith } from '../evaluation.ts'
import { type RuleConditions, ruleConditions } from './match-report.ts'
import { minDurationOf } from './rule-texts.ts'

/** A delivery that would be sent. */
export interface Sent {
  atMs: number
  delivery: Delivery
  /** The sink's message; rendering it may throw a TemplateFault. */
  message: Message
}

/** The result of a rule for an event that it matches. */
export interface RuleResult {
  rule: string
  /** Its sinks, without those that rules above have taken. */
  sinks: readonly string[]
  /**
   * `suppressed`: by `limit`, for good; `waiting`: for `limit`, to be sent later; `digested`: sent in a digest with others that waited;
   * `dropped`: by a `drop` rule; `taken`: rules above have all of its sinks; `failed`: an error, so it does not match.
   */
  outcome: 'sent' | 'suppressed' | 'waiting' | 'digested' | 'dropped' | 'taken' | 'failed'
  limit?: LimitName | 'group'
  /** The silence of all or some of its sinks: `silence 3f9a1c2b until … by …: …`. */
  silence?: string
  /** Error of the verdict `failed`. */
  error?: string
}

/** The immediate result of one event. */
export interface EventResult {
  event: ClusterEvent
  atMs: number
  /** As in the ledger. */
  counted: 'matched' | 'limited' | 'dropped' | 'unmatched'
  /** The rules that match and those that failed, from top to bottom. */
  rules: readonly RuleResult[]
  /** Also digests and resolve notifications that the event caused. */
  sent: readonly Sent[]
}

/** The result of a timer of a limit. */
export interface TimerResult {
  atMs: number
  sent: readonly Sent[]
  counts: ReadonlyMap<string, RuleCounts>
}

/** One configuration, evaluated on events without a cluster, Redis or sinks. */
export interface DryRun {
  readonly snapshot: ConfigSnapshot
  /** Times must not decrease. Call `advance` first: it runs the timers that are due. */
  evaluate(event: ClusterEvent, atMs: number): EventResult
  /** Renders the message of a delivery as of a time; its content is to be read before the next call. */
  messageOf(delivery: Delivery, atMs: number): Message
  /** Evaluates all conditions of one rule. */
  conditionsOf(rule: string, event: ClusterEvent): RuleConditions
  /** Runs the timers of limits up to a time. */
  advance(toMs: number): readonly TimerResult[]
  /** Forgets the states of limits. */
  forget(): void
}

export interface DryRunOptions {
  config: Config
  /** Returns a sink type by its name. */
  load(type: string): Promise<SinkType>
  /** Those that were in force. */
  silences?: Silences | undefined
}

/** Builds the same snapshot as `run`, with limit states in memory. */
export async function createDryRun({ config, load, silences }: DryRunOptions): Promise<DryRun> {
  let nowMs = 0
  let matched: string[] = []
  let errors = new Map<string, string>()
  const snapshot = await createConfigSnapshot(config, {
    load,
    clock: { now: () => nowMs },
    onMatch: (rule) => void matched.push(rule),
    onRuleError: (rule, error) =>
      void errors.set(rule, error instanceof Error ? error.message : String(error)),
  })
  let limits = new MemoryLimits(snapshot.limits, silences)
  const order = new Map(config.rules.map(({ name }, index) => [name, index]))
  const ruleOf = (name: string) => config.rules[order.get(name) ?? -1]

  function sentOf(deliveries: readonly Delivery[], atMs: number): Sent[] {
    return deliveries.map((delivery) => {
      const message = snapshot.choices.render(withLogs(snapshot, delivery), 0)
      return {
        atMs,
        delivery,
        get message() {
          // Messages are rendered on first use, which may be later.
          nowMs = atMs
          return message
        },
      }
    })
  }

  function resultOf(
    rule: string,
    event: ClusterEvent,
    match: MatchResult,
    {
      limited,
      suppressed = [],
    }: { limited: LimitOutcome | undefined; suppressed?: Evaluation['suppressed'] },
  ): RuleResult {
    const error = errors.get(rule)
    if (error !== undefined && !matched.includes(rule)) return { rule, sinks: [], outcome: 'failed', error }
    const settings = ruleOf(rule)
    if (settings?.drop) return { rule, sinks: [], outcome: 'dropped' }
    const own = match.limited.find((it) => it.rule === rule)
    const sinks = own?.sinks ?? match.sends.filter((it) => it.rule === rule).map(({ sink }) => sink)
    if (sinks.length === 0) return { rule, sinks, outcome: 'taken' }
    const silenced = [...suppressed, ...(limited?.suppressed ?? [])].find(
      (it) => it.rule === rule && it.silence !== undefined,
    )
    const bySilence = silenced && { silence: silenced.detail ?? 'a silence' }
    if (!own) {
      const isSilenced = silenced !== undefined && silenced.sinks.length === sinks.length
      return {
        rule,
        sinks,
        ...(isSilenced ? { outcome: 'suppressed', limit: 'silence' } : { outcome: 'sent' }),
        ...bySilence,
      }
    }
    return {
      rule,
      sinks,
      ...limitedResult(settings, rule, event, limited),
      ...bySilence,
    }
  }

  let conditionsOf: ReturnType<typeof ruleConditions> | undefined

  return {
    snapshot,
    messageOf(delivery, atMs) {
      nowMs = atMs
      return snapshot.choices.render(delivery, 0)
    },
    conditionsOf(rule, event) {
      conditionsOf ??= ruleConditions(config)
      return conditionsOf(rule, event)
    },
    evaluate(event, atMs) {
      nowMs = atMs
      ;[matched, errors] = [[], new Map()]
      let match: MatchResult = { sends: [], limited: [], dropped: false }
      const evaluate = evaluateWith({
        normalise: () => event,
        match(it) {
          match = snapshot.match(it)
          return match
        },
        limits: snapshot.limits,
        silences,
        onMalformed(_source, _transition, error) {
          throw error
        },
      })
      const evaluation = evaluate(sourceOf(event.resource), [transitionOf(event)])
      const limited = match.limited.length > 0 ? [{ event, matches: match.limited }] : []
      const outcome = evaluation.limits && limits.apply(limited, atMs)
      const rules = [...new Set([...matched, ...errors.keys()])]
      return {
        event,
        atMs,
        counted: countedAs(evaluation, outcome),
        rules: rules
          .toSorted((a, b) => (order.get(a) ?? 0) - (order.get(b) ?? 0))
          .map((rule) =>
            resultOf(rule, event, match, { limited: outcome, suppressed: evaluation.suppressed }),
          ),
        sent: sentOf([...evaluation.deliveries, ...(outcome?.deliveries ?? [])], atMs),
      }
    },
    advance: (toMs) =>
      limits.advance(toMs).map(({ atMs, outcome }) => ({
        atMs,
        sent: sentOf(outcome.deliveries, atMs),
        counts: outcome.rules,
      })),
    forget() {
      limits = new MemoryLimits(snapshot.limits, silences)
    },
  }
}

function countedAs(evaluation: Evaluation, outcome: LimitOutcome | undefined): EventResult['counted'] {
  if (evaluation.matched > 0) return 'matched'
  if (evaluation.dropped > 0) return 'dropped'
  if (evaluation.unmatched > 0) return 'unmatched'
  if (evaluation.limited) return 'limited'
  return outcome?.emitted[0] ? 'matched' : 'limited'
}

function limitedResult(
  settings: Config['rules'][number] | undefined,
  rule: string,
  { id }: ClusterEvent,
  outcome: LimitOutcome | undefined,
): Pick<RuleResult, 'outcome' | 'limit'> {
  const own = outcome?.deliveries.filter((it) => it.rule === rule && it.notice?.kind !== 'resolved') ?? []
  if (own.some((it) => it.notice === undefined && it.event.id === id)) return { outcome: 'sent' }
  if (own.some((it) => it.notice?.kind === 'digest')) return { outcome: 'digested', limit: 'group' }
  if (!outcome) return { outcome: 'sent' }
  const suppressed = outcome.rules.get(rule)?.suppressed ?? {}
  // `debounce` suppresses earlier events, never the one that comes.
  const limit = LIMIT_NAMES.find((name) => name !== 'debounce' && (suppressed[name] ?? 0) > 0)
  if (limit) return { outcome: 'suppressed', limit }
  // After `for`, or without it, an event waits for its group, or for the end of `mute` or of a silence.
  const isDelayed = [...outcome.writes.own].some(([key, state]) => key.endsWith(`:${rule}`) && state?.waiting)
  const delayedBy = settings?.mute ? 'mute' : 'silence'
  return { outcome: 'waiting', limit: waitingLimit(settings) ?? (isDelayed ? delayedBy : 'group') }
}

/** The first limit of a rule that lets events wait. */
function waitingLimit(rule: Config['rules'][number] | undefined): LimitName | undefined {
  if (minDurationOf(rule ?? {}) !== undefined) return 'for'
  return rule?.debounce ? 'debounce' : undefined
}

function transitionOf({ type, uid, resourceVersion, namespace = '', name, time, synthesized }: ClusterEvent) {
  const observedAtMs = Date.parse(time)
  return { type, uid, resourceVersion, namespace, name, labelsJson: '{}', observedAtMs, synthesized }
}

/** One change of one complete object, as a watch reports it. */
export interface ObjectChange {
  type: ChangeType
  resource: Resource
  object: Readonly<Record<string, unknown>>
  /** The previous object, where the configuration stores it. */
  old?: Readonly<Record<string, unknown>> | undefined
  synthesized?: boolean | undefined
  atMs: number
}

interface EventContext extends NormaliseContext {
  keepsPrevious(resource: Resource): boolean
  surroundings: RelatedMetadata
}

/** Converts a change with the code that reads the frames of a watch. Undefined for an object that a watch could not read. */
export function eventOf(change: ObjectChange, context: EventContext): ClusterEvent | undefined {
  const { type, resource, object, old, atMs, synthesized = false } = change
  const frame = readFrame(frameOf(type, object))
  if (frame.kind !== 'change') return undefined
  const { uid, resourceVersion, namespace, name, labelsJson } = frame.object
  const oldFrame = old && context.keepsPrevious(resource) ? readFrame(frameOf('ADDED', old)) : undefined
  const oldJson =
    oldFrame?.kind === 'change' ? objectJsonOf(resource, oldFrame.object, context.salt) : undefined
  const transition: Transition = {
    type,
    uid,
    resourceVersion,
    namespace,
    name,
    labelsJson,
    synthesized,
    observedAtMs: atMs,
    object: frame.object,
    ...(oldJson && { old: () => oldJson }),
  }
  return normalise(sourceOf(resource), transition, context)
}

function frameOf(type: ChangeType, object: ObjectChange['object']): Buffer {
  return Buffer.from(`{"type":"${type}","object":${JSON.stringify(object)}}`)
}

const sources = new WeakMap<Resource, Source>()

/** Returns the source of a watch for the resource. */
function sourceOf(resource: Resource): Source {
  const known = sources.get(resource)
  if (known) return known
  const title = titleOf(resource)
  const source: Source = {
    key: `dry-run/${title}`,
    title,
    resource,
    spelling: title,
    custom: false,
    initial: 'now',
    namespace: '',
    labelSelector: '',
    fieldSelector: '',
    clusterUid: 'dry-run',
  }
  sources.set(resource, source)
  return source
}

/** Returns the delivery with a note in the place of the log that `run` would read: dry runs read none. */
export function withLogs({ logsOf }: Pick<ConfigSnapshot, 'logsOf'>, delivery: Delivery): Delivery {
  const settings = logsOf(delivery.rule)
  const target = settings && !delivery.notice && logTarget(delivery.event, delivery.objectJson, settings)
  if (!target) return delivery
  const { container, previous } = target
  const lines = settings.lines === 1 ? 'the last line is' : `the last ${settings.lines} lines are`
  const text = `(${lines} read here when kubeherald runs)`
  return { ...delivery, logs: { ...(container !== undefined && { container }), previous, text } }
}
