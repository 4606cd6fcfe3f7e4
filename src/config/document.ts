import { parseDocument } from 'yaml'
import { type Interpolation, interpolate } from './interpolate.ts'
import type { Problem } from './problem.ts'
import { syntaxFaults } from './yaml-syntax.ts'
import { buildTree, type Located, lineOf, type Span, type TreeFault } from './yaml-tree.ts'

export type Path = readonly PropertyKey[]

/** Where in the value of a path a problem lies, and how bad it is. */
export interface Placing {
  /** True when the key is wrong, and not its value. */
  atKey?: boolean
  /** Into the text of the value, counted from 0. */
  offset?: number
  length?: number
  hint?: string | undefined
  severity?: Problem['severity']
  absent?: true
}

/** A YAML file that knows where each of its values stands. */
export interface ConfigDocument {
  /** False when it is no YAML at all: then there is nothing more to check. */
  readable: boolean
  value: unknown
  /** What was wrong with it as YAML, and references that lead nowhere. */
  problems: Problem[]
  problem(path: Path, message: string, placing?: Placing): Problem
  /** Is this at a value that could not be read, so that it was told already? */
  isEcho(problem: Problem): boolean
  /** The value of a path with its place, or undefined when it is not there. */
  at(path: Path): Located | undefined
  lineOf(path: Path): number
  /** The first characters behind a key, for hints. */
  textAfterKey(path: Path): string
}

/** Parses YAML, and fills `${env:NAME}` and `${file:PATH}` into its values (never into keys). */
export function readDocument(file: string, text: string, interpolation: Interpolation): ConfigDocument {
  const parsed = parseDocument(text, {
    prettyErrors: false,
    uniqueKeys: false,
    stringKeys: false,
    logLevel: 'error',
  })
  const readable = parsed.errors.length === 0
  const { root, faults, broken } = buildTree(parsed, text, (value) => interpolate(value, interpolation))
  const found = [...syntaxFaults(parsed, text), ...(readable ? faults : [])]

  function problemAt(
    { start, end }: Span,
    message: string,
    { hint, severity = 'error', absent }: Placing = {},
  ): Problem {
    const column = start - text.lastIndexOf('\n', start - 1)
    const lineEnd = text.indexOf('\n', start)
    const length = Math.min(end, lineEnd === -1 ? text.length : lineEnd) - start
    const place = { file, line: lineOf(text, start), column, length: Math.max(length, 1) }
    return { ...place, message, ...(hint !== undefined && { hint }), severity, ...(absent && { absent }) }
  }

  const brokenAt = new Set(broken.map((span) => placeKey(problemAt(span, ''))))

  return {
    readable,
    value: root?.value,
    problems: found.map((fault: TreeFault) => problemAt(fault, fault.message, fault)),
    problem: (path, message, placing = {}) => problemAt(placeOf(root, path, placing), message, placing),
    isEcho: (problem) => brokenAt.has(placeKey(problem)),
    at: (path) => walk(root, path)?.value,
    lineOf: (path) => lineOf(text, placeOf(root, path, { atKey: true }).start),
    textAfterKey: (path) => {
      const { end } = placeOf(root, path, { atKey: true })
      return text.slice(end, end + 40).replace(/^["']?:[ \t]*/, '')
    },
  }
}

function placeKey({ line, column }: Problem): string {
  return `${line}:${column}`
}

interface Found {
  key: Span | undefined
  value: Located
}

function walk(root: Located | undefined, path: Path): Found | undefined {
  let found = root && { key: undefined as Span | undefined, value: root }
  for (const step of path) found = found && childOf(found.value, step)
  return found
}

function childOf({ entries, items }: Located, step: PropertyKey): Found | undefined {
  const entry = entries?.get(String(step))
  const item = items?.[Number(step)]
  if (entry) return { key: entry.key, value: entry.value }
  return item && { key: undefined, value: item }
}

/** The place of a path, or of the nearest thing around it that is there. */
function placeOf(root: Located | undefined, path: Path, { atKey = false, offset, length }: Placing): Span {
  const found = walk(root, path)
  if (!found)
    return path.length === 0 ? { start: 0, end: 1 } : placeOf(root, path.slice(0, -1), { atKey: true })
  const { key, value } = found
  if (key && (atKey || value.value === null)) return key
  const start = offset === undefined ? undefined : value.placeOf?.(offset)
  if (offset === undefined || start === undefined) return value
  const last = value.placeOf?.(offset + Math.max(length ?? 1, 1) - 1) ?? start
  return { start, end: last + 1 }
}
