/** A problem of a template and its position in the text, counted from 0. */
export interface TemplateProblem {
  message: string
  offset: number
  length: number
  hint?: string
}

/** A template failed during rendering; the message contains the position if it is known. */
export class TemplateFault extends Error {
  override name = 'TemplateFault'
  /** The problem and its position in the template's text. */
  readonly problem: TemplateProblem | undefined

  constructor(message: string, { problem, ...options }: ErrorOptions & { problem?: TemplateProblem } = {}) {
    super(message, options)
    this.problem = problem
  }
}

/** Returns the problem of a template that is longer than `maxLength` characters. */
export function tooLong({ length }: string, maxLength: number): TemplateProblem {
  return { message: `is longer than ${maxLength} characters`, offset: 0, length }
}
