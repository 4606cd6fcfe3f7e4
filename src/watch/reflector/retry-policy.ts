import { FencedError, PositionLostError } from '../../model/change.ts'
import type { WatchStatus } from '../../model/status.ts'
import { ApiFault, BrokenStream, isExpired } from '../client/api-fault.ts'
import { codeLabel, NoCredentials } from '../client/cluster-client.ts'
import { backoffMs, type Timing } from './timing.ts'
import { UnreadableFrame } from './watch-stream.ts'

/** Why a new list is needed; a metric label. */
export type RelistCause = 'expired' | 'regression' | 'quick-end' | 'unreadable' | 'stalled'

/** An open watch whose position does not follow its collection. */
export class StalledWatch extends Error {
  override name = 'StalledWatch'
  readonly relist: RelistCause

  constructor(relist: RelistCause) {
    super('the watch makes no progress, although the collection is at another position')
    this.relist = relist
  }
}

/** A watch that the API server neither ended nor moved in the time that the watch asked for. */
export class SilentWatch extends BrokenStream {
  override name = 'SilentWatch'
}

/** What the last attempts came to. */
export interface History {
  /** Failures in a row. */
  failures: number
  /** How often another process took the source over lately; a commit in between does not end that. */
  fences: number
  /** Clean ends in a row that came immediately and without data. */
  quickEnds: number
  /** Silent watches since a watch last moved the position, whatever came in between. */
  silences: number
  /** Set when the last attempt already had new credentials. */
  refreshed: boolean
  /** The frame that could not be read the last time. */
  unreadable: string | undefined
}

export const NO_HISTORY: History = {
  failures: 0,
  fences: 0,
  quickEnds: 0,
  silences: 0,
  refreshed: false,
  unreadable: undefined,
}

/** What to do next. */
export interface Step {
  history: History
  delayMs: number
  phase: WatchStatus['phase']
  /** Metric label of the reconnect. */
  cause: string
  relist?: RelistCause
  /** Compare position and cluster before resuming: the server may have been restored or exchanged. */
  verify?: true
  refresh?: true
  /** Ask whether the resource is gone for certain. */
  missing?: true
}

/** After a fault of any kind. Nothing is final: what needs a person is tried again slowly. */
export function afterFault(error: unknown, history: History, timing: Timing, random: () => number): Step {
  const failures = history.failures + 1
  const again = {
    history: { ...NO_HISTORY, failures, fences: history.fences, silences: history.silences },
    delayMs: backoffMs(failures, timing, random),
    phase: 'reconnecting',
  } as const
  if (error instanceof PositionLostError) return { ...again, cause: 'position-lost', verify: true }
  if (error instanceof FencedError) {
    const fences = history.fences + 1
    const delayMs = timing.fencedPauseMs * Math.min(2 ** (fences - 1), 24) * (0.5 + random() / 2)
    return { ...again, history: { ...again.history, fences }, delayMs, cause: 'fenced', verify: true }
  }
  if (error instanceof UnreadableFrame) {
    const repeated = history.unreadable === error.line
    const kept = { ...again.history, unreadable: error.line }
    return {
      ...again,
      history: kept,
      cause: 'unreadable',
      ...(repeated && { relist: 'unreadable' as const }),
    }
  }
  if (error instanceof StalledWatch) return { ...again, cause: 'stalled', relist: error.relist }
  if (error instanceof SilentWatch) {
    const silences = history.silences + 1
    const next = {
      ...again,
      history: { ...again.history, silences },
      cause: 'network',
      verify: true,
    } as const
    return isSuspicious(silences) ? { ...next, relist: 'stalled' } : next
  }
  if (error instanceof ApiFault) return afterAnswer(error, history, again, timing)
  const mayBeRotated = isDistrust(error) || error instanceof NoCredentials
  const cause = isBug(error) ? 'internal' : 'network'
  return { ...again, cause, verify: true, ...(mayBeRotated && { refresh: true as const }) }
}

/** Faults of the network are other classes, or have a code. */
function isBug(error: unknown): boolean {
  const isOfLanguage = [TypeError, RangeError, ReferenceError].some((kind) => error instanceof kind)
  return isOfLanguage && !('code' in (error as Error))
}

/** One side's certificate means nothing to the other: it may have been rotated there and in the kubeconfig. */
function isDistrust(error: unknown): boolean {
  return /CERT|SIGNATURE|ERR_SSL|ERR_TLS/.test(String((error as { code?: unknown }).code))
}

function afterAnswer(
  { status }: ApiFault,
  history: History,
  again: { history: History; delayMs: number; phase: 'reconnecting' },
  timing: Timing,
): Step {
  if (isExpired(status)) {
    return {
      ...again,
      delayMs: history.failures === 0 ? 0 : again.delayMs,
      cause: 'expired',
      relist: 'expired',
    }
  }
  const cause = codeLabel(status.code)
  switch (status.code) {
    case 401: {
      const delayMs = history.refreshed ? again.delayMs : 0
      return { ...again, history: { ...again.history, refreshed: true }, delayMs, cause, refresh: true }
    }
    case 404:
      return { ...again, phase: 'failing', cause, missing: true }
    case 400:
    case 403:
    case 405:
    case 422:
      return {
        ...again,
        delayMs: timing.slowRetryMs * (0.5 + again.delayMs / timing.backoffMaxMs / 2),
        phase: 'failing',
        cause,
      }
    case 429:
      // One request each, no questions besides: the server has too many of them already.
      return { ...again, delayMs: patience(status.retryAfterMs, again.delayMs), cause }
    default:
      return { ...again, delayMs: patience(status.retryAfterMs, again.delayMs), cause, verify: true }
  }
}

/** What the server asks for, and some more, so that all who were sent away don't come back together. */
function patience(retryAfterMs: number | undefined, backoffMs: number): number {
  return (retryAfterMs ?? 0) + backoffMs
}

/** After the server's clean end of a watch. */
export function afterEnd(
  end: { livedMs: number; silent: boolean },
  history: History,
  timing: Timing,
  random: () => number,
): Step {
  const base = { phase: 'reconnecting', cause: 'end' } as const
  if (!end.silent || end.livedMs >= timing.quickEndMs) {
    // Ends that come early are paced as the reconnects of many watches are: no hot loop.
    const kept = { ...NO_HISTORY, silences: history.silences }
    return { ...base, history: kept, delayMs: random() * timing.endPauseMs }
  }
  const quickEnds = history.quickEnds + 1
  const failures = history.failures + 1
  const next = { ...NO_HISTORY, quickEnds, failures, silences: history.silences }
  // Some servers answer a position that they no longer have with nothing at all (kubernetes/kubernetes#104171).
  return {
    ...base,
    history: next,
    delayMs: backoffMs(failures, timing, random),
    ...(isSuspicious(quickEnds) && { relist: 'quick-end' as const }),
  }
}

/** The second time in a row, and then ever more rarely: a list costs much. */
function isSuspicious(times: number): boolean {
  return times >= 2 && Number.isInteger(Math.log2(times))
}
