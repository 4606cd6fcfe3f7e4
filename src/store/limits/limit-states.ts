import type { Redis } from 'ioredis'
import {
  evaluateMs,
  type LimitKeys,
  type LimitOutcome,
  type LimitState,
  type LimitStates,
  type LimitWrites,
  NO_RULE_COUNTS,
} from '../../model/limit.ts'
import type { Transaction } from '../commit/transaction.ts'
import type { Keys } from '../keys.ts'
import { compress, decompress, ZSTD_DICTIONARY_1 } from '../packing.ts'
import { valuesOf } from '../redis/script.ts'

/** Redis keys of the states of a source's own objects; the source's checkpoint fences them. */
export interface OwnLimits {
  limits: string
  timers: string
}

/**
 * WATCH compares each key with all watched keys, and blocks Redis: 100 keys take 0.2 ms, 1,000 about 4 ms, 5,000 almost 90 ms. Beyond
 * this number one key represents all shared states.
 */
const MOST_WATCHED = 400

/** Keys of sources: the one whose events are evaluated, and those whose changes nobody has read. */
interface Sources {
  evaluated?: string
  isUnread?: ((source: string) => boolean) | undefined
}

/** The states of one transaction, read under WATCH on demand. */
export class ReadStates implements LimitStates {
  readonly #redis: Redis
  readonly #keys: Keys
  readonly #source: OwnLimits | undefined
  readonly #clock: { now(): number }
  readonly #sources: Sources
  #nowMs: number
  readonly #shared = new Map<string, StoredState | undefined>()
  readonly #own = new Map<string, StoredState | undefined>()
  readonly #sizes = new Map<string, number>()
  readonly #acknowledged = new Map<string, string | undefined>()
  #missed = nothingMissed()
  #watched = 0
  #turnOf: string | null = null

  constructor(
    redis: Redis,
    keys: Keys,
    source: OwnLimits | undefined,
    clock: { now(): number },
    sources: Sources = {},
  ) {
    this.#redis = redis
    this.#keys = keys
    this.#source = source
    this.#clock = clock
    this.#sources = sources
    this.#nowMs = clock.now()
  }

  /** The time after the reads: states that other processes wrote before must not be in its future. */
  get nowMs(): number {
    return this.#nowMs
  }

  /** Whether keys are watched: the connection must continue with a transaction or UNWATCH. */
  get watches(): boolean {
    return this.#watched > 0
  }

  /** The process that asked for its turn, at the first read of shared states. */
  get turnOf(): string | null {
    return this.#turnOf
  }

  get source(): string | undefined {
    return this.#sources.evaluated
  }

  isUnread(source: string): boolean {
    return this.#sources.isUnread?.(source) === true
  }

