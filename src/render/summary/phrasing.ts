import { printable } from '../../sink/index.ts'
import type { Told } from './told.ts'

/** What a command is about. */
export interface Target {
  readonly apiVersion: string
  readonly kind: string
  readonly namespace?: string | undefined
  readonly name: string
}

/** Longer than any name that Kubernetes allows. */
const MAX_NAME = 253

/** `kubectl -n shop describe pod web-1`; '' when there is no name, or one that cannot be. */
export function kubectl(target: Target, verb: string, ...rest: readonly string[]): string {
  const { namespace = '', name, kind } = target
  if (name === '' || [namespace, name, kind].some((it) => it.length > MAX_NAME || it.startsWith('-')))
    return ''
  const scope = namespace === '' ? [] : ['-n', quoted(namespace)]
  return ['kubectl', ...scope, verb, ...rest].join(' ')
}

export function describe(target: Target): string {
  return kubectl(target, 'describe', quoted(resourceOf(target)), quoted(target.name))
}

/** The logs of the container's last run that ended. */
export function previousLogs(target: Target, container: string): string {
  const which = container === '' ? [] : ['-c', quoted(container)]
  return kubectl(target, 'logs', quoted(target.name), ...which, '--previous')
}

export function rolloutStatus(target: Target): string {
  const { kind, name } = target
  return kubectl(target, 'rollout', 'status', quoted(`${kind.toLowerCase()}/${name}`))
}

/** What is still told about something that is gone. */
export function eventsAbout(target: Target): string {
  const selector = quoted(`involvedObject.kind=${target.kind},involvedObject.name=${target.name}`)
  const everywhere = target.namespace ? [] : ['-A']
  return kubectl(target, 'get', 'events', ...everywhere, '--field-selector', selector)
}

export function targetOf({ event }: Told): Target {
  const { apiVersion, kind, namespace, name } = event
  return { apiVersion, kind, namespace, name }
}

/** Kubernetes' own groups: their kinds need no group behind them. */
const BUILT_IN = new Set([
  ...['', 'apps', 'autoscaling', 'batch', 'policy', 'apiextensions.k8s.io', 'apiregistration.k8s.io'],
  ...['networking.k8s.io', 'storage.k8s.io', 'rbac.authorization.k8s.io', 'discovery.k8s.io'],
  ...['scheduling.k8s.io', 'coordination.k8s.io', 'certificates.k8s.io', 'admissionregistration.k8s.io'],
])

/** Is it one of Kubernetes' own kinds? */
export function isBuiltIn(apiVersion: string): boolean {
  return BUILT_IN.has(groupOf(apiVersion))
}

/** The group of an apiVersion; '' for the core group. */
export function groupOf(apiVersion: string): string {
  return apiVersion.includes('/') ? apiVersion.slice(0, apiVersion.indexOf('/')) : ''
}

export function resourceOf({ apiVersion, kind }: Target): string {
  return isBuiltIn(apiVersion) ? kind.toLowerCase() : `${kind.toLowerCase()}.${groupOf(apiVersion)}`
}

/** One word for a POSIX shell; control characters are spaces. */
export function quoted(word: string): string {
  if (/^[A-Za-z0-9._/=,-]+$/.test(word)) return word
  const line = printable(word.toWellFormed()).replace(/[\u2028\u2029]/g, ' ')
  return `'${line.replaceAll("'", "'\\''")}'`
}
