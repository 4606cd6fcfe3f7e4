/** A time of day in milliseconds since 1970, finer than `Date.now` but in step with it, and how it went on from there. */
export interface Stopwatch {
  readonly startedMs: number
  nowMs(): number
}

/** Starts at the wall clock's time; what it measures from there on does not jump. */
export function startStopwatch(): Stopwatch {
  const startedMs = Date.now()
  const started = performance.now()
  return { startedMs, nowMs: () => startedMs + (performance.now() - started) }
}
