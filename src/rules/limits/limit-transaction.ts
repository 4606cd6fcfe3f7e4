import { describeSilence, type Silence, type Silences } from '../../model/control.ts'
import type { Delivery, Digest, Resolved } from '../../model/delivery.ts'
import {
  type LimitName,
  type LimitOutcome,
  type LimitState,
  type LimitStates,
  MOST_STATES,
  type RuleCounts,
  type Suppression,
} from '../../model/limit.ts'
import type { Emission } from './emission.ts'
import { type LimitKind, readState, type State, type StateOf, type SuppressedBefore } from './states.ts'

type Counts = { -readonly [Key in keyof RuleCounts]: RuleCounts[Key] } & {
  suppressed: Partial<Record<LimitName, number>>
}

/** Changes of the rules' counts. Each match is finally sent, digested or suppressed, exactly once; until then it is waiting. */
class Counters {
  readonly #rules = new Map<string, Counts>()

  get rules(): ReadonlyMap<string, RuleCounts> {
    return this.#rules
  }

  count(rule: string, what: 'matched' | 'sent' | 'digested' | 'waiting' | 'notices', by = 1): void {
    this.#of(rule)[what] += by
  }

  suppress(rule: string, limit: LimitName, by = 1): void {
    const { suppressed } = this.#of(rule)
    suppressed[limit] = (suppressed[limit] ?? 0) + by
  }

  #of(rule: string): Counts {
    let counts = this.#rules.get(rule)
    if (!counts) {
      counts = { matched: 0, sent: 0, digested: 0, waiting: 0, suppressed: {}, notices: 0 }
      this.#rules.set(rule, counts)
    }
    return counts
  }
}

const HOUR_MS = 3_600_000
export const DAY_MS = 24 * HOUR_MS
/** Maximum delay from an event to its evaluation, when Redis is unavailable. */
export const LATE_MS = HOUR_MS
/** Waiting events survive this long while no process runs. */
export const KEEP_MS = 30 * DAY_MS

export type Scope = 'shared' | 'own'

/** What is suppressed, and until when. */
type Suppressed = Pick<Suppression, 'event' | 'sinks' | 'detail'> & { untilMs?: number | undefined }

interface Write {
  state: State
  usefulMs: number
  dueMs: number | undefined
}

/** One evaluation: reads and writes states, and collects deliveries and counts. */
export class LimitTransaction {
  readonly counters = new Counters()
  readonly nowMs: number
  /** Undefined without any. */
  readonly silences: Silences | undefined
  readonly #states: LimitStates
  readonly #read = { shared: new Map<string, State | undefined>(), own: new Map<string, State | undefined>() }
  readonly #writes = { shared: new Map<string, Write | null>(), own: new Map<string, Write | null>() }
  readonly #deliveries: Delivery[] = []
  readonly #suppressed: Suppression[] = []
  readonly #untested: string[] = []
  /** Rule → change of its number of shared states since they were read. */
  readonly #grown = new Map<string, number>()
  readonly #atCapacity = new Map<string, number>()

  constructor(states: LimitStates, nowMs: number, silences?: Silences) {
    this.#states = states
    this.nowMs = nowMs
    this.silences = silences
  }

