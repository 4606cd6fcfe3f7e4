import { type Document, isMap, isScalar, LineCounter, parseAllDocuments } from 'yaml'
import { mapOf, type Raw } from './read.ts'

export type ReadText =
  | { ok: true; raw: Raw; placeOf(key: string): Place | undefined }
  | { ok: false; fault: string; line?: number; column?: number }

/** Counted from 1. */
export interface Place {
  line: number
  column: number
}

/** So much a configuration may grow by its aliases. */
const MAX_ALIASES = 200

/** Reads another tool's file; a ConfigMap or Secret around it is taken off. */
export function readForeign(text: string): ReadText {
  const lineCounter = new LineCounter()
  const [document, ...more] = parseAllDocuments(text, { lineCounter })
  if (!document || 'empty' in document) return { ok: false, fault: 'the file is empty' }
  const [error] = (
    document as { errors: { message: string; linePos?: readonly { line: number; col: number }[] }[] }
  ).errors
  if (error) {
    const [at] = error.linePos ?? []
    const fault = error.message.split('\n')[0]?.replace(/ at line \d+.*$/, '') ?? 'is no YAML'
    if (/call stack/.test(fault)) return { ok: false, fault: 'it nests too deep: is a bracket missing?' }
    return { ok: false, fault, ...(at && { line: at.line, column: at.col }) }
  }
  if (more.length > 0)
    return { ok: false, fault: 'it holds several documents: give it the one with the configuration' }
  const raw = mapOf(plain(document))
  const inner = innerText(raw)
  if (inner !== undefined) {
    const read = readForeign(inner)
    // Its lines are counted from the beginning of the inner text.
    return read.ok
      ? { ...read, placeOf: () => undefined }
      : { ok: false, fault: `in data of the ConfigMap: ${read.fault}` }
  }
  return Object.keys(raw).length === 0
    ? { ok: false, fault: 'it is no map of keys and values' }
    : { ok: true, raw, placeOf: (key) => placeOf(document as Document, key, lineCounter) }
}

/** Where the value of a top-level key begins. */
function placeOf({ contents }: Document, key: string, lineCounter: LineCounter): Place | undefined {
  const pairs = isMap(contents) ? contents.items : []
  const pair = pairs.find((it) => isScalar(it.key) && it.key.value === key)
  const range = (pair?.value as { range?: readonly [number, ...number[]] | null } | undefined)?.range
  if (!range) return undefined
  const { line, col } = lineCounter.linePos(range[0])
  return { line, column: col }
}

function plain(document: { toJS(options: { maxAliasCount: number }): unknown }): unknown {
  try {
    return document.toJS({ maxAliasCount: MAX_ALIASES })
  } catch {
    return undefined
  }
}

/** The one text in a ConfigMap. */
function innerText(raw: Raw): string | undefined {
  if (raw['kind'] !== 'ConfigMap') return undefined
  const texts = Object.values(mapOf(raw['data'])).filter((it): it is string => typeof it === 'string')
  return texts.length === 1 ? texts[0] : undefined
}
