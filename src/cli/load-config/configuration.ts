import type { DryRunOptions } from '../../app/dry-run/dry-run.ts'
import { type ConfigDocument, readDocument } from '../../config/document.ts'
import type { JoinedDocument } from '../../config/include/joined-document.ts'
import { type LoadOptions, loadConfig } from '../../config/load.ts'
import type { Problem } from '../../config/problem.ts'
import { STANDARD_INPUT } from '../../config/read-text.ts'
import type { Config } from '../../config/schema.ts'
import { findConfig, STARTER } from '../../config/starter.ts'
import { hiderOf, referencesShown, secretsOf } from '../../config/values/secrets.ts'
import type { SinkType } from '../../sink/index.ts'
import { allSinks, sinkLoader } from '../../sink-types.ts'
import { BadConfiguration, UsageError } from '../usage-error.ts'
import { FileReads, readFileIn } from './file-reads.ts'
import { fillPlaceholders, PLACEHOLDER } from './placeholder-secrets.ts'
import { readInput, readOnce, showProblems } from './read-configuration.ts'
import { type Reread, reread } from './reread.ts'

export interface Configuration {
  config: Config
  /** Undefined for the built-in starter. */
  file: string | undefined
  /** As in `ConfigStatus`. */
  digest: string | undefined
  warnings: readonly Problem[]
  /** The warnings with their lines. */
  shownWarnings: string
  /** All its files, joined. */
  document: JoinedDocument
  /** The texts of its files, by their names in problems. */
  texts: ReadonlyMap<string, string>
  /** The files that it was read from. */
  reads: FileReads
  /** Reads its files again. A text that came through a pipe stays, except for its `${file:…}`. */
  reread(): Promise<Reread>
  /** The sink types of its plug-ins. */
  sinkTypes: Readonly<Record<string, SinkType>>
}

export interface PluginOptions {
  /** False with --no-plugins. */
  plugins?: boolean
}

/** Returns the option or variable that turned plug-ins off; undefined when they are on. */
export function pluginsOff({ plugins }: PluginOptions, env = process.env): string | undefined {
  if (plugins === false) return '--no-plugins'
  const asked = env['KUBEHERALD_NO_PLUGINS'] ?? ''
  return ['', '0', 'false'].includes(asked) ? undefined : 'KUBEHERALD_NO_PLUGINS'
}

/** Returns the configuration file for the arguments, `-` for the standard input; undefined without one. */
export function configurationFile(option: string | undefined): string | undefined {
  if (option === '') throw new UsageError('--config needs the name of a file')
  return findConfig(option, process.env)
}

const CONFIGURATION = 'the configuration '

/** Reads a configuration, or the starter without a file. Throws `BadConfiguration` with all problems, which ends the command with 2. */
export async function readConfiguration(
  named: string | undefined,
  sinkTypes: LoadOptions['sinkTypes'],
  starter = STARTER,
  off: string | undefined = pluginsOff({}),
  standIn?: LoadOptions['standIn'],
): Promise<Configuration> {
  const file = named === '-' ? STANDARD_INPUT : named
  const shown = file ?? 'built-in starter'
  const fixed =
    named === undefined ? starter : named === '-' ? await readInput('-', CONFIGURATION) : undefined
  const source = { shown, path: named, fixed, pluginsOff: off, standIn }

  const reads = new FileReads()
  const { digest, loaded } = await readOnce(source, reads, { sinkTypes })
  if (!loaded.ok) throw badConfiguration(shown, loaded.problems, loaded.texts)
  const { config, warnings, texts, document, sinkTypes: ofPlugins } = loaded
  return {
    config,
    file,
    digest,
    warnings,
    document,
    texts,
    shownWarnings: showProblems(
      warnings.filter(({ absent }) => !absent),
      texts,
    ),
    reads,
    sinkTypes: ofPlugins,
    reread: () => reread(source, { builtIn: sinkTypes, plugins: ofPlugins }),
  }
}

type Texts = string | ReadonlyMap<string, string>

export function badConfiguration(file: string, problems: readonly Problem[], text: Texts): BadConfiguration {
  return new BadConfiguration(`${file} has ${countOf(problems)}\n\n${showProblems(problems, text)}`, problems)
}

/** `1 problem and 2 warnings`. */
function countOf(problems: readonly Problem[]): string {
  const errors = problems.filter(({ severity }) => severity === 'error').length
  const warnings = problems.length - errors
  const count = (n: number, word: string) => `${n} ${word}${n === 1 ? '' : 's'}`
  return count(errors, 'problem') + (warnings > 0 ? ` and ${count(warnings, 'warning')}` : '')
}

export interface DryConfiguration extends DryRunOptions {
  config: Config
  /** Its name in problems. */
  file: string
  /** The texts of all its files, by their names in problems. */
  texts: ReadonlyMap<string, string>
  document: JoinedDocument
  /** Masks the values of `${env:…}` and `${file:…}` in a text. */
  hide(text: string): string
}

/** Reads a configuration for a dry run: placeholders replace missing secrets. Throws as `readConfiguration` does. */
export async function readDryConfiguration(
  option: string | undefined,
  plugins?: PluginOptions,
): Promise<DryConfiguration> {
  const named = configurationFile(option)
  const file = named === '-' ? STANDARD_INPUT : (named ?? 'built-in starter')
  const text = named === undefined ? STARTER : await readInput(named, CONFIGURATION)
  const source: LoadOptions = {
    file,
    text,
    env: process.env,
    readFile: readFileIn('.'),
    files: new FileReads().included,
    sinkTypes: allSinks,
    pluginsOff: pluginsOff(plugins ?? {}),
    standIn: PLACEHOLDER,
  }
  const main = readDocument(file, text, source)
  const { placeholders, ...filled } = await fillPlaceholders(main.root, source)
  const loaded = await loadConfig({ ...source, ...filled })
  if (!loaded.ok)
    throw badConfiguration(
      file,
      loaded.problems.map((it) => withMissing(it, main)),
      loaded.texts,
    )
  const { document, texts, sinkTypes } = loaded
  const written = referencesShown(document.at([])) as Record<string, unknown>
  const config = { ...loaded.config, written }
  return {
    config,
    document,
    file,
    texts,
    load: sinkLoader(sinkTypes),
    hide: hiderOf(secretsOf(document, placeholders)),
  }
}

/** Names the missing source of a value in a problem of the placeholder that replaces it. */
function withMissing(problem: Problem, { problems, isEcho }: ConfigDocument): Problem {
  if (!isEcho(problem)) return problem
  const { line, column, length } = problem
  const missing = problems.find(
    (it) => it.absent && it.line === line && it.column >= column && it.column < column + length,
  )
  if (!missing) return problem
  return { ...problem, hint: `${missing.message}, and its placeholder has not the form of this option` }
}
