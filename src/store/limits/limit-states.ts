import type { Redis } from 'ioredis'
import {
  type LimitKeys,
  type LimitOutcome,
  type LimitState,
  type LimitStates,
  type LimitWrites,
  NO_RULE_COUNTS,
} from '../limit.ts'
import type { Keys } from './keys.ts'
import { decodeState, encodeState, ruleOfOwn, ruleOfShared, type StoredState } from './limit-state.ts'
import { valuesOf } from './replies.ts'
import type { Transaction } from './transaction.ts'

/** Where the states of a source's own objects lie; the source's checkpoint fences them. */
export interface OwnLimits {
  limits: string
  timers: string
}

/**
 * WATCH compares each key with all that are watched: 100 cost 0.2 ms, 1,000 some 4 ms, 5,000 almost 90 ms, in which Redis
 * does nothing else. Beyond this many one key stands for all shared states.
 */
const MOST_WATCHED = 400

/** States as one transaction sees them: read under WATCH when they are asked for. */
export class ReadStates implements LimitStates {
  readonly #redis: Redis
  readonly #keys: Keys
  readonly #source: OwnLimits | undefined
  readonly #clock: { now(): number }
  #nowMs: number
  readonly #shared = new Map<string, StoredState | undefined>()
  readonly #own = new Map<string, StoredState | undefined>()
  readonly #sizes = new Map<string, number>()
  #missed: { shared: Set<string>; own: Set<string> } = { shared: new Set(), own: new Set() }
  #watched = 0
  #turnOf: string | null = null

  constructor(redis: Redis, keys: Keys, source: OwnLimits | undefined, clock: { now(): number }) {
    this.#redis = redis
    this.#keys = keys
    this.#source = source
    this.#clock = clock
    this.#nowMs = clock.now()
  }

  /** After what was read: until then others may have written, and what they wrote must not lie ahead of it. */
  get nowMs(): number {
    return this.#nowMs
  }

  /** Keys are watched: what follows on this connection has to be a transaction, or UNWATCH. */
  get watches(): boolean {
    return this.#watched > 0
  }

  /** Who asked to commit alone, as of the first read of shared states. */
  get turnOf(): string | null {
    return this.#turnOf
  }

