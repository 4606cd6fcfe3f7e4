import type { WatchEntry } from '../schema.ts'
import { type Kind, type KindOptions, WatchError, type WatchOptions } from './types.ts'

const OPTIONS: readonly (keyof WatchOptions)[] = [
  ...(['kinds', 'kubeconfig', 'context', 'signal', 'checkpoint', 'initial', 'keepOld', 'onWarning'] as const),
]
const OPTIONS_OF_KIND: readonly (keyof KindOptions)[] = ['kind', 'namespaces', 'labels', 'fields']

/** Throws WatchError for options that are not those of WatchOptions. */
export function requireOptions(options: WatchOptions): void {
  if (typeof options !== 'object' || options === null) throw invalid('watch() needs options: { kinds: […] }')
  requireKnown(options, OPTIONS, 'watch()')
  const { kinds, kubeconfig, context, signal, checkpoint, initial, keepOld, onWarning } = options
  if (!Array.isArray(kinds)) throw invalid('kinds must be an array, such as ["Pod"]')
  for (const [name, value] of Object.entries({ kubeconfig, context }))
    if (value !== undefined && typeof value !== 'string') throw invalid(`${name} must be a text`)
  if (signal !== undefined && !(typeof signal?.aborted === 'boolean' && isFunction(signal.addEventListener)))
    throw invalid('signal must be an AbortSignal, such as the signal of an AbortController')
  if (initial !== undefined && initial !== 'emit' && initial !== 'skip')
    throw invalid('initial must be "emit" or "skip"')
  if (checkpoint !== undefined && !(isFunction(checkpoint?.load) && isFunction(checkpoint.save)))
    throw invalid('checkpoint must have load() and save(), such as fileCheckpoint("position.json")')
  if (keepOld !== undefined && typeof keepOld !== 'boolean') throw invalid('keepOld must be true or false')
  if (onWarning !== undefined && !isFunction(onWarning)) throw invalid('onWarning must be a function')
}

/** Returns the entry of a kind as the configuration has it, equal for options that select the same. Throws WatchError. */
export function entryOf(kind: Kind, initial: WatchOptions['initial']): WatchEntry {
  const options: KindOptions = typeof kind === 'string' ? { kind } : kind
  if (typeof options !== 'object' || options === null || typeof options.kind !== 'string')
    throw invalid('a kind must be a text such as "Pod", or { kind: "Pod" }')
  if (options.kind.trim() === '') throw invalid('a kind is empty')
  requireKnown(options, OPTIONS_OF_KIND, `kind "${options.kind}"`)
  const { namespaces, labels, fields } = options
  if (namespaces !== undefined) requireNames(options.kind, namespaces)
  for (const [name, value] of Object.entries({ labels, fields })) {
    if (value !== undefined && (typeof value !== 'string' || value.trim() === ''))
      throw invalid(`kind "${options.kind}": ${name} must be a selector, such as "app=web"`)
  }
  return {
    kind: options.kind,
    ...(labels !== undefined && { labels: labels.trim() }),
    ...(fields !== undefined && { fields: fields.trim() }),
    ...(namespaces && { namespaces: [...new Set(namespaces)].toSorted() }),
    initial: initial === 'skip' ? 'now' : 'emit',
  }
}

/** The form of a name of a namespace: a label of RFC 1123. */
const NAMESPACE = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/

function requireNames(kind: string, namespaces: readonly string[]): void {
  if (!Array.isArray(namespaces) || namespaces.length === 0)
    throw invalid(`kind "${kind}": namespaces must be an array of names; leave it out for all namespaces`)
  const wrong = namespaces.find((it) => typeof it !== 'string' || !NAMESPACE.test(it))
  if (wrong !== undefined)
    throw invalid(
      `kind "${kind}": namespace ${JSON.stringify(wrong)} is not a name; patterns are not possible here`,
    )
}

function requireKnown(options: object, known: readonly string[], where: string): void {
  const unknown = Object.keys(options).find((name) => !known.includes(name))
  if (unknown !== undefined)
    throw invalid(`${where} has no option "${unknown}"; there are ${known.join(', ')}`)
}

function isFunction(value: unknown): boolean {
  return typeof value === 'function'
}

function invalid(message: string): WatchError {
  return new WatchError('invalid-options', message)
}
