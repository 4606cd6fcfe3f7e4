import type { ChangeType } from '../event.ts'
import { isPlainMap, type PlainMap, textIn } from './plain.ts'

/** A change that was read from somewhere, as far as what was read says. */
export interface ReadChange {
  object: unknown
  old?: unknown
  type?: ChangeType
  synthesized?: boolean
  /** When it was observed. */
  atMs?: number
}

/**
 * The changes in a value: an object, a List of them, a frame of a watch, a CloudEvent or a dead letter of kubeherald.
 * Undefined when it is none of those.
 */
export function changesIn(value: unknown): ReadChange[] | undefined {
  if (Array.isArray(value)) return all(value)
  if (!isPlainMap(value)) return undefined
  const { items, object, data, event } = value
  if (Array.isArray(items) && /List$/.test(textIn(value, 'kind') ?? 'List'))
    return all(items.map((it) => ofList(value, it)))
  if (typeof value['kind'] === 'string' && value['specversion'] === undefined && !isPlainMap(event))
    return [{ object: value }]
  if (value['specversion'] !== undefined) return ofCloudEvent(value, data)
  if (isPlainMap(object) && isPlainMap(event)) return [{ object, ...fromHeader(event) }]
  if (isPlainMap(object)) return [{ object, ...typeOf(value['type']) }]
  return undefined
}

function all(values: readonly unknown[]): ReadChange[] | undefined {
  const changes = values.map(changesIn)
  return changes.every((it) => it !== undefined) ? changes.flat() : undefined
}

/** In typed lists the items have no kind of their own. */
function ofList(list: PlainMap, item: unknown): unknown {
  const kind = textIn(list, 'kind')
  if (!isPlainMap(item) || typeof item['kind'] === 'string' || kind === undefined || kind === 'List')
    return item
  return { kind: kind.replace(/List$/, ''), apiVersion: list['apiVersion'], ...item }
}

function ofCloudEvent(envelope: PlainMap, data: unknown): ReadChange[] | undefined {
  const word = /^dev\.kubeherald\.resource\.(added|modified|deleted)$/.exec(
    textIn(envelope, 'type') ?? '',
  )?.[1]
  if (!isPlainMap(data) || !isPlainMap(data['object'])) return undefined
  const type = typeOf(word?.toUpperCase() ?? data['type'])
  return [{ object: data['object'], ...fromHeader(envelope), ...type }]
}

function fromHeader(header: PlainMap): Omit<ReadChange, 'object'> {
  const atMs = Date.parse(textIn(header, 'time') ?? '')
  return {
    ...typeOf(header['type']),
    ...(!Number.isNaN(atMs) && { atMs }),
    ...(header['synthesized'] === true && { synthesized: true }),
  }
}

function typeOf(type: unknown): { type?: ChangeType } {
  return type === 'ADDED' || type === 'MODIFIED' || type === 'DELETED' ? { type } : {}
}
