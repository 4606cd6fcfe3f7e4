import type { Metrics } from '../metrics.ts'
import type { ConfigStatus } from '../status.ts'

/** Keeps what became of the configuration's reloads, for status, readiness and metrics. */
export interface ReloadState {
  status(): ConfigStatus
  /** A file is in use; `restart` are its keys that are not yet. */
  applied(digest: string | undefined, restart: readonly string[]): void
  /** A file is not good: why, without secrets, and where as `file:line`. What was in use stays. */
  rejected(problem: string, place?: string): void
}

/** Begins with the configuration of the start. */
export function createReloadState(
  { metrics, clock }: { metrics: Metrics; clock: { now(): number } },
  digest: string | undefined,
): ReloadState {
  let status = statusOf(digest, [], clock.now())
  const succeeded = () => {
    metrics.configSuccessful.set(1)
    metrics.configSuccessTime.set(status.appliedMs / 1_000)
  }
  succeeded()
  for (const result of ['success', 'failure']) metrics.configReloads.inc({ result }, 0)
  return {
    status: () => status,
    applied(newDigest, restart) {
      status = statusOf(newDigest, restart, clock.now())
      metrics.configReloads.inc({ result: 'success' })
      succeeded()
    },
    rejected(problem, place) {
      const sinceMs = status.rejected?.sinceMs ?? clock.now()
      status = { ...status, rejected: { problem, sinceMs, ...(place !== undefined && { place }) } }
      metrics.configReloads.inc({ result: 'failure' })
      metrics.configSuccessful.set(0)
    },
  }
}

function statusOf(digest: string | undefined, restart: readonly string[], appliedMs: number): ConfigStatus {
  return { appliedMs, ...(digest !== undefined && { digest }), ...(restart.length > 0 && { restart }) }
}
