import { nearest } from '../../text/closest-match.ts'
import { redactMessage } from '../../text/redact.ts'
import { ApiFault, UNAUTHORIZED_ADVICE } from '../client/api-fault.ts'
import { ClusterError, NoCredentials } from '../client/cluster-client.ts'
import type { Catalogue } from '../client/discovery.ts'
import type { PlannedSource } from '../plan/plan.ts'
import type { Step } from '../reflector/retry-policy.ts'
import { type Warning, WatchError } from './types.ts'

/** A watch that worked is given up after this long: permissions and credentials may be replaced meanwhile. */
export const GIVEN_UP_MS = 60_000

/** What the program learns of a fault. */
type Verdict = { final: WatchError } | { warning: Warning } | undefined

interface FaultOfWatch {
  error: unknown
  /** Undefined for the search for kinds. */
  source: PlannedSource | undefined
  step: Step | undefined
  hasWorked: boolean
  nowMs: number
}

/** Decides which faults end the iteration, and of which the program is warned. */
export class Faults {
  /** Title → since when a person has to correct something; '' for the search for kinds. */
  readonly #since = new Map<string, number>()
  /** Title → the cause of the last warning. */
  readonly #warned = new Map<string, string>()

  /** The watch works (again). */
  works(title: string): void {
    this.#since.delete(title)
    this.#since.delete('')
    this.#warned.delete(title)
  }

  /**
   * Decides on a fault. One that only a person can correct is final for a watch that never worked, for others after GIVEN_UP_MS. A fault
   * that is not final is warned of once for each cause, until the watch works again.
   */
  judge({ error, source, step, hasWorked, nowMs }: FaultOfWatch): Verdict {
    const final = finalFault(error, source, step)
    const title = source?.title ?? ''
    if (final) {
      const since = this.#since.get(title) ?? nowMs
      this.#since.set(title, since)
      if (!hasWorked || nowMs - since >= GIVEN_UP_MS) return { final }
    } else this.#since.delete(title)
    if (!source || !step || this.#warned.get(title) === step.cause) return undefined
    this.#warned.set(title, step.cause)
    const message = step.phase === 'failing' ? 'the watch cannot go on as it is' : 'the watch was interrupted'
    const retryInMs = Math.round(step.delayMs)
    return { warning: { message, watch: title, error: reasonOf(error), retryInMs } }
  }
}

function finalFault(
  error: unknown,
  source: PlannedSource | undefined,
  step: Step | undefined,
): WatchError | undefined {
  const code =
    error instanceof ApiFault ? error.status.code : error instanceof ClusterError ? error.status : 0
  const reason = reasonOf(error)
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

function reasonOf(error: unknown): string {
  return redactMessage(error instanceof Error ? error.message : String(error))
}

export function unknownKind(kind: string, { resources }: Catalogue): WatchError {
  const names = resources.flatMap((it) => [it.kind, it.plural, `${it.plural}.${it.group}`])
  const near = nearest(kind, names)
  const hint = near === undefined ? '"kubectl api-resources" lists what it has' : `did you mean "${near}"?`
  return new WatchError('unknown-kind', `the cluster has no kind "${kind}": ${hint}`)
}

export function checkpointError(what: 'loaded' | 'saved', error: unknown): WatchError {
  const reason = error instanceof Error ? error.message : String(error)
  const message = `the checkpoint cannot be ${what}: ${redactMessage(reason)}`
  return new WatchError('checkpoint', message, undefined, error)
}

/** Returns what a log line of a watch has for the program. */
export function warningOf(fields: object, message: string): Warning {
  const { watch, kind, error } = fields as Record<string, unknown>
  const title = watch ?? kind
  const reason = error instanceof Error ? error.message : error
  return {
    message,
    ...(typeof title === 'string' && { watch: title }),
    ...(typeof reason === 'string' && { error: redactMessage(reason) }),
  }
}

/** What becomes a warning of the process is on stderr, unless the program handles it. */
export function warnProcess({ watch, message, error }: Warning): void {
  process.emitWarning([watch, message, error].filter(Boolean).join(': '), 'KubeheraldWatchWarning')
}
