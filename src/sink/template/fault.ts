/** What is wrong with a template, and where in its text, counted from 0. */
export interface TemplateProblem {
  message: string
  offset: number
  length: number
  hint?: string
}

/** A template failed while it was rendered; the message tells the place, if that is known. */
export class TemplateFault extends Error {
  override name = 'TemplateFault'
  /** What failed, and where in the template's text. */
  readonly problem: TemplateProblem | undefined

  constructor(message: string, { problem, ...options }: ErrorOptions & { problem?: TemplateProblem } = {}) {
    super(message, options)
    this.problem = problem
  }
}
