import type { Redis } from 'ioredis'
import type { Logger } from '../log.ts'
import type { WatchStatus } from '../status.ts'
import { type FireParts, fireTimers } from './fire-timers.ts'
import { type InstanceReport, readReports } from './instances.ts'
import { scored } from './limit-states.ts'
import { repeat } from './repeat.ts'

export interface LimitTimersParts extends FireParts {
  redis: Redis
  log: Logger
  /** Does a rule of the configuration in force have limits? */
  hasLimits(): boolean
  watches(): readonly WatchStatus[]
  timing?: Partial<LimitTimersTiming>
}

export interface LimitTimersTiming {
  /** Between looks for what is due. */
  pollMs: number
  /** The same while no rule has limits and nothing is due at any time: another process may have left something. */
  idlePollMs: number
  /** How long what is due waits at most for sources that are behind. */
  patienceMs: number
}

const TIMING: LimitTimersTiming = { pollMs: 1_000, idlePollMs: 60_000, patienceMs: 60_000 }

/**
 * Decides shared states of limits when their time has come, as every process with watches does. What happened before must be
 * read first, wherever it is read: it may be what ends the waiting. Sources that cannot be read hold it up for a while only.
 */
export function startLimitTimers(parts: LimitTimersParts): { close(): Promise<void> } {
  const { redis, keys, clock, log, instance, hasLimits, watches } = parts
  const { pollMs, idlePollMs, patienceMs } = { ...TIMING, ...parts.timing }
  let attempts = 0
  let hasTimers = false
  let lookedMs = Number.NEGATIVE_INFINITY
  /** Since when sources are behind. */
  let behindSinceMs: number | undefined

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
    if (isAllRead(ours, [])) behindSinceMs = undefined
    else if (ours.some(isBehind)) behindSinceMs ??= performance.now()
    if (!(await isDue())) return
    const allRead = isAllRead(ours, await readReports(redis, keys))
    if (!allRead) {
      behindSinceMs ??= performance.now()
      if (performance.now() - behindSinceMs < patienceMs) return
    } else behindSinceMs = undefined
    while (await fireTimers(parts, `${instance}/${++attempts}`, signal));
  }

  // Redis being away is told by its own gauge, and by the watches.
  return repeat(pollMs, look, (error) => log.debug({ error }, 'limits could not be decided'))
}

/** Is all read that happened, by this process or by another one? */
export function isAllRead(
  ours: readonly WatchStatus[],
  reports: readonly Pick<InstanceReport, 'watches'>[],
): boolean {
  const others = new Set(
    reports.flatMap(({ watches }) =>
      watches.filter(({ phase, current }) => phase === 'watching' && current !== false).map(({ key }) => key),
    ),
  )
  return ours.every((status) => isRead(status) || others.has(status.key))
}

function isBehind(status: WatchStatus): boolean {
  return !isRead(status) && status.phase !== 'standby'
}

/** Of a kind that is not there nothing happens. */
function isRead({ phase, current }: WatchStatus): boolean {
  return current === true || phase === 'waiting-for-kind' || phase === 'stopped'
}
