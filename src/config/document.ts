import { type Interpolation, interpolate } from './interpolate.ts'
import type { Located, Span } from './located.ts'
import type { Problem } from './problem.ts'
import { columnAt, lineAt, type SourceFile, sourceFile } from './source-file.ts'
import { NO_VARS, type Scope } from './vars.ts'
import { parseYaml, tooMuch } from './yaml/parse.ts'
import { syntaxFaults } from './yaml/syntax.ts'
import { buildTree, type TreeFault } from './yaml/tree.ts'

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

/** The YAML of a configuration, in one file or several, that knows where each of its values stands. */
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
  /** `line 3`, or `line 3 of teams/pay.yaml` when it is another file than that of `seenFrom`. */
  lineWords(path: Path, seenFrom: Path): string
  /** The first characters behind a key, for hints. */
  textAfterKey(path: Path): string
}

/** One file, with what the files that it includes have to know of it. */
export interface FileDocument extends ConfigDocument {
  file: SourceFile
  /** Values that could not be read. */
  broken: readonly Span[]
  /** Undefined when it is no YAML, or holds nothing. */
  root: Located | undefined
  /** Its variables, and those of the files around it. */
  scope: Scope
  /** Its own variables, and those that it was given, that nothing used so far. */
  unusedVars(): readonly string[]
}

/** Parses YAML, and fills `${env:NAME}`, `${file:PATH}` and `${var:NAME}` into its values (never into keys). */
export function readDocument(
  name: string,
  text: string,
  interpolation: Interpolation,
  outer: Scope = NO_VARS,
  given?: ReadonlyMap<string, Located>,
): FileDocument {
  const file = sourceFile(name, text)
  const parsed = tooMuch(text) ?? parseYaml(text)
  if (!('contents' in parsed)) {
    const { message, hint, start } = parsed
    const problems = [problemAt({ file, start, end: start + 1 }, message, { hint })]
    const nothing = { readable: false, problems, broken: [] }
    return {
      ...documentOf(undefined, file, nothing),
      file,
      broken: [],
      root: undefined,
      scope: outer,
      unusedVars: () => [],
    }
  }
  const readable = parsed.errors.length === 0
  const { root, faults, broken, scope, unused } = buildTree(parsed, file, {
    fill: (value, varTextOf) => interpolate(value, interpolation, varTextOf),
    outer,
    given,
  })
  const found: TreeFault[] = [
    ...syntaxFaults(parsed, text).map((fault) => ({ file, ...fault })),
    ...(readable ? faults : []),
  ]
  const problems = found.map((fault) => problemAt(fault, fault.message, fault))
  return {
    ...documentOf(root, file, { readable, problems, broken }),
    file,
    broken,
    root,
    scope,
    unusedVars: unused,
  }
}

/** What stands in a tree, whichever files its values came from; `file` is that of its root. */
export function documentOf(
  root: Located | undefined,
  file: SourceFile,
  { readable, problems, broken }: { readable: boolean; problems: Problem[]; broken: readonly Span[] },
): ConfigDocument {
  const brokenAt = new Set(broken.map((span) => placeKey(problemAt(span, ''))))
  const spanOf = (path: Path, placing: Placing) => placeOf(root, path, placing, file)
  return {
    readable,
    value: root?.value,
    problems,
    problem: (path, message, placing = {}) => problemAt(spanOf(path, placing), message, placing),
    isEcho: (problem) => brokenAt.has(placeKey(problem)),
    at: (path) => walk(root, path)?.value,
    lineOf: (path) => {
      const span = spanOf(path, { atKey: true })
      return lineAt(span.file, span.start)
    },
    lineWords: (path, seenFrom) => {
      const span = spanOf(path, { atKey: true })
      const line = `line ${lineAt(span.file, span.start)}`
      return span.file === spanOf(seenFrom, {}).file ? line : `${line} of ${span.file.name}`
    },
    textAfterKey: (path) => {
      const { file: at, end } = spanOf(path, { atKey: true })
      return at.text.slice(end, end + 40).replace(/^["']?:[ \t]*/, '')
    },
  }
}

/** A problem of a piece of a file. */
export function problemAt(
  { file, start, end }: Span,
  message: string,
  { hint, severity = 'error', absent }: Placing = {},
): Problem {
  const lineEnd = file.text.indexOf('\n', start)
  const length = Math.min(end, lineEnd === -1 ? file.text.length : lineEnd) - start
  const place = { file: file.name, line: lineAt(file, start), column: columnAt(file, start) }
  return {
    ...place,
    length: Math.max(length, 1),
    message,
    ...(hint !== undefined && { hint }),
    severity,
    ...(absent && { absent }),
  }
}

function placeKey({ file, line, column }: Problem): string {
  return `${file}:${line}:${column}`
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
function placeOf(
  root: Located | undefined,
  path: Path,
  { atKey = false, offset, length }: Placing,
  file: SourceFile,
): Span {
  const found = walk(root, path)
  if (!found)
    return path.length === 0
      ? { file, start: 0, end: 1 }
      : placeOf(root, path.slice(0, -1), { atKey: true }, file)
  const { key, value } = found
  if (key && (atKey || value.value === null)) return key
  const start = offset === undefined ? undefined : value.placeOf?.(offset)
  if (offset === undefined || start === undefined) return value
  const last = value.placeOf?.(offset + Math.max(length ?? 1, 1) - 1) ?? start
  return { file: value.file, start, end: last + 1 }
}