  shared(key: string): string | undefined {
    if (!this.#shared.has(key)) this.#missed.shared.add(key)
    return this.#shared.get(key)?.text()
  }

  own(key: string): string | undefined {
    if (this.#source && !this.#own.has(key)) this.#missed.own.add(key)
    return this.#own.get(key)?.text()
  }

  size(rule: string): number {
    return this.#sizes.get(rule) ?? 0
  }

  storedShared(key: string): StoredState | undefined {
    return this.#shared.get(key)
  }

  storedOwn(key: string): StoredState | undefined {
    return this.#own.get(key)
  }

  /** Reads what `decide` needs until it needs no more; it is pure, so that it may be asked again. */
  async decide(first: LimitKeys, decide: (states: ReadStates) => LimitOutcome): Promise<LimitOutcome> {
    for (let asked = first; ; ) {
      await this.#read(asked)
      const outcome = decide(this)
      const { shared, own } = this.#missed
      if (shared.size === 0 && own.size === 0) return outcome
      asked = { shared: [...shared], own: [...own] }
      this.#missed = { shared: new Set(), own: new Set() }
    }
  }

  async #read({ shared: all, own: allOwn }: LimitKeys): Promise<void> {
    const shared = [...new Set(all)].filter((key) => !this.#shared.has(key))
    const own = this.#source ? [...new Set(allOwn)].filter((key) => !this.#own.has(key)) : []
    if (shared.length === 0 && own.length === 0) return
    const pipeline = this.#redis.pipeline()
    if (shared.length > 0) {
      const names = shared.map(this.#keys.limit)
      this.#watched += names.length
      if (this.#watched > MOST_WATCHED) pipeline.watch(this.#keys.limitsMoved)
      else pipeline.watch(...names)
      pipeline.mgetBuffer(...names)
    }
    const rules = [...new Set(shared.map(ruleOfShared))].filter((rule) => !this.#sizes.has(rule))
    if (this.#source && own.length > 0) pipeline.hmgetBuffer(this.#source.limits, ...own)
    for (const rule of rules) {
      const places = this.#keys.limitKeys(rule)
      pipeline.zremrangebyscore(places, '-inf', this.#nowMs).zcard(places)
    }
    const isFirst = shared.length > 0 && this.#watched === shared.length
    if (isFirst) pipeline.get(this.#keys.limitsTurn)
    const replies = valuesOf(await pipeline.exec())
    this.#nowMs = this.#clock.now()
    if (isFirst) this.#turnOf = replies.pop() as string | null
    const sizes = replies.splice(replies.length - 2 * rules.length)
    for (const [i, rule] of rules.entries()) this.#sizes.set(rule, Number(sizes[2 * i + 1]))
    const values = replies.slice(shared.length > 0 ? 1 : 0) as (Buffer | null)[][]
    if (shared.length > 0) this.#take(this.#shared, shared, values.shift() ?? [])
    if (own.length > 0) this.#take(this.#own, own, values.shift() ?? [])
  }

  #take(
    into: Map<string, StoredState | undefined>,
    keys: readonly string[],
    values: readonly (Buffer | null)[],
  ): void {
    for (const [i, key] of keys.entries()) into.set(key, decodeState(values[i], this.#nowMs))
  }
}

/** What is left of these states when nobody can decide them any more: what waited is counted as gone. */
export function gone(keys: LimitKeys, states: ReadStates): LimitOutcome {
  const waited = new Map<string, number>()
  const count = (rule: string, stored: StoredState | undefined) => {
    if (stored && stored.waiting > 0) waited.set(rule, (waited.get(rule) ?? 0) + stored.waiting)
  }
  for (const key of keys.shared) count(ruleOfShared(key), states.storedShared(key))
  for (const key of keys.own) count(ruleOfOwn(key), states.storedOwn(key))
  return {
    deliveries: [],
    told: [],
    rules: new Map(
      [...waited].map(([rule, waiting]) => [
        rule,
        { ...NO_RULE_COUNTS, waiting: -waiting, suppressed: { gone: waiting } },
      ]),
    ),
    writes: {
      shared: new Map(keys.shared.map((key) => [key, null])),
      own: new Map(keys.own.map((key) => [key, null])),
    },
  }
}

/** Queues the states as they will be, with their timers. */
export function writeStates(
  transaction: Transaction,
  keys: Keys,
  source: OwnLimits | undefined,
  { shared, own }: LimitWrites,
  nowMs: number,
): void {
  if (shared.size > 0) transaction.add('INCRBY', keys.limitsMoved, 1)
  for (const [key, state] of shared) {
    if (!state) {
      transaction.add('UNLINK', keys.limit(key))
      continue
    }
    const value = encodeState(state, nowMs)
    // What waits is told or counted, and never goes by itself.
    if (state.dueMs !== undefined || state.waiting) transaction.add('SET', keys.limit(key), value)
    else transaction.add('SET', keys.limit(key), value, 'PX', Math.max(1, Math.ceil(state.expiresAfterMs)))
  }
  writePlaces(transaction, keys, shared, nowMs)
  writeTimers(transaction, keys.limitTimers, shared, ({ dueMs }) => dueMs)
  if (!source || own.size === 0) return
  const set: (string | Buffer)[] = []
  const gone: string[] = []
  for (const [key, state] of own) {
    if (state) set.push(key, encodeState(state, nowMs))
    else gone.push(key)
  }
  if (set.length > 0) transaction.add('HSET', source.limits, ...set)
  if (gone.length > 0) transaction.add('HDEL', source.limits, ...gone)
  // Fields of a hash do not expire by themselves: their timers take them out.
  writeTimers(transaction, source.timers, own, ({ dueMs, expiresAfterMs }) => dueMs ?? nowMs + expiresAfterMs)
}

/** One that waits never goes by itself; it gives its place back when it should have been decided long ago. */
function writePlaces(
  transaction: Transaction,
  keys: Keys,
  shared: ReadonlyMap<string, LimitState | null>,
  nowMs: number,
): void {
  const hashOf = (key: string) => key.slice(key.indexOf(':') + 1)
  for (const [rule, states] of Map.groupBy(shared, ([key]) => ruleOfShared(key))) {
    const name = keys.limitKeys(rule)
    const set = states.flatMap(([key, state]) =>
      state ? [Math.ceil(nowMs + state.expiresAfterMs), hashOf(key)] : [],
    )
    const gone = states.flatMap(([key, state]) => (state ? [] : [hashOf(key)]))
    if (set.length > 0) transaction.add('ZADD', name, ...set)
    if (gone.length > 0) transaction.add('ZREM', name, ...gone)
  }
}

function writeTimers(
  transaction: Transaction,
  timers: string,
  states: ReadonlyMap<string, LimitState | null>,
  timeOf: (state: LimitState) => number | undefined,
): void {
  const set: (number | string)[] = []
  const gone: string[] = []
  for (const [key, state] of states) {
    const atMs = state ? timeOf(state) : undefined
    if (atMs !== undefined) set.push(Math.ceil(atMs), key)
    else gone.push(key)
  }
  if (set.length > 0) transaction.add('ZADD', timers, ...set)
  if (gone.length > 0) transaction.add('ZREM', timers, ...gone)
}

/** Members and scores of a reply WITHSCORES, whatever version of the protocol it came by. */
export function scored(reply: unknown): { key: string; score: number }[] {
  const flat = (reply as unknown[]).flat()
  const pairs: { key: string; score: number }[] = []
  for (let i = 0; i < flat.length; i += 2) pairs.push({ key: String(flat[i]), score: Number(flat[i + 1]) })
  return pairs
}
