import {
  type ConfigStatus,
  describeRestart,
  type SinkStatus,
  TOO_FAR_BEHIND_MS,
  type WatchStatus,
} from '../../model/status.ts'
import { REASONS } from '../../sink/sink.ts'
import { friendlyError } from '../../text/friendly-errors.ts'
import { printable } from '../../text/printable.ts'

/** One line of a health endpoint. */
export interface Check {
  name: string
  ok: boolean
  detail?: string
}

export interface Vitals {
  /** Time in `performance.now()` milliseconds: the wall clock may be set. */
  nowMs: number
  config?: ConfigStatus
  watches: readonly WatchStatus[]
  /** Watches of metadata, where rules ask for it. */
  metadata?: readonly WatchStatus[]
  sinks: readonly SinkStatus[]
  /** Why Redis takes no commits; undefined when it does. */
  redisTrouble: string | undefined
  redisFull: boolean
  stopping: boolean
}

/** Another process works on the source; this one is there to take it over. */
const STANDBY: string = 'standby'

/**
 * Live: the loop of each watch runs, or waits for a known reason. That anybody answers shows that the event loop runs. How far
 * a watch is behind is not part of it: a restart resumes from the same position, and ends what still works.
 */
export function liveness({ nowMs, watches, metadata = [], redisTrouble, redisFull }: Vitals): Check[] {
  const waits = redisTrouble !== undefined || redisFull
  return [...watches, ...metadata].map(({ title, phase, aliveUntilMs }) => {
    const ok = waits || phase === STANDBY || nowMs <= aliveUntilMs
    return { name: `watch ${title}`, ok, ...(!ok && { detail: 'has made no progress for too long' }) }
  })
}

/**
 * Ready: Redis takes commits, and every watch has a position that follows its collection. Failing sinks are shown, and are no
 * reason to stop watching.
 */
export function readiness({
  config,
  watches,
  metadata = [],
  sinks,
  redisTrouble,
  redisFull,
  stopping,
}: Vitals): Check[] {
  const redisWaits = redisTrouble !== undefined || redisFull
  return [
    checkOf('config', true, config && configDetailOf(config)),
    checkOf('running', !stopping, stopping ? 'it is stopping' : undefined),
    checkOf('redis', redisTrouble === undefined && !redisFull, redisDetail(redisTrouble, redisFull)),
    ...watches.map((watch) => {
      // While Redis takes no commits its own check fails: every watch is behind then.
      const isOk = isReady(watch) && (redisWaits || !isFarBehind(watch))
      return checkOf(`watch ${watch.title}`, isOk, watchDetail(watch, isOk))
    }),
    ...metadata.map((watch) => checkOf(watch.title, !isAwaited(watch), metadataDetail(watch))),
    ...sinks.map((sink) => checkOf(`sink ${sink.sink}`, true, sinkDetail(sink))),
  ]
}

/** It has a position, here or where another process works on it. */
function isReady({ ready }: WatchStatus): boolean {
  return ready
}

/** A watch that is behind for a moment is not news: it reconnects every few minutes. */
function isFarBehind({ behind }: WatchStatus): boolean {
  return behind !== undefined && behind.ms > TOO_FAR_BEHIND_MS
}

function checkOf(name: string, ok: boolean, detail: string | undefined): Check {
  return { name, ok, ...(detail !== undefined && { detail }) }
}

/** Returns what readiness shows of the configuration. One that is not good is no reason to take the process away: the one before is in use. */
export function configDetailOf({ rejected, restart = [], appliedMs }: ConfigStatus): string | undefined {
  if (rejected) {
    const [since, applied] = [rejected.sinceMs, appliedMs].map((ms) => new Date(ms).toISOString())
    const place = rejected.place === undefined ? '' : `: ${printable(rejected.place)}`
    // Anyone who reaches the port reads this, so what is wrong is only in the log and in `status`.
    return `but its file is not good since ${since}, and what was read at ${applied} stays in use${place}; the log has the reason`
  }
  return restart.length > 0 ? `but ${describeRestart(restart)}` : undefined
}

function redisDetail(trouble: string | undefined, full: boolean): string | undefined {
  if (trouble !== undefined) return friendlyError(trouble)
  return full ? 'nearly full; watches pause until deliveries make room' : undefined
}

