import type { Redis } from 'ioredis'
import type { SourceStore } from '../change.ts'
import type { Logger } from '../log.ts'
import type { WatchStatus } from '../status.ts'
import type { CommitLine } from './commit-line.ts'
import { CrowdedRules } from './crowded-rules.ts'
import { forgetOwnStates } from './forget-states.ts'
import { readReportsWithRules } from './instances.ts'
import type { Keys } from './keys.ts'
import { scored } from './limit-states.ts'
import { readHash } from './pending.ts'
import { repeat } from './repeat.ts'
import { valuesOf } from './replies.ts'

export interface FormerLimitsParts {
  redis: Redis
  line: CommitLine
  keys: Keys
  store: SourceStore
  clock: { now(): number }
  log: Logger
  watches(): readonly WatchStatus[]
  rules(): readonly string[]
  timing?: Partial<FormerLimitsTiming>
}

export interface FormerLimitsTiming {
  pollMs: number
  /** How long no process may have wanted a source, or had a rule: one with another configuration may be restarting. */
  unwantedMs: number
  /** How long the counts of a removed rule are kept since it matched something. */
  rememberedMs: number
}

const TIMING: FormerLimitsTiming = { pollMs: 60_000, unwantedMs: 300_000, rememberedMs: 86_400_000 }

/** How many rules are looked at, those that matched last. */
const MOST_RULES = 10_000

const FORGOTTEN = Number.NEGATIVE_INFINITY

/**
 * What limits keep of objects that nobody follows any more, because a watch was removed or selects otherwise: what waits is
 * counted as gone. And what is known of objects by rules that were removed, and their counts, when nothing waits in them. And
 * rules whose limits are full.
 */
export function startFormerLimits(parts: FormerLimitsParts): { close(): Promise<void> } {
  const { redis, keys, store, clock, log } = parts
  const { pollMs, unwantedMs, rememberedMs } = { ...TIMING, ...parts.timing }
  const unwantedSinceMs = new Map<string, number>()
  const crowded = new CrowdedRules(parts)
  /** Rule that nobody has → since when. Its states are forgotten once. */
  const removedSinceMs = new Map<string, number>()

  async function look(signal: AbortSignal): Promise<void> {
    await crowded.look(parts.rules(), clock.now())
    const reports = await readReportsWithRules(redis, keys)
    const watches = [...parts.watches(), ...reports.flatMap((it) => it.watches)]
    // As long as a kind is not resolved, nobody knows which sources are wanted.
    if (!watches.some(({ phase }) => phase === 'resolving'))
      await forgetSources(new Set(watches.map(({ key }) => key)), signal)
    const watching = reports.filter(({ role }) => role !== 'deliver')
    if (watching.every(({ rules }) => rules !== undefined))
      await forgetRules(
        new Set([...parts.rules(), ...watching.flatMap(({ rules = [] }) => rules.map(({ rule }) => rule))]),
        signal,
      )
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
    // Without a position the source begins anew, should it ever come back.
    if (session.checkpoint) await session.forgetLimits(signal)
    else await session.beginSeed(signal)
    unwantedSinceMs.delete(key)
    log.info(
      { watch: source.title },
      'nobody watches this any more: its incidents end, and what waited for limits is counted as gone',
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
        await parts.line.run((connection) => forgetRule(connection, keys, rule), signal)
    }
  }

  // What cannot be done now is done at the next look.
  return repeat(pollMs, look, (error) => log.debug({ error }, 'cannot look for former limits'))
}

/** Unless something waits in it: that is counted when its time comes. */
async function forgetRule(redis: Redis, keys: Keys, rule: string): Promise<void> {
  const key = keys.ruleLedger(rule)
  const [, waiting] = valuesOf(await redis.pipeline().watch(key).hget(key, 'waiting').exec())
  if (Number(waiting ?? 0) !== 0) return void (await redis.unwatch())
  await redis.multi().unlink(key, keys.limitKeys(rule)).zrem(keys.rules, rule).exec()
}
