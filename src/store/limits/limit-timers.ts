import type { Redis } from 'ioredis'
import type { Evaluator, SourceStore } from '../../model/change.ts'
import type { Resource } from '../../model/event.ts'
import type { WatchStatus } from '../../model/status.ts'
import type { Logger } from '../../observe/log.ts'
import type { Metrics } from '../../observe/metrics.ts'
import { repeat } from '../../text/repeat.ts'
import type { CommitConnection } from '../commit/commit-connection.ts'
import { type Evaluated, evaluatedWith, expire, GONE_AFTER_MS, NOTHING } from '../commit/evaluate.ts'
import type { CommitStages } from '../commit/transact.ts'
import { beginWithLanes, countSent, writeLimits } from '../commit/write-commit.ts'
import { enqueuedOf } from '../entry.ts'
import { type History, writeSuppressed } from '../history/history.ts'
import type { Keys } from '../keys.ts'
import { type InstanceReport, readReports } from '../process-reports.ts'
import { isForeign, LAYOUT, LayoutChangedError } from '../redis/layout.ts'
import { CommitFairness } from './commit-fairness.ts'
import { startLimitStateGc } from './limit-state-gc.ts'
import { decodeState, ruleOfShared, scored } from './limit-states.ts'
import { writeRules } from './rule-counts.ts'

interface LimitTimersParts extends FireParts {
  redis: Redis
  log: Logger
  /** Whether a rule of the current configuration has limits. */
  hasLimits(): boolean
  /** Rules without `debounce` for which events can still wait: one set for each configuration. */
  lostDebounces?(): ReadonlySet<string>
  watches(): readonly WatchStatus[]
  timing?: Partial<LimitTimersTiming>
}

interface LimitTimersTiming {
  /** Interval between reads of the timers. */
  pollMs: number
  /** Interval while no rule has limits and there are no timers: another process may have created some. */
  idlePollMs: number
  /** Maximum delay of due states by sources that are behind. */
  maxDelayMs: number
  /** After a fault of Redis nothing is decided for this time: until then reports are older than the fault. */
  afterFaultMs: number
}

const TIMING: LimitTimersTiming = {
  pollMs: 1_000,
  idlePollMs: 60_000,
  maxDelayMs: 60_000,
  afterFaultMs: 5_000,
}

/**
 * Evaluates shared limit states when they are due, in every process with watches. All earlier changes must be read first, because
 * they can end a state. Sources that cannot be read delay the evaluation for a limited time, and Redis as long as it
 * takes no changes.
 */
export function startLimitTimers(parts: LimitTimersParts): { close(): Promise<void> } {
  const { redis, keys, clock, log, instance, hasLimits, watches } = parts
  const { pollMs, idlePollMs, maxDelayMs, afterFaultMs } = { ...TIMING, ...parts.timing }
  let attempts = 0
  let hasTimers = false
  let lookedMs = Number.NEGATIVE_INFINITY
  /** Since when sources are behind, without the time in which Redis took nothing. */
  let behindSinceMs: number | undefined
  let latestMs = performance.now()
  let faultMs = Number.NEGATIVE_INFINITY
  let lastLost: ReadonlySet<string> | undefined

  async function isDue(): Promise<boolean> {
    const idle = !hasLimits() && !hasTimers
    if (idle && performance.now() - lookedMs < idlePollMs) return false
    lookedMs = performance.now()
    const [first] = scored(await redis.zrange(keys.limitTimers, '0', '0', 'WITHSCORES'))
    hasTimers = first !== undefined
    return first !== undefined && first.score <= clock.now()
  }

  async function look(signal: AbortSignal): Promise<void> {
    const ours = watches()
    const readMs = clock.now()
    const passedMs = performance.now() - latestMs
    latestMs = performance.now()
    // What the watches hold is committed as soon as Redis takes it, and may end what is due.
    if (parts.commitConnection.isHeldUp()) {
      if (behindSinceMs !== undefined) behindSinceMs += passedMs
      return
    }
    const isBehindHere = ours.some(isBehind)
    if (isBehindHere) behindSinceMs ??= performance.now()
    const lost = parts.lostDebounces?.()
    if (lost && lost !== lastLost) await makeLostDebouncesDue(redis, keys, lost, clock.now())
    lastLost = lost
    const due = await isDue()
    // Nothing waits that unread changes could end.
    if (!hasTimers && !isBehindHere) behindSinceMs = undefined
    const mayBeOver = behindSinceMs !== undefined && !isBehindHere
    if (!(due || mayBeOver) || performance.now() - faultMs < afterFaultMs) return
    // What this process reported may be older than a break of its watches.
    const others = (await readReports(redis, keys)).filter(({ id }) => id !== instance)
    if (unreadOf(ours, others).size === 0) behindSinceMs = undefined
    else behindSinceMs ??= performance.now()
    if (!due || (behindSinceMs !== undefined && performance.now() - behindSinceMs < maxDelayMs)) return
    const isUnread = unreadSourceOf(ours, others)
    while (await fireTimers({ ...parts, isUnread }, `${instance}/${++attempts}`, signal, readMs));
  }

  // A gauge and the watches report that Redis is unavailable.
  return repeat(pollMs, look, (error) => {
    faultMs = performance.now()
    log.debug({ error }, 'cannot evaluate limits')
  })
}

