import type { LiquidError, Template as Node } from 'liquidjs'
import type { Subject } from '../message.ts'
import { Budget, STEP, TooMuchWork } from './budget.ts'
import { checkSource } from './check.ts'
import { type Engine, MAX_SOURCE, type Output, theEngine } from './engine.ts'
import { TemplateFault, type TemplateProblem, tooLong } from './fault.ts'
import type { Setting } from './filters.ts'
import { textOf } from './formats.ts'
import { NAMES, type View, viewOf } from './view.ts'

/** A template's text, checked and ready to be rendered in any markup. */
export interface Program {
  readonly source: string
  /** Nothing in it is filled in or decided. */
  readonly constant: boolean
  /** It is one output whose value keeps its type. */
  readonly typed: boolean
  /** It is `{{ object | as_is }}`. */
  readonly isWholeObject: boolean
  /** Throws a TemplateFault. */
  run<S extends Output>(subject: Subject, sheet: (charge: (cost: number) => void) => S, setting: Setting): S
}

type Compiled = { ok: true; program: Program } | { ok: false; problems: readonly TemplateProblem[] }

/** Compiles a text; `typed` permits the filter `as_is`. */
export function compileProgram(source: string, { typed = false }: { typed?: boolean } = {}): Compiled {
  if (source.length > MAX_SOURCE) return { ok: false, problems: [tooLong(source, MAX_SOURCE)] }
  // Most texts have no template in them, and need no engine.
  if (!/\{[{%]/.test(source)) return { ok: true, program: constantProgram(source) }
  const engine = theEngine()
  const { problems, isTyped } = checkSource(engine, source, typed)
  if (problems.length > 0) return { ok: false, problems }
  try {
    const nodes = engine.liquid.parse(source)
    const plain = plainTemplateOf(source)
    return { ok: true, program: programOf(engine, source, { nodes, typed: isTyped, plain }) }
  } catch (error) {
    return { ok: false, problems: [problemOf(engine, source, error)] }
  }
}

function constantProgram(source: string): Program {
  return {
    source,
    constant: true,
    typed: false,
    isWholeObject: false,
    run(_subject, sheet) {
      const written = sheet(() => {})
      written.write(source)
      return written
    },
  }
}

interface Parsed {
  nodes: Node[]
  typed: boolean
  plain: PlainTemplate | undefined
}

function programOf(engine: Engine, source: string, { nodes, typed, plain }: Parsed): Program {
  return {
    source,
    constant: false,
    typed,
    isWholeObject: typed && plain?.pieces.length === 1 && String(plain.pieces[0]) === 'object',
    run<S extends Output>(
      subject: Subject,
      sheet: (charge: (cost: number) => void) => S,
      setting: Setting,
    ): S {
      const direct = plain && renderPlainly(plain, subject, sheet, setting)
      if (direct) return direct
      let written: S | undefined
      try {
        engine.render(nodes, viewOf(subject), (charge) => (written = sheet(charge)), setting)
      } catch (error) {
        const problem = problemOf(engine, source, error)
        const where = placeIn(source, problem.offset)
        throw new TemplateFault(`${problem.message}${where}`, { cause: error, problem })
      }
      return written as S
    },
  }
}

function placeIn(source: string, offset: number): string {
  const before = source.slice(0, offset).split('\n')
  const place = `character ${(before.at(-1) ?? '').length + 1}`
  return source.includes('\n')
    ? ` (line ${before.length}, ${place} of the template)`
    : ` (${place} of the template)`
}

/** Maps an error of the engine to a problem. */
function problemOf({ library }: Engine, source: string, error: unknown): TemplateProblem {
  if (!library.LiquidError.is(error))
    return { message: sentenceOf(error as Error), offset: 0, length: source.length }
  const { token, originalError } = error as LiquidError & { originalError?: Error; token?: Token }
  const message = sentenceOf(originalError ?? (error as unknown as Error))
  if (!token || token.input !== source) return { message, offset: 0, length: source.length }
  return { message, offset: token.begin, length: Math.max(1, token.end - token.begin) }
}

interface Token {
  input: string
  begin: number
  end: number
}

function sentenceOf(error: Error): string {
  const { message, name } = error
  if (error instanceof TooMuchWork || message.includes('limit exceeded'))
    return 'the template does more than a message may take'
  if (name === 'RangeError' && !/time zone/i.test(message))
    return 'the template, or what it shows, is nested too deeply or too long'
  return message.replace(/, line:\d+, col:\d+$/, '')
}

/** A literal text, or the path of a value. */
type Piece = string | readonly string[]

/** A template of literal texts and values without filters, conditions and loops: as most are. */
interface PlainTemplate {
  readonly pieces: readonly Piece[]
  /** It is one value that keeps its type. */
  readonly typed: boolean
}

const STEPS = /\.([A-Za-z_](?:[\w-]*\w)?)|\["([^"\\]*)"\]|\['([^'\\]*)'\]/g
const VALUE = new RegExp(String.raw`^\s*(\w+)((?:${STEPS.source})*)\s*(\|\s*as_is\s*)?$`)
/** Steps that the engine computes. */
const COMPUTED = ['size', 'first', 'last']

/** Returns the parts of a checked template; undefined if it needs the engine. */
export function plainTemplateOf(source: string): PlainTemplate | undefined {
  if (source.includes('{%')) return undefined
  const parts = partsOf(source)
  const values = parts.filter((_, i) => i % 2 === 1).map((it) => VALUE.exec(it))
  const typed = values.some((it) => it?.at(-1) !== undefined)
  if (typed && (parts.length !== 3 || parts[0] !== '' || parts[2] !== '')) return undefined
  const paths = values.map((it) => it && pathOf(it))
  if (!paths.every((it) => it !== undefined && it !== null)) return undefined
  const pieces = parts.map((it, i): Piece => (i % 2 === 0 ? it : (paths[i >> 1] as readonly string[])))
  return { pieces: pieces.filter((it) => it !== ''), typed }
}

/** Texts and values alternate, beginning with a text. */
function partsOf(source: string): string[] {
  const parts: string[] = []
  for (let from = 0; ; ) {
    const begin = source.indexOf('{{', from)
    const end = begin === -1 ? -1 : source.indexOf('}}', begin + 2)
    if (end === -1) return [...parts, source.slice(from)]
    parts.push(source.slice(from, begin), source.slice(begin + 2, end))
    from = end + 2
  }
}

function pathOf([, name = '', rest = '']: RegExpExecArray): readonly string[] | undefined {
  if (!Object.hasOwn(NAMES, name)) return undefined
  const steps = [...rest.matchAll(STEPS)].map(([, word, double, single]) => word ?? double ?? single ?? '')
  return steps.some((it) => COMPUTED.includes(it)) ? undefined : [name, ...steps]
}

/** View of the message that was rendered last: its templates are rendered one after the other. */
let latest: { subject: Subject; view: View } | undefined

function sharedViewOf(subject: Subject): View {
  if (latest?.subject !== subject) latest = { subject, view: viewOf(subject) }
  return latest.view
}

/** Renders as the engine does, in a tenth of its time. Returns undefined where the engine must: for maps and lists, and for errors. */
function renderPlainly<S extends Output>(
  { pieces, typed }: PlainTemplate,
  subject: Subject,
  sheet: (charge: (cost: number) => void) => S,
  { markup }: Setting,
): S | undefined {
  try {
    const budget = new Budget()
    const written = sheet((cost) => budget.charge(cost))
    for (const piece of pieces) {
      budget.charge(STEP)
      if (typeof piece === 'string') {
        if (written.literal !== undefined) written.literal = true
        written.write(piece)
        continue
      }
      const value = valueAt(sharedViewOf(subject), piece)
      if (value === NEEDS_ENGINE) return undefined
      if (typed && !Array.isArray(value)) {
        written.write(value)
        continue
      }
      if (typeof value === 'object' && value !== null) return undefined
      if (written.literal !== undefined) written.literal = isConfigured(piece)
      const text = textOf(value)
      written.write(markup.escape && text !== '' ? markup.escape(text) : text)
    }
    return written
  } catch {
    // The engine fails with the place in the template.
    return undefined
  }
}

const NEEDS_ENGINE = Symbol('needs the engine')

/** Returns the value at a path of own properties. */
function valueAt(view: View, path: readonly string[]): unknown {
  let value: unknown = view
  for (const key of path) {
    if (value === undefined || value === null) return value
    // Texts and lists have properties that the engine knows.
    if (typeof value !== 'object' || Array.isArray(value)) return NEEDS_ENGINE
    value = Object.hasOwn(value, key) ? (value as Record<string, unknown>)[key] : undefined
  }
  return typeof value === 'function' ? NEEDS_ENGINE : value
}

/** Returns whether a path leads to a value of the configuration, not of an object. */
function isConfigured(path: readonly string[]): boolean {
  return path.length === 1 && (path[0] === 'cluster' || path[0] === 'rule')
}
