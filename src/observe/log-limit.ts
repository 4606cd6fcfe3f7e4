const EVERY_MS = 60_000

/**
 * Returns a function that limits lines of the log to one in a minute for each subject, so that many requests do not fill it. It returns how
 * many there were since the last line, if another one is due. Subjects are few, and not chosen by strangers.
 */
export function createLogLimit(nowMs = () => performance.now()): (subject: string) => number | undefined {
  const unlogged = new Map<string, number>()
  const loggedMs = new Map<string, number>()
  return (subject) => {
    const count = (unlogged.get(subject) ?? 0) + 1
    unlogged.set(subject, count)
    if (nowMs() - (loggedMs.get(subject) ?? Number.NEGATIVE_INFINITY) < EVERY_MS) return undefined
    loggedMs.set(subject, nowMs())
    unlogged.set(subject, 0)
    return count
  }
}