type Reports = readonly Pick<InstanceReport, 'watches'>[]

/** Returns the keys of our sources of which neither this nor another process has read all changes. */
export function unreadOf(ours: readonly WatchStatus[], reports: Reports): ReadonlySet<string> {
  const others = readElsewhere(reports)
  const unread = ours.filter((status) => !(isRead(status) || others.has(status.key)))
  return new Set(unread.map(({ key }) => key))
}

/**
 * Returns whether a source has changes that neither this nor another process has read. While a kind is not resolved, as at a start without
 * the API server, it is not known which sources it has: then each is unread that nobody is known to read.
 */
export function unreadSourceOf(ours: readonly WatchStatus[], reports: Reports): (key: string) => boolean {
  const unread = unreadOf(ours, reports)
  if (!ours.some(({ phase }) => phase === 'resolving')) return (key) => unread.has(key)
  const others = readElsewhere(reports)
  const here = new Set(ours.filter(isRead).map(({ key }) => key))
  return (key) => !here.has(key) && !others.has(key)
}

function readElsewhere(reports: Reports): ReadonlySet<string> {
  const read = reports.flatMap(({ watches }) =>
    watches.filter(({ phase, current }) => phase === 'watching' && current !== false),
  )
  return new Set(read.map(({ key }) => key))
}

function isBehind(status: WatchStatus): boolean {
  return !isRead(status) && status.phase !== 'standby'
}

/** A kind that is not installed has no changes. */
function isRead({ phase, current }: WatchStatus): boolean {
  return current === true || phase === 'waiting-for-kind' || phase === 'stopped'
}

interface FireParts {
  commitConnection: CommitConnection
  keys: Keys
  /** Name of this process. */
  instance: string
  stages: CommitStages
  history?: Pick<History, 'entryOf'>
  clock: { now(): number }
  metrics: Metrics
  /** Whether a source has changes that nobody has read. */
  isUnread?: (source: string) => boolean
}

/** States in one transaction: each can have deliveries. */
const MOST_DUE = 16
/** Timers in one read, and number of reads, to find those of our rules among those of other processes. */
const PAGE_TIMERS = 1_000
const MOST_PAGES = 50
const FIRED_TTL_MS = 3_600_000

/**
 * Evaluates some of the shared states that were due at `readMs` in one transaction with deliveries and ledger. Any number of processes can try: WATCH lets one
 * succeed. The attempt's name is written too, and shows after a lost reply whether the transaction succeeded. Returns whether there
 * were due states.
 */
export async function fireTimers(
  { commitConnection, keys, instance, stages, history, clock, metrics, isUnread }: FireParts,
  attempt: string,
  signal: AbortSignal,
  readMs = Number.POSITIVE_INFINITY,
): Promise<boolean> {
  const fired = keys.limitsFired(instance)
  const turn = new CommitFairness(keys, attempt)
  let result: Evaluated | undefined
  let values: readonly unknown[] | undefined
  // A repeat after a lost reply must get the result of the attempt whose EXEC may still run.
  let evaluator: Evaluator | undefined
  let nowMs: number | undefined
  const asOf = { now: () => nowMs ?? clock.now() }
  const done = await commitConnection.commit(async (redis) => {
    for (;;) {
      const { stream } = redis
      const [layout = null, last = null] = await redis.mget(keys.schema, fired)
      if (isForeign(layout)) throw new LayoutChangedError(layout)
      if (result && last === attempt) return true
      evaluator ??= stages.evaluator()
      const due = await dueOf(redis, keys, evaluator, Math.min(asOf.now(), readMs))
      if (due.length === 0) {
        result = undefined
        return false
      }
      const parts = { redis, keys, evaluator, source: undefined, clock: asOf, isUnread }
      const { outcome, postponed, nowMs: decidedMs, watched } = await expire(parts, { shared: due, own: [] })
      if (redis.stream !== stream) continue
      if (await turn.isAnothers(redis, watched?.turnOf, signal)) continue
      result = { ...evaluatedWith(evaluator, NOTHING, outcome, decidedMs), postponed }
      nowMs = decidedMs
      const transaction = beginWithLanes(keys, result.lanes)
        .expect(fired, last)
        .expect(keys.schema, String(LAYOUT), { orNone: true })
      writeLimits(transaction, keys, undefined, result, nowMs)
      writeRules(transaction, keys, result.rules, { nowMs })
      writeSuppressed(transaction, keys, history, result)
      turn.end(transaction)
      transaction.add('SET', fired, attempt, 'PX', FIRED_TTL_MS)
      const end = await transaction.run(redis, { watching: watched !== undefined })
      if (end.kind === 'done') {
        values = end.replies
        return true
      }
      // It was certainly discarded, unless another attempt of ours succeeded, which the next round checks first.
      nowMs = undefined
      if (end.kind === 'lost') await turn.lost(redis)
    }
  }, signal)
  if (!result) return done
  countSent(metrics, result)
  if (result.lanes.size > 0) stages.enqueued(enqueuedOf(result.lanes, values))
  return done
}

