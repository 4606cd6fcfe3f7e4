import * as z from 'zod'
import { compileTemplate, type Template, type TemplateOptions } from './compile.ts'
import type { TemplateProblem } from './fault.ts'
import { compileTree, type TemplateTree } from './tree.ts'

export interface TemplateTextOptions extends TemplateOptions {
  /** How long the template may be, in characters. Default: 100,000. */
  maxLength?: number
}

/** A zod schema for an option that is a template: text in the file, a compiled Template in the options. */
export function templateText({ maxLength = MAX_LENGTH, ...options }: TemplateTextOptions = {}) {
  return z.string().transform((text, context): Template => {
    if (text.length > maxLength) return refuse(context, [tooLong(text, maxLength)])
    const compiled = compileTemplate(text, options)
    return compiled.ok ? compiled.template : refuse(context, compiled.problems)
  })
}

/** A zod schema for an option that is a tree of maps, lists and values, whose texts are templates. */
export function templateTree(options: TemplateOptions = {}) {
  return z.unknown().transform((data, context): TemplateTree => {
    const compiled = compileTree(data, options)
    return compiled.ok ? compiled.tree : refuse(context, compiled.problems)
  })
}

const MAX_LENGTH = 100_000

/** The place in the text goes with the issue; the configuration shows it. */
export function refuse(
  context: z.core.$RefinementCtx,
  problems: readonly (TemplateProblem & { path?: readonly PropertyKey[] })[],
): never {
  for (const { message, offset, length, hint, path = [] } of problems)
    context.addIssue({ code: 'custom', message, path: [...path], params: { offset, length, hint } })
  return z.NEVER
}

function tooLong({ length }: string, maxLength: number): TemplateProblem {
  return { message: `is longer than ${maxLength} characters`, offset: 0, length }
}
