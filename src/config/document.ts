import type { Problem } from './problem.ts'
import type { ProblemCode } from './problem-codes.ts'
import { type Located, positionAt, type SourceFile, type Span, sourceFile } from './source-node.ts'
import { type Interpolation, interpolate } from './values/interpolate.ts'
import { NO_VARS, type Scope } from './values/vars.ts'
import { parseYaml, tooMuch } from './yaml/parse.ts'
import { syntaxFaults } from './yaml/syntax.ts'
import { buildTree, type TreeFault } from './yaml/tree.ts'

export type Path = readonly PropertyKey[]

/** Narrows the place of a problem within the value of a path, and adds what a problem may have. */
export interface Placing {
  /** True when the key is wrong, and not its value. */
  atKey?: boolean
  /** In the text of the value, counted from 0. */
  offset?: number
  length?: number
  hint?: string | undefined
  severity?: Problem['severity']
  absent?: true
  about?: string
}

/** Where something is in a file. Lines and columns count from 1. */
export type Place = Pick<Problem, 'file' | 'line' | 'column' | 'length'>

/** The parsed YAML of a configuration, in one file or several, with the source position of each value. */
export interface ConfigDocument {
  /** False when the text is not valid YAML: then no other check runs. */
  readable: boolean
  value: unknown
  /** YAML errors, and references that cannot be resolved. */
  problems: Problem[]
  problem(code: ProblemCode, path: Path, message: string, placing?: Placing): Problem
  place(path: Path, placing?: Placing): Place
  /** True for a problem at a value that could not be read, because that has its own problem already. */
  isEcho(problem: Problem): boolean
  /** The value of a path with its place; undefined if it does not exist. */
  at(path: Path): Located | undefined
  lineOf(path: Path): number
  /** Returns `line 3`, or `line 3 of teams/pay.yaml` when the file is not that of `seenFrom`. */
  lineName(path: Path, seenFrom: Path): string
  /** The first characters behind a key, for hints. */
  textAfterKey(path: Path): string
}

/** One file, with what its included files need to know about it. */
export interface FileDocument extends ConfigDocument {
  file: SourceFile
  /** Values that could not be read. */
  broken: readonly Span[]
  /** Undefined when the file is empty or not valid YAML. */
  root: Located | undefined
  /** Its variables, and those of the files around it. */
  scope: Scope
  /** Variables that it defines or was given, and that nothing has used so far. */
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
    const problems = [problemAt('too-large', { file, start, end: start + 1 }, message, { hint })]
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
  const problems = found.map((fault) => problemAt(fault.code, fault, fault.message, fault))
  return {
    ...documentOf(root, file, { readable, problems, broken }),
    file,
    broken,
    root,
    scope,
    unusedVars: unused,
  }
}

/** Returns a document for a tree, whose values may come from several files; `file` is that of its root. */
export function documentOf(
  root: Located | undefined,
  file: SourceFile,
  { readable, problems, broken }: { readable: boolean; problems: Problem[]; broken: readonly Span[] },
): ConfigDocument {
  const brokenAt = new Set(broken.map((span) => placeKey(placeAt(span))))
  const spanOf = (path: Path, placing: Placing) => placeOf(root, path, placing, file)
  return {
    readable,
    value: root?.value,
    problems,
    place: (path, placing = {}) => placeAt(spanOf(path, placing)),
    problem: (code, path, message, placing = {}) => problemAt(code, spanOf(path, placing), message, placing),
    isEcho: (problem) => brokenAt.has(placeKey(problem)),
    at: (path) => walk(root, path)?.value,
    lineOf: (path) => {
      const span = spanOf(path, { atKey: true })
      return positionAt(span.file, span.start).line
    },
    lineName: (path, seenFrom) => {
      const span = spanOf(path, { atKey: true })
      const line = `line ${positionAt(span.file, span.start).line}`
      return span.file === spanOf(seenFrom, {}).file ? line : `${line} of ${span.file.name}`
    },
    textAfterKey: (path) => {
      const { file: at, end } = spanOf(path, { atKey: true })
      return at.text.slice(end, end + 40).replace(/^["']?:[ \t]*/, '')
    },
  }
}

/** Returns a problem at a span of a file. */
export function problemAt(
  code: ProblemCode,
  span: Span,
  message: string,
  { hint, severity = 'error', absent, about }: Placing = {},
): Problem {
  return {
    code,
    ...placeAt(span),
    message,
    ...(hint !== undefined && { hint }),
    severity,
    ...(absent && { absent }),
    ...(about !== undefined && { about }),
  }
}

function placeAt({ file, start, end }: Span): Place {
  const lineEnd = file.text.indexOf('\n', start)
  const length = Math.min(end, lineEnd === -1 ? file.text.length : lineEnd) - start
  return { file: file.name, ...positionAt(file, start), length: Math.max(length, 1) }
}

function placeKey({ file, line, column }: Place): string {
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

/** Returns the span of a path, or of its nearest existing parent. */
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