/** Returns due states of our rules, and of rules whose states no process has evaluated for long. */
async function dueOf(
  redis: Redis,
  { limitTimers }: Keys,
  { expire, rules }: Evaluator,
  nowMs: number,
): Promise<string[]> {
  const due: string[] = []
  for (let page = 0; page < MOST_PAGES; page++) {
    const window = ['LIMIT', page * PAGE_TIMERS, PAGE_TIMERS, 'WITHSCORES'] as const
    const timers = scored(await redis.zrange(limitTimers, '-inf', String(nowMs), 'BYSCORE', ...window))
    for (const { key, score } of timers) {
      const isKnown = expire !== undefined && rules?.has(ruleOfShared(key)) !== false
      if (isKnown || score + GONE_AFTER_MS <= nowMs) due.push(key)
      if (due.length === MOST_DUE) return due
    }
    if (timers.length < PAGE_TIMERS) break
  }
  return due
}

interface LimitsParts extends Omit<LimitTimersParts, 'hasLimits' | 'lostDebounces'> {
  store: SourceStore
  snapshots: { readonly current: LimitsSnapshot }
}

/** What a config snapshot has about limits. */
interface LimitsSnapshot {
  hasLimits: boolean
  ruleNames: ReadonlySet<string>
  plans: ReadonlyMap<string, { tracksState: boolean; ofKind?: (resource: Resource) => boolean }>
  lostDebounces: ReadonlySet<string>
}

/** Evaluates shared limit states in time, and ends states of removed watches and rules. */
export function startLimits(parts: LimitsParts): { close(): Promise<void> } {
  const { snapshots } = parts
  const { timing: _, ...others } = parts
  const timers = startLimitTimers({
    ...parts,
    hasLimits: () => snapshots.current.hasLimits,
    lostDebounces: () => snapshots.current.lostDebounces,
  })
  const former = startLimitStateGc({
    ...others,
    rules: () => [...snapshots.current.ruleNames],
    untracked() {
      const { ruleNames, plans } = snapshots.current
      return [...ruleNames].filter((rule) => !plans.get(rule)?.tracksState)
    },
    tracked: () => snapshots.current.plans,
  })
  return { close: async () => void (await Promise.all([timers.close(), former.close()])) }
}

const DEBOUNCES_PAGE = 100

/**
 * Makes waiting events of `debounce` due whose rules no longer have it: until their former time, newer events could overtake them. Another
 * process that still has the limit sets the time again when it evaluates the state.
 */
async function makeLostDebouncesDue(
  redis: Redis,
  keys: Keys,
  rules: ReadonlySet<string>,
  nowMs: number,
): Promise<void> {
  if (rules.size === 0) return
  const timers = await redis.zrange(keys.limitTimers, `(${nowMs}`, '+inf', 'BYSCORE')
  const some = timers.filter((key) => rules.has(ruleOfShared(key)))
  for (let start = 0; start < some.length; start += DEBOUNCES_PAGE) {
    const page = some.slice(start, start + DEBOUNCES_PAGE)
    const values = await redis.mgetBuffer(...page.map(keys.limit))
    const waiting = page.filter((_, i) => isDebounce(values[i], nowMs))
    // Only lowered: the timer may have changed since.
    const scores = waiting.flatMap((key) => [nowMs, key])
    if (scores.length > 0) await redis.zadd(keys.limitTimers, 'XX', 'LT', ...scores)
  }
}

function isDebounce(value: Buffer | null | undefined, nowMs: number): boolean {
  const state = decodeState(value, nowMs)
  if (!state?.waiting) return false
  try {
    return JSON.parse(state.text()).limit === 'debounce'
  } catch {
    return false
  }
}
