import { redactMessage } from '../../text/redact.ts'
import { ApiFault, UNAUTHORIZED_ADVICE } from '../client/api-fault.ts'
import { ClusterError, NoCredentials } from '../client/cluster-client.ts'
import type { PlannedSource } from '../plan/plan.ts'
import type { Step } from '../reflector/retry-policy.ts'
import { WatchError } from './types.ts'

/** A watch that worked is given up after this long: permissions and credentials may be replaced meanwhile. */
export const GIVEN_UP_MS = 60_000

/** Decides which faults end the iteration: those that only a person can correct. */
export class FinalFaults {
  /** Title → since when it has been failing; '' for the search for kinds. */
  readonly #since = new Map<string, number>()

  /** The watch works (again). */
  works(title: string): void {
    this.#since.delete(title)
    this.#since.delete('')
  }

  /**
   * Returns the error that ends the iteration; undefined if the fault is retried. A watch that never worked ends immediately, others after
   * GIVEN_UP_MS.
   */
  judge(
    error: unknown,
    source: PlannedSource | undefined,
    step: Step | undefined,
    { hasWorked, nowMs }: { hasWorked: boolean; nowMs: number },
  ): WatchError | undefined {
    const final = finalFault(error, source, step)
    const title = source?.title ?? ''
    if (!final) {
      this.#since.delete(title)
      return undefined
    }
    const since = this.#since.get(title) ?? nowMs
    this.#since.set(title, since)
    return !hasWorked || nowMs - since >= GIVEN_UP_MS ? final : undefined
  }
}

function finalFault(
  error: unknown,
  source: PlannedSource | undefined,
  step: Step | undefined,
): WatchError | undefined {
  const code =
    error instanceof ApiFault ? error.status.code : error instanceof ClusterError ? error.status : 0
  const reason = redactMessage(error instanceof Error ? error.message : String(error))
  const watch = source?.title
  const name = watch ?? 'the cluster'
  if (error instanceof NoCredentials)
    return isFirst(step)
      ? undefined
      : new WatchError('unauthorized', `${name}: no credentials: ${reason}`, watch, error)
  switch (code) {
    case 401:
      // The first time the credentials are read again and tried immediately.
      if (step?.delayMs === 0) return undefined
      return new WatchError('unauthorized', `${name}: ${reason}; ${UNAUTHORIZED_ADVICE}`, watch, error)
    case 403:
      return new WatchError('forbidden', `${name}: ${reason}; ${adviceOn(source)}`, watch, error)
    case 400:
    case 405:
    case 422:
      return new WatchError(
        'rejected',
        `${name}: the API server rejects the request: ${reason}`,
        watch,
        error,
      )
    default:
      return undefined
  }
}

function isFirst(step: Step | undefined): boolean {
  return step !== undefined && step.history.failures < 2
}

function adviceOn(source: PlannedSource | undefined): string {
  if (!source) return 'the user needs the ClusterRole system:discovery'
  const { resource, namespace } = source
  const role = namespace === '' ? 'a ClusterRole' : `a Role in namespace ${namespace}`
  const group = resource.group === '' ? '""' : resource.group
  return `grant the verbs list and watch on ${resource.plural} of API group ${group} by ${role}`
}