  shared(key: string): string | undefined {
    if (!this.#shared.has(key)) this.#missed.shared.add(key)
    return this.#shared.get(key)?.text()
  }

  own(key: string): string | undefined {
    if (this.#source && !this.#own.has(key)) this.#missed.own.add(key)
    return this.#own.get(key)?.text()
  }

  acknowledged(key: string): string | undefined {
    if (!this.#acknowledged.has(key)) this.#missed.acknowledged.add(key)
    return this.#acknowledged.get(key)
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

  /** Repeats `decide`, which is pure, until all states that it reads are known. */
  async evaluate(first: LimitKeys, decide: (states: ReadStates) => LimitOutcome): Promise<LimitOutcome> {
    for (let asked = first; ; ) {
      await this.#read(asked)
      const outcome = decide(this)
      const { shared, own, acknowledged } = this.#missed
      if (shared.size === 0 && own.size === 0 && acknowledged.size === 0) return outcome
      asked = { shared: [...shared], own: [...own] }
      if (acknowledged.size > 0) await this.#readAcknowledged([...acknowledged])
      this.#missed = nothingMissed()
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

  /** Not under WATCH: one that comes later than the decision is too late. */
  async #readAcknowledged(keys: readonly string[]): Promise<void> {
    const values = await this.#redis.hmget(this.#keys.acknowledged, ...keys)
    for (const [i, key] of keys.entries()) this.#acknowledged.set(key, values[i] ?? undefined)
  }

  #take(
    into: Map<string, StoredState | undefined>,
    keys: readonly string[],
    values: readonly (Buffer | null)[],
  ): void {
    for (const [i, key] of keys.entries()) into.set(key, decodeState(values[i], this.#nowMs))
  }
}

function nothingMissed() {
  return { shared: new Set<string>(), own: new Set<string>(), acknowledged: new Set<string>() }
}

/** Deletes states that cannot be evaluated any more; their waiting events count as gone. */
export function gone(keys: LimitKeys, states: ReadStates): LimitOutcome {
  const waited = new Map<string, number>()
  const count = (rule: string, stored: StoredState | undefined) => {
    if (stored && stored.waiting > 0) waited.set(rule, (waited.get(rule) ?? 0) + stored.waiting)
  }
  for (const key of keys.shared) count(ruleOfShared(key), states.storedShared(key))
  for (const key of keys.own) count(ruleOfOwn(key), states.storedOwn(key))
  return {
    deliveries: [],
    emitted: [],
    suppressed: [],
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

/** Queues the new states with their timers. */
export function writeStates(
  transaction: Transaction,
  keys: Keys,
  source: OwnLimits | undefined,
  { shared, own }: LimitWrites,
  nowMs: number,
): void {
  if (shared.size > 0) transaction.add('INCR', keys.limitsMoved)
  for (const [key, state] of shared) {
    if (!state) {
      transaction.add('UNLINK', keys.limit(key))
      continue
    }
    const value = encodeState(state, nowMs)
    // States with waiting events never expire: they are emitted or counted.
    if (state.dueMs !== undefined || state.waiting) transaction.add('SET', keys.limit(key), value)
    else transaction.add('SET', keys.limit(key), value, 'PX', Math.max(1, Math.ceil(state.expiresAfterMs)))
  }
  writePlaces(transaction, keys, shared, nowMs)
  writeTimers(transaction, keys.limitTimers, shared, (state) => evaluateMs(state, nowMs))
  if (!source || own.size === 0) return
  const set: (string | Buffer)[] = []
  const gone: string[] = []
  for (const [key, state] of own) {
    if (state) set.push(key, encodeState(state, nowMs))
    else gone.push(key)
  }
  if (set.length > 0) transaction.add('HSET', source.limits, ...set)
  if (gone.length > 0) transaction.add('HDEL', source.limits, ...gone)
  // Fields of a hash do not expire: their timers delete them.
  writeTimers(transaction, source.timers, own, (it) => evaluateMs(it, nowMs) ?? nowMs + it.expiresAfterMs)
}

/** Updates the number of states of each rule. A waiting state never expires, but frees its place long after its due time. */
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

/** Returns members and scores of a WITHSCORES reply of any protocol version. */
export function scored(reply: unknown): { key: string; score: number }[] {
  const flat = (reply as unknown[]).flat()
  const pairs: { key: string; score: number }[] = []
  for (let i = 0; i < flat.length; i += 2) pairs.push({ key: String(flat[i]), score: Number(flat[i + 1]) })
  return pairs
}

/** First byte of a state that is too small for compression. */
const PLAIN = 2

const PLAIN_BYTES = 256
/** Format, due time, expiry, number of waiting events. */
const HEAD_BYTES = 1 + 6 + 6 + 4
const MAX_TIME_MS = 2 ** 48 - 1

/** A stored state. The bytes before its text are the same in all formats. */
export interface StoredState {
  dueMs: number | undefined
  waiting: number
  /** Decompresses it; if that fails, the text has only the number of waiting events. */
  text(): string
}

/** Compresses a state, because it can contain complete deliveries. */
export function encodeState({ text, expiresAfterMs, dueMs, waiting = 0 }: LimitState, nowMs: number): Buffer {
  const raw = Buffer.from(text)
  const plain = raw.length <= PLAIN_BYTES
  const head = Buffer.alloc(HEAD_BYTES)
  head.writeUInt8(plain ? PLAIN : ZSTD_DICTIONARY_1, 0)
  head.writeUIntBE(dueMs === undefined ? 0 : timeOf(dueMs), 1, 6)
  head.writeUIntBE(timeOf(nowMs + expiresAfterMs), 7, 6)
  head.writeUInt32BE(waiting, 13)
  return Buffer.concat([head, plain ? raw : compress(raw)])
}

/** Returns a stored state with another text; times and number of waiting events are the same. */
export function withText(value: Buffer, text: string): Buffer {
  const raw = Buffer.from(text)
  const plain = raw.length <= PLAIN_BYTES
  const head = Buffer.from(value.subarray(0, HEAD_BYTES))
  head.writeUInt8(plain ? PLAIN : ZSTD_DICTIONARY_1, 0)
  return Buffer.concat([head, plain ? raw : compress(raw)])
}

/** Returns undefined for an expired state. States with waiting events never expire. */
export function decodeState(value: Buffer | null | undefined, nowMs: number): StoredState | undefined {
  if (!value || value.length < HEAD_BYTES) return undefined
  const dueMs = value.readUIntBE(1, 6) || undefined
  const waiting = value.readUInt32BE(13)
  if (dueMs === undefined && waiting === 0 && value.readUIntBE(7, 6) <= nowMs) return undefined
  return { dueMs, waiting, text: () => unpacked(value) ?? JSON.stringify({ waiting }) }
}

/** Returns undefined for another format or a damaged state, so that the commit does not fail. */
function unpacked(value: Buffer): string | undefined {
  const body = value.subarray(HEAD_BYTES)
  if (value[0] === PLAIN) return body.toString()
  if (value[0] !== ZSTD_DICTIONARY_1) return undefined
  try {
    return decompress(body).toString()
  } catch {
    return undefined
  }
}

function timeOf(ms: number): number {
  return Math.min(Math.max(Math.ceil(ms), 1), MAX_TIME_MS)
}

/** Names of rules have no colon; other parts of a key can have some. */
export const ruleOfShared = (key: string): string => key.slice(0, key.indexOf(':'))
export const ruleOfOwn = (key: string): string => key.slice(key.lastIndexOf(':') + 1)

const PAGE = 100

/** Counts the waiting events by rule, in shared states and those of the sources. Each waiting state has a timer. */
export async function countWaiting(
  redis: Redis,
  keys: Keys,
  sources: readonly string[],
): Promise<Map<string, number>> {
  const waiting = new Map<string, number>()
  const add = (rule: string, value: Buffer | null | undefined) => {
    const count = decodeState(value, 0)?.waiting ?? 0
    if (count > 0) waiting.set(rule, (waiting.get(rule) ?? 0) + count)
  }
  for await (const page of pagesOf(redis, keys.limitTimers)) {
    const values = await redis.mgetBuffer(...page.map(keys.limit))
    for (const [i, key] of page.entries()) add(ruleOfShared(key), values[i])
  }
  for (const source of sources)
    for await (const page of pagesOf(redis, keys.ownLimitTimers(source))) {
      const values = await redis.hmgetBuffer(keys.ownLimits(source), ...page)
      for (const [i, key] of page.entries()) add(ruleOfOwn(key), values[i])
    }
  return waiting
}

async function* pagesOf(redis: Redis, timers: string): AsyncGenerator<string[]> {
  for (let start = 0; ; start += PAGE) {
    const page = await redis.zrange(timers, String(start), String(start + PAGE - 1))
    if (page.length > 0) yield page
    if (page.length < PAGE) return
  }
}
