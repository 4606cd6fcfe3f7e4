import { nearest } from '../../text/closest-match.ts'
import { redactMessage } from '../../text/redact.ts'
import type { Catalogue } from '../client/discovery.ts'
import { type Warning, WatchError } from './types.ts'

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