const PHASES: Record<string, string> = {
  resolving: 'asks the cluster which kinds it has',
  listing: 'reads what is there',
  reconnecting: 'connects again',
  failing: 'cannot go on as it is',
  stopped: 'has stopped',
}

function watchDetail(watch: WatchStatus, isOk = true): string | undefined {
  const { phase, lastError } = watch
  if (phase === STANDBY) return standbyDetail(watch)
  if (phase === 'waiting-for-kind') return lastError ?? 'the cluster does not have this kind yet'
  if (isReady(watch)) return isFarBehind(watch) ? `${isOk ? 'but ' : ''}${behindDetail(watch)}` : undefined
  return lastError === undefined ? (PHASES[phase] ?? phase) : watchError(lastError)
}

function behindDetail(watch: WatchStatus): string {
  const minutes = Math.floor((watch.behind?.ms ?? 0) / 60_000)
  return `behind for ${minutes} min: ${whyBehind(watch)}`
}

function whyBehind({ behind, phase, lastError }: WatchStatus): string {
  if (behind?.waitsFor === 'redis') return 'Redis does not take its changes'
  if (phase === 'watching') return 'the API server does not send what its collection has'
  if (phase === 'listing' || lastError === undefined) return PHASES[phase] ?? phase
  return watchError(lastError)
}

/** `403 Forbidden: …` and `the API server answered 403 to /apis: …` */
const ANSWER = /^(?:\d{3}(?: \w+)?(?= ?:|$)|the API server answered \d{3} to [^\s:]+)/

/** Returns only the status of an answer: the text after it names users, and may come from a proxy. */
function watchError(lastError: string): string {
  return printable(friendlyError(ANSWER.exec(lastError)?.[0] ?? lastError))
}

/** '' is a lease that nobody holds. */
function standbyDetail({ holder, ready }: WatchStatus): string {
  if (holder === '') return 'nobody holds its lease yet'
  const who = holder === undefined ? 'another process' : printable(holder)
  return `${who} works on it${ready ? '' : ', and has no position yet'}`
}

/** What is there at the start is waited for; metadata that cannot be read is no reason to stop watching. */
function isAwaited({ phase, ready }: WatchStatus): boolean {
  return phase === 'listing' && !ready
}

function metadataDetail(watch: WatchStatus): string | undefined {
  const detail = watchDetail(watch)
  if (detail === undefined || isAwaited(watch) || isReady(watch)) return detail
  return `but rules that ask for it do not match: ${detail}`
}

function sinkDetail({
  healthy,
  removed,
  quarantined,
  failingTargets,
  lastError,
}: SinkStatus): string | undefined {
  const why = lastError === undefined ? '' : `: ${sinkError(lastError)}`
  if (!healthy) return `but the sink fails, and its deliveries wait${why}`
  if (failingTargets > 0)
    return `but ${failingTargets} of its targets ${failingTargets === 1 ? 'fails' : 'fail'}, and what goes there waits${why}`
  if (quarantined === 0)
    return removed ? 'removed from the configuration; what waited for it is still delivered' : undefined
  return `but ${quarantined} ${quarantined === 1 ? 'object fails' : 'objects fail'} while others pass${why}`
}

const SHOWN_REASONS: ReadonlySet<string> = new Set([...REASONS, 'unreadable'])

/**
 * Anyone who reaches the port can read this, and the text of a receiver can contain values of events, recipients and hosts:
 * only the reason before the first colon is shown.
 */
function sinkError(lastError: string): string {
  const [reason = ''] = lastError.split(':', 1)
  const rest = 'the log and "kubeherald status" have the answer'
  return SHOWN_REASONS.has(reason) ? `${reason}; ${rest}` : rest
}

/** `[+]name ok` and `[-]name failed: why`, in the format of the API server's health endpoints. */
export function describeChecks(checks: readonly Check[]): string {
  const lines = checks.map(
    ({ name, ok, detail }) =>
      (ok ? `[+]${name} ok` : `[-]${name} failed`) + (detail ? `${ok ? ', ' : ': '}${detail}` : ''),
  )
  return `${lines.join('\n')}\n${checks.every(({ ok }) => ok) ? 'ok' : 'failed'}\n`
}
