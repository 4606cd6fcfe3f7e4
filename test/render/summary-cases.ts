import type { EventHeader, FieldChange } from '../../src/model/event.ts'
import type { SummaryInput } from '../../src/render/summary/index.ts'
import type { Summary } from '../../src/sink/index.ts'
import { readKubeEvent } from '../../src/watch/decode/kube-event.ts'

/** A file of cases about one kind. */
export interface SummaryFile {
  /** When it is observed, unless a case says so. */
  now: string
  /** The object that cases patch. */
  object: Json
  cases: WordsCase[]
}

export interface WordsCase {
  case: string
  type?: EventHeader['type']
  now?: string
  synthesized?: true
  /** A JSON merge patch (RFC 7396) of the file's object; `whole` stands for the object itself. */
  object?: Json
  whole?: Json
  changes?: FieldChange[]
}

type Json = Record<string, unknown>

export function summaryOf(file: SummaryFile, it: WordsCase): SummaryInput {
  const object = it.whole ?? (merged(file.object, it.object ?? {}) as Json)
  const { apiVersion, kind, metadata } = object as { apiVersion: string; kind: string; metadata: Json }
  const { name = '', namespace, uid = 'u-1' } = metadata as { name: string; namespace?: string; uid?: string }
  const event: EventHeader = {
    id: 'c/u/1/MODIFIED',
    type: it.type ?? 'MODIFIED',
    cluster: 'test',
    apiVersion,
    kind,
    path: '/',
    name,
    uid,
    resourceVersion: '1',
    time: it.now ?? file.now,
    ...(namespace && { namespace }),
    ...(it.synthesized && { synthesized: true }),
    ...(it.changes && { changes: it.changes }),
    ...(kind === 'Event' && { event: readKubeEvent(object) }),
  }
  return { event, object }
}

function merged(base: unknown, patch: unknown): unknown {
  if (!isMap(patch)) return patch
  const result: Json = { ...(isMap(base) && base) }
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) delete result[key]
    else result[key] = merged(result[key], value)
  }
  return result
}

function isMap(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** As somebody would read it. */
export function summaryAsText(name: string, summary: Summary): string {
  const { severity, title, text, fields, quote, command } = summary
  const lines = [
    `── ${name}`,
    `${severity.toUpperCase().padEnd(9)}${title}`,
    text && `         ${text}`,
    fields.length > 0 && `         ${fields.map((it) => `${it.title}: ${it.value}`).join(' | ')}`,
    quote && `         “${quote.replaceAll('\n', '\n         ')}”`,
    command && `         $ ${command}`,
  ]
  return `${lines.filter(Boolean).join('\n')}\n`
}
