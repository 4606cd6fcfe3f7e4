/**
 * The mark of the last report of a cause within the hour, `fails:2` or `over:2`: the number counts the failures that were reported
 * with less than an hour between two reports.
 */
interface LastReport {
  isOver: boolean
  failures: number
}

/** A failure is over when no process has seen it for this time, or for longer if it has come again. */
const OVER_MS = 60_000
/** A mark lives as long. */
export const ONCE_MS = 3_600_000

/** Returns the mark of one more failure; undefined if the last report is a failure, too: it is reported once an hour. */
export function markOfFailure(last: string | null): string | undefined {
  const report = parse(last)
  if (!report) return 'fails:1'
  return report.isOver ? `fails:${report.failures + 1}` : undefined
}

/** Returns the mark of the report that a failure is over. */
export function markOfRecovery(last: string | null): string {
  return `over:${parse(last)?.failures ?? 1}`
}

/**
 * Returns for how long no process may see a reported failure before it is reported as over: twice as long with each failure of the
 * hour, up to an hour, so that a cause that fails and recovers repeatedly has few reports.
 */
export function quietMs(last: string | null): number {
  const { failures } = parse(last) ?? { failures: 1 }
  return Math.min(OVER_MS * 2 ** (failures - 1), ONCE_MS)
}

/** Returns whether the last heartbeat, whose mark is its time in milliseconds, is as old as the interval. */
export function isHeartbeatDue(last: string | null, everyMs: number, nowMs: number): boolean {
  return last === null || nowMs - Number(last) >= everyMs
}

function parse(mark: string | null): LastReport | undefined {
  if (mark === null) return undefined
  const [, what, failures] = /^(fails|over):(\d+)$/.exec(mark) ?? []
  return { isOver: what === 'over', failures: Number(failures ?? 1) }
}
