import * as z from 'zod'
import { compileTemplate, type Template, type TemplateOptions } from './compile.ts'

/** A zod schema for an option that is a template: text in the file, a compiled Template in the options. */
export function templateText(options: TemplateOptions = {}) {
  return z.string().transform((text, context): Template => {
    const compiled = compileTemplate(text, options)
    if (compiled.ok) return compiled.template
    for (const { message, offset, length, hint } of compiled.problems)
      context.addIssue({ code: 'custom', message, params: { offset, length, hint } })
    return z.NEVER
  })
}
