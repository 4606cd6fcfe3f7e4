import type { Redis } from 'ioredis'
import type { SourceStore } from '../../model/change.ts'
import type { Resource } from '../../model/event.ts'
import { MOST_STATES } from '../../model/limit.ts'
import { isUnresolved, type WatchStatus } from '../../model/status.ts'
import type { Logger } from '../../observe/log.ts'
import { readState } from '../../rules/limits/states.ts'
import { repeat } from '../../text/repeat.ts'
import type { CommitConnection } from '../commit/commit-connection.ts'
import { forgetAcknowledgements } from '../control/incidents.ts'
import type { Keys } from '../keys.ts'
import { readReportsWithRules } from '../process-reports.ts'
import { LAYOUT } from '../redis/layout.ts'
import { readHash } from '../redis/scan.ts'
import { evalScript, valuesOf } from '../redis/script.ts'
import { decodeState, ruleOfOwn, scored } from './limit-states.ts'

interface LimitStateGcParts {
  redis: Redis
  commitConnection: CommitConnection
  keys: Keys
  store: SourceStore
  clock: { now(): number }
  log: Logger
  watches(): readonly WatchStatus[]
  rules(): readonly string[]
  /** Those of them that do not track the state of objects. */
  untracked(): readonly string[]
  /** Whether the rules that track states match a kind; the same map until another configuration is in force. */
  tracked?(): ReadonlyMap<string, TrackedKinds>
  timing?: Partial<LimitStateGcTiming>
}

interface TrackedKinds {
  ofKind?: (resource: Resource) => boolean
}

interface LimitStateGcTiming {
  pollMs: number
  /** A source or rule is removed if no process has had it for this time: a process can be restarting. */
  unwantedMs: number
  /** How long the counts of a removed rule are kept after its last match. */
  rememberedMs: number
}

const TIMING: LimitStateGcTiming = { pollMs: 60_000, unwantedMs: 300_000, rememberedMs: 86_400_000 }

/** Maximum number of rules, those with the latest matches. */
const MOST_RULES = 10_000

const FORGOTTEN = Number.NEGATIVE_INFINITY

/**
 * Ends the limit states of removed watches, whose waiting events count as gone; deletes the states and counts of removed rules without
 * waiting events, incidents of rules that no longer track states or no longer match their kind, and acknowledgements of incidents that ended; and warns of rules at capacity.
 */
