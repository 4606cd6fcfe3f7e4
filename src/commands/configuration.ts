import { readFileSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { findConfig } from '../config/find.ts'
import { type LoadOptions, loadConfig } from '../config/load.ts'
import { formatProblems } from '../config/problem.ts'
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
  const file = findConfig(option, process.env)
  const text = file === undefined ? (demo ? DEMO_STARTER : STARTER) : readText(file)
  const folder = file === undefined ? process.cwd() : dirname(resolve(file))
  const shown = file === undefined ? 'built-in starter' : file
  const readFile = (path: string) => readFileSync(resolve(folder, path), 'utf8')
  const loaded = await loadConfig({ file: shown, text, env: process.env, readFile, sinkTypes })
  const colour = process.stderr.isTTY === true && !process.env['NO_COLOR']
  if (loaded.ok)
    return { config: loaded.config, file, warnings: formatProblems(loaded.warnings, text, { colour }) }
  const count = loaded.problems.filter(({ severity }) => severity === 'error').length
  throw new UsageError(
    `${shown} has ${count} ${count === 1 ? 'problem' : 'problems'}\n\n${formatProblems(loaded.problems, text, { colour })}`,
  )
}

function readText(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    throw new UsageError(
      `cannot read the configuration ${file}: ${code === 'ENOENT' ? 'there is no such file' : (code ?? message)}`,
    )
  }
}
