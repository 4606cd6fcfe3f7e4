import type { Subject } from '../message.ts'
import { textSheet } from './engine.ts'
import type { TemplateProblem } from './fault.ts'
import type { Markup } from './markup.ts'
import { compileProgram } from './program.ts'

/** A text with `{{ … }}` and `{% … %}` in it, compiled once. */
export interface Template {
  readonly source: string
  /** It is the same for every subject: there is neither `{{ … }}` nor `{% … %}` in it. */
  readonly constant: boolean
  /** Throws a TemplateFault. */
  render(subject: Subject): string
}

/** `escape` writes what is filled in, in the markup of its surroundings; `| raw` leaves it as it is. */
export interface TemplateOptions extends Markup {
  /** What a field does that is not there: nothing is written, or the rendering fails. Default: `empty`. */
  onMissing?: 'empty' | 'error'
  /** For the filter `age`. */
  clock?: { now(): number }
}

export type CompiledTemplate =
  | { ok: true; template: Template }
  | { ok: false; problems: readonly TemplateProblem[] }

/** Compiles a Liquid template; everything that is wrong with it is told, with its place. */
export function compileTemplate(source: string, options: TemplateOptions = {}): CompiledTemplate {
  const compiled = compileProgram(source)
  if (!compiled.ok) return compiled
  const { program } = compiled
  const { onMissing, clock = Date } = options
  const setting = { markup: options, strict: onMissing === 'error', now: () => clock.now() }
  return {
    ok: true,
    template: {
      source,
      constant: program.constant,
      render: (subject) => program.run(subject, textSheet, setting).buffer,
    },
  }
}
