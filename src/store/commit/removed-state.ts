import type { Redis } from 'ioredis'
import { unsureOf } from '../../model/change.ts'
import { isUnresolved, type WatchStatus } from '../../model/status.ts'
import type { Logger } from '../../observe/log.ts'
import { repeat } from '../../text/repeat.ts'
import { type Keys, sinkOf } from '../keys.ts'
import { lanesIn } from '../lanes/register.ts'
import { readReports } from '../process-reports.ts'
import { LAYOUT } from '../redis/layout.ts'
import { readHash, scanHash } from '../redis/scan.ts'
import { evalScript } from '../redis/script.ts'
import { readCheckpoint, readSource } from './stored-json.ts'

export interface RemovedStateParts {
  redis: Redis
  keys: Keys
  clock: { now(): number }
  log: Logger
  /** The watches of this process. */
  watches(): readonly WatchStatus[]
  /** The kinds and sinks of its configuration. */
  kinds(): readonly string[]
  sinks(): readonly string[]
  timing?: Partial<RemovedStateTiming>
}

interface RemovedStateTiming {
  pollMs: number
  /** State is freed after this time in which no process had it in its configuration. */
  keptMs: number
  /** A source whose position moved within this time is in use, even if no process reports it. */
  quietMs: number
}

const DAY_MS = 86_400_000
const TIMING: RemovedStateTiming = { pollMs: 600_000, keptMs: 7 * DAY_MS, quietMs: DAY_MS }

/** Stored state that is no longer in the configuration of any process. */
interface Left {
  /** Its field in the hash of removed state. */
  mark: string
  /** Deletes it; returns true when nothing is left. */
  free(): Promise<boolean>
}

/**
 * Frees the state of removed watches, sinks and kinds, a week after the last process had them. Until then a watch that is
 * configured again continues from its position. Redis stores the time of removal, because processes restart meanwhile.
 */