  /** Returns the state of a key. An unreadable state is deleted, and its waiting events count as `gone`. */
  readAny(scope: Scope, key: string): State | undefined {
    const read = this.#read[scope]
    if (!read.has(key)) read.set(key, this.#load(scope, key))
    return read.get(key)
  }

  read<Kind extends LimitKind>(scope: Scope, key: string, kind: Kind): StateOf<Kind> | undefined {
    const state = this.readAny(scope, key)
    return state?.limit === kind ? (state as StateOf<Kind>) : undefined
  }

  /** Returns who acknowledged the incident of an own state, as it is stored. */
  acknowledged(key: string): string | undefined {
    return this.#states.acknowledged?.(key)
  }

  /** The source whose events are evaluated. */
  get source(): string | undefined {
    return this.#states.source
  }

  isUnread(source: string): boolean {
    return this.#states.isUnread?.(source) === true
  }

  /** Whether the state exists or the rule can create another one; refusals are counted. */
  hasCapacity(rule: string, key: string): boolean {
    if (this.readAny('shared', key)) return true
    const size = this.#states.size?.(rule) ?? 0
    if (size + (this.#grown.get(rule) ?? 0) < MOST_STATES) return true
    this.#atCapacity.set(rule, (this.#atCapacity.get(rule) ?? 0) + 1)
    return false
  }

  /** The state expires after `usefulMs` without a write; `dueMs` is when to evaluate it with `expire`. */
  write(scope: Scope, key: string, state: State, usefulMs: number, dueMs?: number): void {
    if (scope === 'shared' && !this.readAny(scope, key)) this.#grow(state.rule, 1)
    this.#read[scope].set(key, state)
    this.#writes[scope].set(key, { state, usefulMs, dueMs })
  }

  forget(scope: Scope, key: string): void {
    const state = scope === 'shared' ? this.readAny(scope, key) : undefined
    if (state) this.#grow(state.rule, -1)
    this.#read[scope].set(key, undefined)
    this.#writes[scope].set(key, null)
  }

  emit(
    rule: string,
    { content, sinks, suppressed }: Emission,
    { notice, order }: { notice?: Digest | Resolved | undefined; order?: string | undefined } = {},
  ): void {
    const { header, objectJson, truncated } = content
    const event = notice ? { ...header, id: `${header.id}/${notice.kind}/${rule}` } : header
    for (const sink of sinks) {
      const delivery: Delivery = { sink, rule, event, objectJson }
      if (notice) delivery.notice = notice
      if (order !== undefined) delivery.order = order
      if (suppressed) delivery.suppressed = deliveredBefore(suppressed)
      if (truncated) delivery.truncated = true
      this.#deliveries.push(delivery)
    }
  }

  /** The event is sent to none of these sinks. */
  suppress(rule: string, by: LimitName | Silence, what: Suppressed): void {
    this.counters.suppress(rule, typeof by === 'string' ? by : 'silence')
    if (typeof by === 'string') this.#suppressed.push(suppressionOf(rule, by, what))
    else this.silence(rule, by, what)
  }

  /** Some of an event's sinks are silenced; it is counted once for all of its sinks. */
  silence(rule: string, silence: Silence, { event, sinks }: Pick<Suppression, 'event' | 'sinks'>): void {
    this.#suppressed.push(silencedBy(silence, { rule, event, sinks }))
  }

  /** Silences that cannot test an event. */
  untested(silences: Iterable<Silence>): void {
    for (const { id } of silences) this.#untested.push(id)
  }

  outcome(emitted: readonly boolean[]): LimitOutcome {
    const { shared, own } = this.#writes
    const writes = { shared: written(shared), own: written(own) }
    return {
      deliveries: this.#deliveries,
      suppressed: this.#suppressed,
      emitted,
      rules: this.counters.rules,
      writes,
      ...(this.#untested.length > 0 && { untested: this.#untested }),
      ...(this.#atCapacity.size > 0 && { atCapacity: this.#atCapacity }),
    }
  }

  #grow(rule: string, by: number): void {
    this.#grown.set(rule, (this.#grown.get(rule) ?? 0) + by)
  }

  #load(scope: Scope, key: string): State | undefined {
    const text = this.#states[scope](key)
    if (text === undefined) return undefined
    const result = readState(text)
    if ('state' in result) return result.state
    const { rule = ruleOf(scope, key), waiting } = result.lost
    if (waiting > 0) {
      this.counters.count(rule, 'waiting', -waiting)
      this.counters.suppress(rule, 'gone', waiting)
    }
    this.#writes[scope].set(key, null)
    return undefined
  }
}

function suppressionOf(
  rule: string,
  limit: LimitName,
  { event, sinks, detail, untilMs }: Suppressed,
): Suppression {
  return {
    rule,
    limit,
    sinks,
    event,
    ...(untilMs !== undefined && { untilMs }),
    ...(detail !== undefined && { detail }),
  }
}

/** Returns what a silence suppressed, for the history. */
export function silencedBy(
  silence: Silence,
  { rule, event, sinks }: Pick<Suppression, 'rule' | 'event' | 'sinks'>,
): Suppression {
  const { id, untilMs } = silence
  return { rule, limit: 'silence', sinks, event, untilMs, silence: id, detail: describeSilence(silence) }
}

function written(writes: ReadonlyMap<string, Write | null>): Map<string, LimitState | null> {
  return new Map([...writes].map(([key, write]) => [key, write && stateOf(write)]))
}

function stateOf({ state, usefulMs, dueMs }: Write): LimitState {
  return {
    text: JSON.stringify(state),
    expiresAfterMs: Math.max(1, Math.ceil(usefulMs)),
    ...(dueMs !== undefined && { dueMs }),
    ...(state.waiting > 0 && { waiting: state.waiting }),
  }
}

function deliveredBefore({ count, sinceMs }: SuppressedBefore): { count: number; since: string } {
  return { count, since: new Date(sinceMs).toISOString() }
}

function ruleOf(scope: Scope, key: string): string {
  return scope === 'own' ? key.slice(key.lastIndexOf(':') + 1) : key.slice(0, key.indexOf(':'))
}
