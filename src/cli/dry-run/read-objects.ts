import { type Document, parseAllDocuments } from 'yaml'
import type { Problem } from '../config/problem.ts'
import { columnAt, lineAt, sourceFile } from '../config/source-file.ts'
import { syntaxFaults } from '../config/yaml/syntax.ts'

export type ReadObjects =
  | { ok: true; values: readonly unknown[] }
  | { ok: false; problems: readonly Problem[] }

/** The documents of a YAML file, or JSON: one value, one on each line, or one behind the other. */
export function readObjects(file: string, text: string): ReadObjects {
  const first = text.trimStart()[0]
  const json = first === '{' || first === '[' ? jsonValues(text) : undefined
  return json ? { ok: true, values: json } : yamlValues(file, text)
}

/** Undefined when it is no JSON. */
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

/** Cuts behind each bracket that closes the outermost one; a last part that does not end is left out. */
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
    file,
    line: lineAt(source, start),
    column: columnAt(source, start),
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
    if (faults.some(({ message }) => /call stack/.test(message))) return whole('it nests too deep')
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
