import type { Delivery, Digest, Resolved } from '../delivery.ts'
import { type LimitOutcome, type LimitState, type LimitStates, MOST_STATES } from '../limit.ts'
import { Book } from './book.ts'
import type { HeldBack, LimitKind, State, StateOf } from './states.ts'
import { readState } from './states.ts'
import type { Told } from './told.ts'

export const HOUR_MS = 3_600_000
export const DAY_MS = 24 * HOUR_MS
/** Events may be decided so long after they were observed: Redis was away. */
export const LATE_MS = HOUR_MS
/** What waits outlasts kubeherald being down. */
export const KEEP_MS = 30 * DAY_MS

type Scope = 'shared' | 'own'

interface Write {
  state: State
  useful: number
  dueMs: number | undefined
}

/** One decision: the states as they are by now, and what comes of it. */
export class Work {
  readonly book = new Book()
  readonly nowMs: number
  readonly #states: LimitStates
  readonly #read = { shared: new Map<string, State | undefined>(), own: new Map<string, State | undefined>() }
  readonly #writes = { shared: new Map<string, Write | null>(), own: new Map<string, Write | null>() }
  readonly #deliveries: Delivery[] = []
  /** Rule → shared states that came and went since they were read. */
  readonly #grown = new Map<string, number>()
  readonly #crowded = new Map<string, number>()

  constructor(states: LimitStates, nowMs: number) {
    this.#states = states
    this.nowMs = nowMs
  }

  /** The state of a key; one that cannot be read is forgotten, what waited in it is gone. */
  any(scope: Scope, key: string): State | undefined {
    const read = this.#read[scope]
    if (!read.has(key)) read.set(key, this.#load(scope, key))
    return read.get(key)
  }

  read<Kind extends LimitKind>(scope: Scope, key: string, kind: Kind): StateOf<Kind> | undefined {
    const state = this.any(scope, key)
    return state?.limit === kind ? (state as StateOf<Kind>) : undefined
  }

  /** Has a limit of the rule its state, or may it begin one? What has no room is counted. */
  hasRoom(rule: string, key: string): boolean {
    if (this.any('shared', key)) return true
    const size = this.#states.size?.(rule) ?? 0
    if (size + (this.#grown.get(rule) ?? 0) < MOST_STATES) return true
    this.#crowded.set(rule, (this.#crowded.get(rule) ?? 0) + 1)
    return false
  }

  /** `useful` is how long it is of use from now on, in milliseconds; `dueMs` when `expire` is to be asked. */
  write(scope: Scope, key: string, state: State, useful: number, dueMs?: number): void {
    if (scope === 'shared' && !this.any(scope, key)) this.#grow(state.rule, 1)
    this.#read[scope].set(key, state)
    this.#writes[scope].set(key, { state, useful, dueMs })
  }

  forget(scope: Scope, key: string): void {
    const state = scope === 'shared' ? this.any(scope, key) : undefined
    if (state) this.#grow(state.rule, -1)
    this.#read[scope].set(key, undefined)
    this.#writes[scope].set(key, null)
  }

  tell(
    rule: string,
    { content, sinks, heldBack }: Told,
    { notice, order }: { notice?: Digest | Resolved | undefined; order?: string | undefined } = {},
  ): void {
    const { header, objectJson } = content
    const event = notice ? { ...header, id: `${header.id}/${notice.kind}/${rule}` } : header
    for (const sink of sinks) {
      const delivery: Delivery = { sink, rule, event, objectJson }
      if (notice) delivery.notice = notice
      if (order !== undefined) delivery.order = order
      if (heldBack) delivery.heldBack = shownHeldBack(heldBack)
      this.#deliveries.push(delivery)
    }
  }

  outcome(told: readonly boolean[]): LimitOutcome {
    const { shared, own } = this.#writes
    const writes = { shared: written(shared), own: written(own) }
    return {
      ...{ deliveries: this.#deliveries, told, rules: this.book.rules, writes },
      ...(this.#crowded.size > 0 && { crowded: this.#crowded }),
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
      this.book.count(rule, 'waiting', -waiting)
      this.book.suppress(rule, 'gone', waiting)
    }
    this.#writes[scope].set(key, null)
    return undefined
  }
}

/** Once for each state, however many events changed it. */
function written(writes: ReadonlyMap<string, Write | null>): Map<string, LimitState | null> {
  return new Map([...writes].map(([key, write]) => [key, write && stateOf(write)]))
}

function stateOf({ state, useful, dueMs }: Write): LimitState {
  return {
    text: JSON.stringify(state),
    expiresAfterMs: Math.max(1, Math.ceil(useful)),
    ...(dueMs !== undefined && { dueMs }),
    ...(state.waiting > 0 && { waiting: state.waiting }),
  }
}

function shownHeldBack({ count, sinceMs }: HeldBack): { count: number; since: string } {
  return { count, since: new Date(sinceMs).toISOString() }
}

function ruleOf(scope: Scope, key: string): string {
  return scope === 'own' ? key.slice(key.lastIndexOf(':') + 1) : key.slice(0, key.indexOf(':'))
}