export function startRemovedState(parts: RemovedStateParts): { close(): Promise<void> } {
  const { redis, keys, clock, log } = parts
  const { pollMs, keptMs, quietMs } = { ...TIMING, ...parts.timing }
  /** The result of the previous poll: state is freed only if two polls find it unused. */
  let before = new Set<string>()

  async function poll(): Promise<void> {
    const reports = await readReports(redis, keys)
    const watches = [...parts.watches(), ...reports.flatMap((it) => it.watches)]
    // While an entry is not resolved, the configured sources are unknown.
    if (watches.some(isUnresolved)) return
    const had = reports.flatMap((it) => it.sinks.filter(({ removed }) => !removed).map(({ sink }) => sink))
    const sinks = new Set([...parts.sinks(), ...had])
    const left = [...(await leftOfWatches(watches)), ...(await leftOfSinks(sinks))]
    const marks = await readHash(redis, keys.removed)
    const nowMs = clock.now()
    for (const it of left) {
      const sinceMs = Number(marks.get(it.mark) ?? Number.NaN)
      marks.delete(it.mark)
      if (!(sinceMs <= nowMs)) await redis.hset(keys.removed, it.mark, nowMs)
      else if (nowMs - sinceMs >= keptMs && before.has(it.mark) && (await it.free()))
        await redis.hdel(keys.removed, it.mark)
    }
    // These are configured again, or freed.
    if (marks.size > 0) await redis.hdel(keys.removed, ...marks.keys())
    before = new Set(left.map(({ mark }) => mark))
  }

  async function leftOfWatches(watches: readonly WatchStatus[]): Promise<Left[]> {
    const running = new Set(watches.map(({ key }) => key))
    // Without a source, the title of a watch is its kind.
    const kinds = [...parts.kinds(), ...watches.map(({ title }) => title)]
    const recorded = new Set(kinds.flatMap((kind) => [kind, unsureOf(kind)]))
    const waiting = new Set(watches.filter(({ key, title }) => key === title).map(({ title }) => title))
    const stored = await readHash(redis, keys.sources)
    const left: Left[] = []
    for (const [key, text] of stored) {
      const spelling = readSource(key, text)?.spelling
      if (running.has(key) || (spelling !== undefined && waiting.has(spelling))) continue
      left.push({ mark: `watch:${key}`, free: () => freeSource(key) })
    }
    for (const kind of await redis.smembers(keys.absentKinds))
      if (!recorded.has(kind))
        left.push({
          mark: `kind:${kind}`,
          free: async () => (await redis.srem(keys.absentKinds, kind)) === 1,
        })
    for (const name of (await readHash(redis, keys.splits)).keys())
      if (!isSplitOf(name, stored))
        left.push({ mark: `split:${name}`, free: async () => (await redis.hdel(keys.splits, name)) === 1 })
    return left
  }

  async function freeSource(key: string): Promise<boolean> {
    const text = await redis.get(keys.checkpoint(key))
    const checkpoint = readCheckpoint(text)
    // An unreadable checkpoint needs an operator.
    if (text !== null && !checkpoint) return false
    if (checkpoint && Math.abs(clock.now() - checkpoint.atMs) < quietMs) return false
    const hashes = [keys.index(key), keys.old(key), keys.ownLimitTimers(key), keys.watchLedger(key)]
    const names = [keys.schema, keys.checkpoint(key), keys.ownLimits(key), keys.sources, ...hashes]
    const isFreed = (await evalScript(redis, FREE_SOURCE, names, [LAYOUT, text ?? '', key])) === 1
    if (isFreed)
      log.info({ watch: key }, 'no process has had this watch for a long time: its stored state was deleted')
    return isFreed
  }

  async function leftOfSinks(wanted: ReadonlySet<string>): Promise<Left[]> {
    const left: Left[] = []
    for await (const page of scanHash(redis, keys.pending))
      for (const lane of lanesIn(page).keys()) {
        const sink = sinkOf(lane)
        if (lane !== `${sink}/*` || wanted.has(sink)) continue
        left.push({ mark: `sink:${sink}`, free: () => freeSink(sink) })
      }
    return left
  }

  async function freeSink(sink: string): Promise<boolean> {
    const names = [keys.schema, keys.sinkLedger(sink), keys.pending, keys.outages, keys.deliveringSince]
    const isFreed = (await evalScript(redis, FREE_SINK, names, [LAYOUT, sink])) === 1
    if (isFreed) log.info({ sink }, 'no process has had this sink for a long time: its counts were deleted')
    return isFreed
  }

  return repeat(pollMs, poll, (error) =>
    log.debug({ error }, 'cannot look for stored state of removed watches, kinds and sinks'),
  )
}

/** Whether one of the sources is the whole watch, or a shard of this split watch. */
function isSplitOf(name: string, sources: ReadonlyMap<string, string>): boolean {
  const [, key = name, of = ''] = /^(.*)\.(\d+)$/s.exec(name) ?? []
  if (sources.has(key)) return true
  for (const source of sources.keys())
    if (source.startsWith(`${key}.`) && source.endsWith(`of${of}`)) return true
  return false
}

/** Deletes a source, unless it was opened since it was read, or has limit states: another step ends these first. */
const FREE_SOURCE = `
local layout = redis.call('GET', KEYS[1])
if layout and layout ~= ARGV[1] then return 0 end
if (redis.call('GET', KEYS[2]) or '') ~= ARGV[2] then return 0 end
if redis.call('HLEN', KEYS[3]) > 0 then return 0 end
redis.call('UNLINK', KEYS[2], KEYS[5], KEYS[6], KEYS[7], KEYS[8])
redis.call('HDEL', KEYS[4], ARGV[3])
return 1
`

/** Deletes the counts of a sink, unless deliveries wait for it or are dead letters: these still need them. */
const FREE_SINK = `
local layout = redis.call('GET', KEYS[1])
if layout and layout ~= ARGV[1] then return 0 end
local counts = redis.call('HMGET', KEYS[2], 'enqueued', 'delivered', 'dead', 'discarded')
for i = 1, 4 do counts[i] = tonumber(counts[i] or '0') end
if counts[1] ~= counts[2] + counts[3] or counts[3] ~= counts[4] then return 0 end
redis.call('UNLINK', KEYS[2])
redis.call('HDEL', KEYS[3], ARGV[2] .. '/*')
redis.call('HDEL', KEYS[4], ARGV[2])
redis.call('HDEL', KEYS[5], ARGV[2])
return 1
`