export function startLimitStateGc(parts: LimitStateGcParts): { close(): Promise<void> } {
  const { redis, keys, store, clock, log } = parts
  const { pollMs, unwantedMs, rememberedMs } = { ...TIMING, ...parts.timing }
  const unwantedSinceMs = new Map<string, number>()
  const atCapacity = new RulesAtCapacity(parts)
  /** Removed rule → since when. Its states are deleted once. */
  const removedSinceMs = new Map<string, number>()
  /** Rule that does not track states → since when. Its incidents are deleted once. */
  const untrackedSinceMs = new Map<string, number>()
  /** Since when the configuration is in force. Incidents of kinds that its rules do not match are deleted once. */
  let tracked: { plans: ReadonlyMap<string, TrackedKinds>; sinceMs: number } | undefined

  async function look(signal: AbortSignal): Promise<void> {
    await atCapacity.check(parts.rules(), clock.now())
    const reports = await readReportsWithRules(redis, keys)
    const watches = [...parts.watches(), ...reports.flatMap((it) => it.watches)]
    // While an entry is not resolved, the configured sources are not known.
    if (!watches.some(isUnresolved)) await forgetSources(new Set(watches.map(({ key }) => key)), signal)
    const watching = reports.filter(({ role }) => role !== 'deliver')
    if (watching.every(({ rules }) => rules !== undefined))
      await forgetRules(
        new Set([...parts.rules(), ...watching.flatMap(({ rules = [] }) => rules.map(({ rule }) => rule))]),
        signal,
      )
    // Another configuration can have a rule of the same name that tracks states.
    const isShared = new Set(watching.map(({ config }) => config?.digest)).size <= 1
    await forgetUntracked(isShared ? parts.untracked() : [])
    await forgetOtherKinds(isShared ? parts.tracked?.() : undefined, signal)
    await forgetAcknowledgements(redis, keys)
  }

  async function forgetSources(wanted: ReadonlySet<string>, signal: AbortSignal): Promise<void> {
    const unwanted = [...(await readHash(redis, keys.sources)).keys()].filter((key) => !wanted.has(key))
    for (const key of unwantedSinceMs.keys()) if (!unwanted.includes(key)) unwantedSinceMs.delete(key)
    if (unwanted.length === 0) return
    const pipeline = redis.pipeline()
    for (const key of unwanted) pipeline.hlen(keys.ownLimits(key))
    const sizes = valuesOf(await pipeline.exec()) as number[]
    for (const [i, key] of unwanted.entries()) {
      if (sizes[i] === 0) continue
      const sinceMs = unwantedSinceMs.get(key) ?? performance.now()
      unwantedSinceMs.set(key, sinceMs)
      if (performance.now() - sinceMs >= unwantedMs) await forgetSource(key, signal)
    }
  }

  async function forgetSource(key: string, signal: AbortSignal): Promise<void> {
    const source = (await store.stored(signal)).find((it) => it.key === key)
    if (!source) return
    const session = await store.open(source, signal)
    // Without a position the source would start from the beginning if it came back.
    if (session.checkpoint) await session.forgetLimits(signal)
    else await session.beginSeed(signal)
    // A watch that replaces it would wait for its owner, and start over.
    await store.release(source, signal)
    unwantedSinceMs.delete(key)
    log.info(
      { watch: source.title },
      'no process watches this any more: its incidents end, and events that waited for limits count as gone',
    )
  }

  async function forgetRules(wanted: ReadonlySet<string>, signal: AbortSignal): Promise<void> {
    const known = scored(await redis.zrange(keys.rules, String(-MOST_RULES), '-1', 'WITHSCORES'))
    const removed = known.filter(({ key }) => !wanted.has(key))
    for (const rule of removedSinceMs.keys())
      if (!removed.some(({ key }) => key === rule)) removedSinceMs.delete(rule)
    for (const { key: rule, score } of removed) {
      const sinceMs = removedSinceMs.get(rule) ?? performance.now()
      removedSinceMs.set(rule, sinceMs)
      if (performance.now() - sinceMs < unwantedMs) continue
      if (sinceMs !== FORGOTTEN) await forgetOwnStates(redis, keys, rule)
      removedSinceMs.set(rule, FORGOTTEN)
      if (score + rememberedMs <= clock.now())
        await parts.commitConnection.run((connection) => forgetRule(connection, keys, rule), signal)
    }
  }

  async function forgetUntracked(untracked: readonly string[]): Promise<void> {
    const nowMs = performance.now()
    const rules = new Set(untracked)
    for (const rule of untrackedSinceMs.keys()) if (!rules.has(rule)) untrackedSinceMs.delete(rule)
    for (const rule of rules) if (!untrackedSinceMs.has(rule)) untrackedSinceMs.set(rule, nowMs)
    const isDue = (sinceMs: number) => sinceMs !== FORGOTTEN && nowMs - sinceMs >= unwantedMs
    const due = new Set([...untrackedSinceMs].flatMap(([rule, sinceMs]) => (isDue(sinceMs) ? rule : [])))
    if (due.size === 0) return
    for (const source of (await readHash(redis, keys.sources)).keys())
      await forgetIncidents(redis, keys, source, (rule) => due.has(rule))
    for (const rule of due) untrackedSinceMs.set(rule, FORGOTTEN)
  }

  async function forgetOtherKinds(
    plans: ReadonlyMap<string, TrackedKinds> | undefined,
    signal: AbortSignal,
  ): Promise<void> {
    const nowMs = performance.now()
    if (plans !== tracked?.plans) tracked = plans && { plans, sinceMs: nowMs }
    if (!tracked || tracked.sinceMs === FORGOTTEN || nowMs - tracked.sinceMs < unwantedMs) return
    const { plans: current } = tracked
    for (const { key, resource } of await store.stored(signal))
      await forgetIncidents(redis, keys, key, (rule) => current.get(rule)?.ofKind?.(resource) === false)
    tracked = { plans: current, sinceMs: FORGOTTEN }
  }

  // The next round repeats whatever failed.
  return repeat(pollMs, look, (error) => log.debug({ error }, 'cannot clean up limit states'))
}

/** Does nothing while events wait: they are counted when they are due. */
async function forgetRule(redis: Redis, keys: Keys, rule: string): Promise<void> {
  const key = keys.ruleLedger(rule)
  const [, waiting] = valuesOf(await redis.pipeline().watch(key).hget(key, 'waiting').exec())
  if (Number(waiting ?? 0) !== 0) return void (await redis.unwatch())
  await redis.multi().unlink(key, keys.limitKeys(rule)).zrem(keys.rules, rule).exec()
}

const PAGE = '500'

/**
 * Deletes the own states of a removed rule that have neither waiting events nor timers. Otherwise, if the rule came back, old incidents
 * would count as still open, and new ones would not be sent.
 */
