import { holderOf, type LeaseObject } from './lease.ts'

/**
 * Since when leases were seen unchanged, by this process's monotonic clock: the clocks of others, which wrote the times
 * inside, may be hours away. `sentMs` and `receivedMs` are of the list before.
 */
export interface Board {
  sentMs: number
  receivedMs: number
  seen: ReadonlyMap<string, Seen>
}

/** A lease, and when this version of it was seen first. */
export interface Seen {
  lease: LeaseObject
  sinceMs: number
}

export const NOTHING_SEEN: Board = { sentMs: 0, receivedMs: 0, seen: new Map() }

/**
 * A new list after an old one. Only time in which somebody looked counts: while the API server is away nobody can renew,
 * and a process that was frozen knows nothing of what it slept through. `maxGapMs` is how much one gap between lists counts.
 */
export function observe(
  board: Board,
  leases: readonly LeaseObject[],
  { sentMs, receivedMs, maxGapMs }: { sentMs: number; receivedMs: number; maxGapMs: number },
): Board {
  const uncounted = Math.max(0, sentMs - board.receivedMs - maxGapMs)
  const seen = new Map<string, Seen>()
  for (const lease of leases) {
    const { name } = lease.metadata
    const before = board.seen.get(name)
    const unchanged = before !== undefined && versionOf(before.lease) === versionOf(lease)
    seen.set(name, { lease, sinceMs: unchanged ? before.sinceMs + uncounted : receivedMs })
  }
  return { sentMs, receivedMs, seen }
}

function versionOf({ metadata }: LeaseObject): string {
  return `${metadata.uid} ${metadata.resourceVersion}`
}

/** How long this version has been seen, at least. */
export function unchangedMs(board: Board, { sinceMs }: Seen): number {
  return board.sentMs - sinceMs
}

/** More than a configuration may ask for was written by hand, and must not keep a watch from everybody for years. */
const LONGEST_SECONDS = 3_600

/** Nobody holds it, or its holder did not renew it for as long as it promised to. */
export function isFree(board: Board, seen: Seen, defaultDurationMs: number): boolean {
  const seconds = seen.lease.spec?.leaseDurationSeconds
  const durationMs = seconds === undefined ? defaultDurationMs : Math.min(seconds, LONGEST_SECONDS) * 1_000
  return holderOf(seen.lease) === '' || unchangedMs(board, seen) >= durationMs
}
