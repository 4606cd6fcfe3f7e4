import { parseAllDocuments } from 'yaml'
import { mapOf, type Raw } from './read.ts'

export type ReadText = { ok: true; raw: Raw } | { ok: false; fault: string; line?: number; column?: number }

/** So much a configuration may grow by its aliases. */
const MAX_ALIASES = 200

/** Reads another tool's file; a ConfigMap or Secret around it is taken off. */
export function readForeign(text: string): ReadText {
  const [document, ...more] = parseAllDocuments(text)
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
  if (inner !== undefined) return readForeign(inner)
  return Object.keys(raw).length === 0
    ? { ok: false, fault: 'it is no map of keys and values' }
    : { ok: true, raw }
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
