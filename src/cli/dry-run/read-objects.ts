import { type Document, parseAllDocuments } from 'yaml'
import type { Problem } from '../../config/problem.ts'
import { positionAt, sourceFile } from '../../config/source-node.ts'
import { syntaxFaults } from '../../config/yaml/syntax.ts'
import type { ChangeType } from '../../model/event.ts'
import { isMap } from '../../text/plain-data.ts'
import { readKubeEvent } from '../../watch/decode/kube-event.ts'
import { type PlainMap, textIn } from './complete-object.ts'

type ReadObjects = { ok: true; values: readonly unknown[] } | { ok: false; problems: readonly Problem[] }

/** Returns the values of a YAML file, or of JSON: one value, one per line, or several in sequence. */
export function readObjects(file: string, text: string): ReadObjects {
  const first = text.trimStart()[0]
  const json = first === '{' || first === '[' ? jsonValues(text) : undefined
  return json ? { ok: true, values: json } : yamlValues(file, text)
}

function jsonValues(text: string): unknown[] | undefined {
  try {
    return [JSON.parse(text)]
  } catch {
    try {
      const parts = jsonParts(text)
      return parts.length > 1 ? parts.map((part) => JSON.parse(part)) : undefined
    } catch {
      return undefined
    }
  }
}

/** Splits after each outermost closing bracket; an incomplete last part is left out. */
function jsonParts(text: string): string[] {
  const parts: string[] = []
  let [depth, start] = [0, 0]
  for (const { 0: token, index } of text.matchAll(/"(?:[^"\\]|\\.)*"?|[{}[\]]/gs)) {
    if (token === '{' || token === '[') depth++
    else if (token === '}' || token === ']') depth--
    if (depth > 0 || token.startsWith('"')) continue
    parts.push(text.slice(start, index + 1))
    start = index + 1
  }
  return parts
}

function yamlValues(file: string, text: string): ReadObjects {
  const source = sourceFile(file, text)
  const problem = (start: number, end: number, message: string, hint?: string): Problem => ({
    code: 'invalid-test',
    file,
    ...positionAt(source, start),
    length: Math.max(
      1,
      Math.min(end, text.indexOf('\n', start) === -1 ? end : text.indexOf('\n', start)) - start,
    ),
    message,
    ...(hint !== undefined && { hint }),
    severity: 'error',
  })
  const whole = (message: string): ReadObjects => ({ ok: false, problems: [problem(0, 1, message)] })
  try {
    const parsed = parseAllDocuments(text, { prettyErrors: false, logLevel: 'error' })
    const documents = ('empty' in parsed ? [] : parsed) as Document.Parsed[]
    const faults = documents.flatMap((it) => syntaxFaults(it, text))
    if (faults.some(({ code }) => code === 'too-large')) return whole('it nests too deep')
    if (faults.length > 0)
      return {
        ok: false,
        problems: faults.map(({ start, end, message, hint }) => problem(start, end, message, hint)),
      }
    const values = documents.map((it): unknown => it.toJS({ maxAliasCount: 100 })).filter((it) => it != null)
    return values.length > 0 ? { ok: true, values } : whole('there is no object in it')
  } catch (error) {
    if (error instanceof RangeError) return whole('it nests too deep')
    if (error instanceof ReferenceError) return whole('its aliases stand for too many values')
    throw error
  }
}

/** A change as far as the input defines it. */
export interface ReadChange {
  object: unknown
  old?: unknown
  type?: ChangeType
  synthesized?: boolean
  /** The time of its observation. */
  atMs?: number
}

/** Returns the changes in an object, a List, a frame of a watch, a CloudEvent or a dead letter of kubeherald; else undefined. */
export function changesIn(value: unknown): ReadChange[] | undefined {
  if (Array.isArray(value)) return all(value)
  if (!isMap(value)) return undefined
  const { items, object, data, event } = value
  if (Array.isArray(items) && /List$/.test(textIn(value, 'kind') ?? 'List'))
    return all(items.map((it) => ofList(value, it)))
  if (typeof value['kind'] === 'string' && value['specversion'] === undefined && !isMap(event))
    return [{ object: value }]
  if (value['specversion'] !== undefined) return ofCloudEvent(value, data)
  if (isMap(object) && isMap(event)) return [{ object, ...fromHeader(event) }]
  if (isMap(object)) return [{ object, ...typeOf(value['type']) }]
  return undefined
}

function all(values: readonly unknown[]): ReadChange[] | undefined {
  const changes = values.map(changesIn)
  return changes.every((it) => it !== undefined) ? changes.flat() : undefined
}

/** The items of a typed list have no kind. */
function ofList(list: PlainMap, item: unknown): unknown {
  const kind = textIn(list, 'kind')
  if (!isMap(item) || typeof item['kind'] === 'string' || kind === undefined || kind === 'List') return item
  return { kind: kind.replace(/List$/, ''), apiVersion: list['apiVersion'], ...item }
}

function ofCloudEvent(envelope: PlainMap, data: unknown): ReadChange[] | undefined {
  const word = /^dev\.kubeherald\.resource\.(added|modified|deleted)$/.exec(
    textIn(envelope, 'type') ?? '',
  )?.[1]
  if (!isMap(data) || !isMap(data['object'])) return undefined
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

/** The time of an Event's last occurrence, if the object has one. */
export function lastSeenMs(object: unknown): number | undefined {
  if (textIn(object, 'kind') !== 'Event') return undefined
  const { lastSeen } = readKubeEvent(object as Record<string, unknown>)
  const atMs = Date.parse(lastSeen ?? '')
  return Number.isNaN(atMs) ? undefined : atMs
}
