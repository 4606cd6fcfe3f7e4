import type { Problem } from '../../config/problem.ts'
import { BadConfiguration } from '../usage-error.ts'

/** Stands in for secrets that are not where `check --offline` runs. */
export const STAND_IN = 'stand-in'

/** What a configuration refers to and is not here. */
export function describeAbsent(problems: readonly Problem[]): string {
  return problems
    .filter(({ absent }) => absent)
    .map((it) => `(not looked at: ${inOneLine(it)})\n`)
    .join('')
}

/**
 * A configuration of which a part means nothing without what is not here: says whether anything else is wrong with it, and
 * gives the exit code. Throws the error when there is.
 */
export function checkWithoutAbsent(error: unknown, file: string, strict = false): number {
  if (!(error instanceof BadConfiguration)) throw error
  const { problems } = error
  if (!problems.some(({ absent }) => absent) || problems.some((it) => it.severity === 'error')) throw error
  const warnings = problems.filter(({ absent }) => !absent)
  const lines = warnings.map((it) => `warning: ${inOneLine(it)}\n`)
  process.stdout.write(
    `${lines.join('')}${file} is good, as far as it can be read here\n${describeAbsent(problems)}`,
  )
  return strict && warnings.length > 0 ? 1 : 0
}

function inOneLine({ file, line, column, message }: Problem): string {
  return `${file}:${line}:${column}: ${message}`
}
