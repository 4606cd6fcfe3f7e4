import type { SinkStatus, WatchStatus } from '../status.ts'

/** One line of a health endpoint. */
export interface Check {
  name: string
  ok: boolean
  detail?: string
}

export interface Vitals {
  nowMs: number
  watches: readonly WatchStatus[]
  sinks: readonly SinkStatus[]
  /** Why Redis takes no commits; undefined when it does. */
  redisTrouble: string | undefined
  redisFull: boolean
  stopping: boolean
}

/** Live: each watch makes progress, or waits for a known reason. That anybody answers shows that the event loop runs. */
export function liveness({ nowMs, watches, redisTrouble, redisFull }: Vitals): Check[] {
  const waits = redisTrouble !== undefined || redisFull
  return watches.map(({ title, aliveUntilMs }) => {
    const ok = waits || nowMs <= aliveUntilMs
    return { name: `watch ${title}`, ok, ...(!ok && { detail: 'has made no progress for too long' }) }
  })
}

/** Ready: Redis takes commits, and every watch has a position. Failing sinks are told, and are no reason to stop watching. */
export function readiness({ watches, sinks, redisTrouble, redisFull, stopping }: Vitals): Check[] {
  const redis = redisTrouble ?? (redisFull ? 'nearly full: watches pause' : undefined)
  return [
    { name: 'config', ok: true },
    { name: 'running', ok: !stopping, ...(stopping && { detail: 'stopping' }) },
    { name: 'redis', ok: redis === undefined, ...(redis !== undefined && { detail: redis }) },
    ...watches.map(({ title, ready, phase, lastError }) => {
      const detail =
        phase === 'waiting-for-kind' ? 'not installed yet' : ready ? undefined : (lastError ?? phase)
      return { name: `watch ${title}`, ok: ready, ...(detail !== undefined && { detail }) }
    }),
    ...sinks.map(({ sink, healthy, lastError }) => ({
      name: `sink ${sink}`,
      ok: true,
      ...(!healthy && { detail: `failing, its deliveries wait: ${lastError ?? ''}` }),
    })),
  ]
}

/** `[+]name ok` and `[-]name failed: why`, as the API server's health endpoints say it. */
export function describeChecks(checks: readonly Check[]): string {
  const lines = checks.map(
    ({ name, ok, detail }) => (ok ? `[+]${name} ok` : `[-]${name} failed`) + (detail ? `: ${detail}` : ''),
  )
  return `${lines.join('\n')}\n${checks.every(({ ok }) => ok) ? 'ok' : 'failed'}\n`
}
