import { readFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { findConfig } from '../config/find.ts'
import { type LoadOptions, loadConfig } from '../config/load.ts'
import { formatProblems, type Problem } from '../config/problem.ts'
import { reasonOf, STANDARD_INPUT, textOf } from '../config/read-text.ts'
import type { Config } from '../config/schema.ts'
import { DEMO_STARTER, STARTER } from '../config/starter.ts'
import { UsageError } from './usage-error.ts'

export interface Configuration {
  config: Config
  /** Undefined for the built-in starter. */
  file: string | undefined
  warnings: string
}

/**
 * Reads the configuration that the arguments mean. A bad one is told on stderr, whole, and ends the command with 2.
 */
export async function readConfiguration(
  option: string | undefined,
  sinkTypes: LoadOptions['sinkTypes'],
  { demo = false } = {},
): Promise<Configuration> {
  const named = findConfig(option, process.env)
  const file = named === '-' ? STANDARD_INPUT : named
  const text = named === undefined ? (demo ? DEMO_STARTER : STARTER) : await readText(named)
  const folder = file === undefined ? process.cwd() : dirname(resolve(file))
  const shown = file === undefined ? 'built-in starter' : file
  const readSecret = (path: string) => readFileSync(resolve(folder, path), 'utf8')
  const loaded = await loadConfig({ file: shown, text, env: process.env, readFile: readSecret, sinkTypes })
  const colour = process.stderr.isTTY === true && !process.env['NO_COLOR']
  if (loaded.ok)
    return { config: loaded.config, file, warnings: formatProblems(loaded.warnings, text, { colour }) }
  throw new UsageError(
    `${shown} has ${countOf(loaded.problems)}\n\n${formatProblems(loaded.problems, text, { colour })}`,
  )
}

/** `1 problem and 2 warnings`. */
function countOf(problems: readonly Problem[]): string {
  const errors = problems.filter(({ severity }) => severity === 'error').length
  const warnings = problems.length - errors
  const count = (n: number, word: string) => `${n} ${word}${n === 1 ? '' : 's'}`
  return count(errors, 'problem') + (warnings > 0 ? ` and ${count(warnings, 'warning')}` : '')
}

/** `-` is the standard input. */
async function readText(file: string): Promise<string> {
  const shown = file === '-' ? STANDARD_INPUT : file
  const bytes = await readBytes(file).catch((error: unknown) => {
    throw new UsageError(`cannot read the configuration ${shown}: ${reasonOf(error)}`)
  })
  const result = textOf(bytes)
  if ('text' in result) return result.text
  throw new UsageError(`cannot read the configuration ${shown}: ${result.fault}`)
}

async function readBytes(file: string): Promise<Uint8Array> {
  return file === '-' ? buffer(process.stdin) : readFile(file)
}
