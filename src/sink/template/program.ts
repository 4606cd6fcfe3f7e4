import type { LiquidError, Template as Node } from 'liquidjs'
import type { Subject } from '../message.ts'
import { TooMuchWork } from './budget.ts'
import { checkSource } from './check.ts'
import { type Engine, MAX_SOURCE, type Output, theEngine } from './engine.ts'
import { TemplateFault, type TemplateProblem, tooLong } from './fault.ts'
import type { Setting } from './filters.ts'
import { type PlainTemplate, plainTemplateOf, renderPlainly } from './plain-values.ts'
import { viewOf } from './view.ts'

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
