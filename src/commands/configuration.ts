import { readFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { findConfig } from '../config/find.ts'
import { type Loaded, type LoadOptions, loadConfig } from '../config/load.ts'
import { formatProblems, type Problem } from '../config/problem.ts'
import { reasonOf, STANDARD_INPUT, textOf } from '../config/read-text.ts'
import type { Config } from '../config/schema.ts'
import { STARTER } from '../config/starter.ts'
import type { SinkType } from '../sink/index.ts'
import { UsageError } from './usage-error.ts'

export interface Configuration {
  config: Config
  /** Undefined for the built-in starter. */
  file: string | undefined
  warnings: readonly Problem[]
  /** The warnings with their lines, for people. */
  shownWarnings: string
  /** What its `${file:…}` were read from: absolute paths. */
  files: readonly string[]
  /** Reads it anew, with what those files hold now. */
  reload(): Promise<Loaded>
  /** The sink types of its plug-ins. */
  sinkTypes: Readonly<Record<string, SinkType>>
}

/** What turned plug-ins off; undefined when they are on. */
export function pluginsOff({ plugins }: { plugins?: boolean }, env = process.env): string | undefined {
  if (plugins === false) return '--no-plugins'
  const asked = env['KUBEHERALD_NO_PLUGINS'] ?? ''
  return ['', '0', 'false'].includes(asked) ? undefined : 'KUBEHERALD_NO_PLUGINS'
}

/** The file that the arguments mean, `-` for the standard input; undefined when there is none. */
export function configurationFile(option: string | undefined): string | undefined {
  if (option === '') throw new UsageError('--config needs the name of a file')
  return findConfig(option, process.env)
}

/**
 * Reads a configuration, or the starter when there is no file. A bad one is told on stderr, whole, and ends the command
 * with 2.
 */
export async function readConfiguration(
  named: string | undefined,
  sinkTypes: LoadOptions['sinkTypes'],
  starter = STARTER,
  off: string | undefined = pluginsOff({}),
): Promise<Configuration> {
  const file = named === '-' ? STANDARD_INPUT : named
  const text = named === undefined ? starter : await readConfigurationText(named)
  const folder = file === undefined ? process.cwd() : dirname(resolve(file))
  const shown = file ?? 'built-in starter'
  const files = new Set<string>()
  const readSecret = (path: string) => {
    const secret = readFileSync(resolve(folder, path), 'utf8')
    files.add(resolve(folder, path))
    return secret
  }
  const source = { file: shown, text, env: process.env, readFile: readSecret }
  const reload = () => loadConfig({ ...source, sinkTypes, pluginsOff: off })
  const loaded = await reload()
  if (loaded.ok) {
    const { config, warnings, sinkTypes } = loaded
    const shownWarnings = showProblems(warnings, text)
    return { config, file, warnings, shownWarnings, sinkTypes, files: [...files], reload }
  }
  throw badConfiguration(shown, loaded.problems, text)
}

/** The text of a file, or of the standard input for `-`. What is no text is told in one line. */
export async function readConfigurationText(file: string): Promise<string> {
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

export function badConfiguration(file: string, problems: readonly Problem[], text: string): UsageError {
  return new UsageError(`${file} has ${countOf(problems)}\n\n${showProblems(problems, text)}`)
}

/** `1 problem and 2 warnings`. */
function countOf(problems: readonly Problem[]): string {
  const errors = problems.filter(({ severity }) => severity === 'error').length
  const warnings = problems.length - errors
  const count = (n: number, word: string) => `${n} ${word}${n === 1 ? '' : 's'}`
  return count(errors, 'problem') + (warnings > 0 ? ` and ${count(warnings, 'warning')}` : '')
}

function showProblems(problems: readonly Problem[], text: string): string {
  return formatProblems(problems, text, {
    colour: process.stderr.isTTY === true && !process.env['NO_COLOR'],
  })
}