async function forgetOwnStates(redis: Redis, keys: Keys, rule: string): Promise<number> {
  let forgotten = 0
  for (const source of (await readHash(redis, keys.sources)).keys()) {
    const limits = keys.ownLimits(source)
    let cursor = '0'
    do {
      const [next, flat] = (await redis.hscanBuffer(
        limits,
        cursor,
        'MATCH',
        endsWith(rule),
        'COUNT',
        PAGE,
      )) as [Buffer, Buffer[]]
      cursor = next.toString()
      const idle = pairsOf(flat).filter(({ field, value }) => ruleOfOwn(field) === rule && isIdle(value))
      if (idle.length === 0) continue
      const known = idle.flatMap(({ field, value }) => [field, value])
      const names = [limits, keys.ownLimitTimers(source), keys.schema]
      forgotten += Number(await evalScript(redis, FORGET, names, [LAYOUT, ...known]))
    } while (cursor !== '0')
  }
  return forgotten
}

/**
 * Deletes the incidents of rules that no longer track states of such objects, for the same reason; not their other own states. There can be
 * many such rules and states: the names are read once for all rules, in the timers, which each state has.
 */
async function forgetIncidents(
  redis: Redis,
  keys: Keys,
  source: string,
  isUntracked: (rule: string) => boolean,
): Promise<void> {
  const [limits, timers] = [keys.ownLimits(source), keys.ownLimitTimers(source)]
  let cursor = '0'
  do {
    const [next, flat] = await redis.zscan(timers, cursor, 'COUNT', PAGE)
    cursor = next
    const fields = scored(flat).flatMap(({ key }) => (isUntracked(ruleOfOwn(key)) ? key : []))
    if (fields.length === 0) continue
    const values = await redis.hmgetBuffer(limits, ...fields)
    const known = fields.flatMap((field, i) => {
      const value = values[i]
      return value && isIdle(value) && isIncident(value) ? [field, value] : []
    })
    if (known.length > 0) await evalScript(redis, FORGET, [limits, timers, keys.schema], [LAYOUT, ...known])
  } while (cursor !== '0')
}

function isIncident(value: Buffer): boolean {
  const result = readState(decodeState(value, 0)?.text() ?? '')
  return 'state' in result && result.state.limit === 'for-resolve'
}

function endsWith(rule: string): string {
  return `*:${rule.replace(/[\\*?[\]]/g, '\\$&')}`
}

function isIdle(value: Buffer): boolean {
  const state = decodeState(value, 0)
  return state !== undefined && state.waiting === 0 && state.dueMs === undefined
}

function pairsOf(flat: readonly Buffer[]): { field: string; value: Buffer }[] {
  const pairs: { field: string; value: Buffer }[] = []
  for (let i = 0; i < flat.length; i += 2)
    pairs.push({ field: String(flat[i]), value: flat[i + 1] as Buffer })
  return pairs
}

/** A state that changed since it was read belongs to a process. */
const FORGET = `
local layout = redis.call('GET', KEYS[3])
if layout and layout ~= ARGV[1] then return 0 end
local count = 0
for i = 2, #ARGV, 2 do
  if redis.call('HGET', KEYS[1], ARGV[i]) == ARGV[i + 1] then
    redis.call('HDEL', KEYS[1], ARGV[i])
    redis.call('ZREM', KEYS[2], ARGV[i])
    count = count + 1
  end
end
return count
`

/** Warns once of each rule at capacity, and again after it was below. */
export class RulesAtCapacity {
  readonly #redis: Redis
  readonly #keys: Keys
  readonly #log: Logger
  #warned: ReadonlySet<string> = new Set()

  constructor({ redis, keys, log }: { redis: Redis; keys: Keys; log: Logger }) {
    this.#redis = redis
    this.#keys = keys
    this.#log = log
  }

  async check(rules: readonly string[], nowMs: number): Promise<void> {
    const pipeline = this.#redis.pipeline()
    for (const rule of rules) {
      const states = this.#keys.limitKeys(rule)
      pipeline.zremrangebyscore(states, '-inf', nowMs).zcard(states)
    }
    const replies = valuesOf(await pipeline.exec())
    const full = rules.filter((_, i) => Number(replies[2 * i + 1]) >= MOST_STATES)
    for (const rule of full)
      if (!this.#warned.has(rule))
        this.#log.warn(
          { rule, values: MOST_STATES },
          'the limits of this rule are at capacity, because their group keys have too many values: new values pass "after" and "throttle", and "group" collects them in one digest',
        )
    this.#warned = new Set(full)
  }
}
