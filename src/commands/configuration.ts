import { readFileSync } from 'node:fs'
import { basename, dirname, resolve } from 'node:path'
import { findConfig } from '../config/find.ts'
import { type LoadOptions, loadConfig } from '../config/load.ts'
import { formatProblems, type Problem } from '../config/problem.ts'
import type { Config } from '../config/schema.ts'
import { STARTER } from '../config/starter.ts'
import { fileFault } from './file-fault.ts'
import { UsageError } from './usage-error.ts'

export interface Configuration {
  config: Config
  /** Undefined for the built-in starter. */
  file: string | undefined
  warnings: readonly Problem[]
  /** The warnings with their lines, for people. */
  shownWarnings: string
}

/** The file that the arguments mean; undefined when there is none. */
export function configurationFile(option: string | undefined): string | undefined {
  if (option === '') throw new UsageError('--config needs the name of a file')
  return findConfig(option, process.env)
}

/**
 * Reads a configuration, or the starter when there is no file. A bad one is told on stderr, whole, and ends the command
 * with 2.
 */
export async function readConfiguration(
  file: string | undefined,
  sinkTypes: LoadOptions['sinkTypes'],
  starter = STARTER,
): Promise<Configuration> {
  const text = file === undefined ? starter : readConfigurationText(file)
  const folder = file === undefined ? process.cwd() : dirname(resolve(file))
  const shown = file ?? 'built-in starter'
  const readFile = (path: string) => readFileSync(resolve(folder, path), 'utf8')
  const loaded = await loadConfig({ file: shown, text, env: process.env, readFile, sinkTypes })
  if (loaded.ok) {
    const { config, warnings } = loaded
    return { config, file, warnings, shownWarnings: showProblems(warnings, text) }
  }
  throw badConfiguration(shown, loaded.problems, text)
}

export function readConfigurationText(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    throw new UsageError(`cannot read the configuration ${file}: ${fileFault(error)}`)
  }
}

export function badConfiguration(file: string, problems: readonly Problem[], text: string): UsageError {
  const count = problems.filter(({ severity }) => severity === 'error').length
  return new UsageError(
    `${basename(file)} has ${count} ${count === 1 ? 'problem' : 'problems'}\n\n${showProblems(problems, text)}`,
  )
}

function showProblems(problems: readonly Problem[], text: string): string {
  return formatProblems(problems, text, {
    colour: process.stderr.isTTY === true && !process.env['NO_COLOR'],
  })
}
