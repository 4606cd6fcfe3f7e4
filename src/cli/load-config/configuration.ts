import { findConfig } from '../../config/find.ts'
import type { JoinedDocument } from '../../config/joined-document.ts'
import type { LoadOptions } from '../../config/load.ts'
import type { Problem } from '../../config/problem.ts'
import { STANDARD_INPUT } from '../../config/read-text.ts'
import type { Config } from '../../config/schema.ts'
import { STARTER } from '../../config/starter.ts'
import type { SinkType } from '../../sink/index.ts'
import { BadConfiguration, UsageError } from '../usage-error.ts'
import { FileReads } from './file-reads.ts'
import { readConfigurationText, readOnce } from './read-once.ts'
import { type Reread, reread } from './reread.ts'
import { showProblems } from './shown-problems.ts'

export interface Configuration {
  config: Config
  /** Undefined for the built-in starter. */
  file: string | undefined
  /** Of the file, as `ConfigStatus` has it. */
  digest: string | undefined
  warnings: readonly Problem[]
  /** The warnings with their lines, for people. */
  shownWarnings: string
  /** All its files, read as one. */
  document: JoinedDocument
  /** The texts of its files, by the names that problems have. */
  texts: ReadonlyMap<string, string>
  /** The files that it was read from. */
  reads: FileReads
  /** Reads it anew, with what its files hold now. What came through a pipe stays as it is, but for its `${file:…}`. */
  reread(): Promise<Reread>
  /** The sink types of its plug-ins. */
  sinkTypes: Readonly<Record<string, SinkType>>
}

export interface PluginOptions {
  /** False with --no-plugins. */
  plugins?: boolean
}

/** What turned plug-ins off; undefined when they are on. */
export function pluginsOff({ plugins }: PluginOptions, env = process.env): string | undefined {
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
  standIn?: LoadOptions['standIn'],
): Promise<Configuration> {
  const file = named === '-' ? STANDARD_INPUT : named
  const shown = file ?? 'built-in starter'
  const fixed = named === undefined ? starter : named === '-' ? await readConfigurationText('-') : undefined
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
