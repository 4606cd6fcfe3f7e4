import type { Problem } from '../config/problem.ts'

/** The user's mistake in arguments or configuration: told in one line, exit code 2. */
export class UsageError extends Error {
  override name = 'UsageError'
}

/** A configuration that cannot be used. */
export class BadConfiguration extends UsageError {
  readonly problems: readonly Problem[]

  constructor(message: string, problems: readonly Problem[]) {
    super(message)
    this.problems = problems
  }
}
