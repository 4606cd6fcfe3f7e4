import { Liquid, LiquidError } from 'liquidjs'
import type { Subject } from '../message.ts'
import { TemplateFault, type TemplateProblem } from './fault.ts'
import { viewOf } from './view.ts'

/** A text with `{{ … }}` and `{% … %}` in it, compiled once. */
export interface Template {
  readonly source: string
  /** It is the same for every subject: nothing is filled in. */
  readonly constant: boolean
  /** Throws a TemplateFault. */
  render(subject: Subject): string
}

export interface TemplateOptions {
  /** Writes what is filled in, in the markup of its surroundings; `| raw` leaves it as it is. Default: as it is. */
  escape?: (text: string) => string
}

export type CompiledTemplate =
  | { ok: true; template: Template }
  | { ok: false; problems: readonly TemplateProblem[] }

/** Compiles a Liquid template; everything that is wrong with it is told, with its place. */
export function compileTemplate(source: string, options: TemplateOptions = {}): CompiledTemplate {
  const write = options.escape
  const engine = new Liquid({
    templates: {},
    strictFilters: true,
    ...(write && { outputEscape: (it) => write(String(it)) }),
  })
  try {
    const parsed = engine.parse(source)
    const constant = !/\{[{%]/.test(source)
    return {
      ok: true,
      template: {
        source,
        constant,
        render(subject) {
          try {
            return engine.renderSync(parsed, viewOf(subject)) as string
          } catch (error) {
            throw new TemplateFault((error as Error).message, { cause: error })
          }
        },
      },
    }
  } catch (error) {
    if (!LiquidError.is(error)) throw error
    return { ok: false, problems: [{ message: error.message, offset: 0, length: source.length }] }
  }
}
