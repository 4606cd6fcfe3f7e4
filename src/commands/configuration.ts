import { readFile } from 'node:fs/promises'
import { buffer } from 'node:stream/consumers'
import { findConfig } from '../config/find.ts'
import { type Loaded, type LoadOptions, loadConfig } from '../config/load.ts'
import { formatProblems, type Problem } from '../config/problem.ts'
import { reasonOf, STANDARD_INPUT, textOf } from '../config/read-text.ts'
import type { Config } from '../config/schema.ts'
import { STARTER } from '../config/starter.ts'
import type { SinkType } from '../sink/index.ts'
import { digestOf, FileReads } from './file-reads.ts'
import { BadConfiguration, UsageError } from './usage-error.ts'

export interface Configuration {
  config: Config
  /** Undefined for the built-in starter. */
  file: string | undefined
  /** Of the file, as `ConfigStatus` has it. */
  digest: string | undefined
  warnings: readonly Problem[]
  /** The warnings with their lines, for people. */
  shownWarnings: string
  /** The files that it was read from. */
  reads: FileReads
  /** Reads it anew, with what its files hold now. What came through a pipe stays as it is, but for its `${file:…}`. */
  reread(): Promise<Reread>
  /** The sink types of its plug-ins. */
  sinkTypes: Readonly<Record<string, SinkType>>
}

export type Reread = { reads: FileReads } & (
  | ({ ok: true } & Pick<Configuration, 'config' | 'digest' | 'warnings' | 'shownWarnings'>)
  | {
      ok: false
      /** In one line: the first, and how many there are. */
      problem: string
      /** For people. */
      shown: string
    }
)

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
  standIn?: LoadOptions['standIn'],
): Promise<Configuration> {
  const file = named === '-' ? STANDARD_INPUT : named
  const shown = file ?? 'built-in starter'
  const fixed = named === undefined ? starter : named === '-' ? await readConfigurationText('-') : undefined
  const source = { file: shown, env: process.env, sinkTypes, pluginsOff: off, standIn }

  async function read(reads: FileReads, pluginTypes?: LoadOptions['pluginTypes']) {
    const { text, digest } = fixed === undefined ? readFrom(named as string, reads) : { text: fixed }
    const readFile = (path: string) => reads.read(path).toString('utf8')
    const loaded = await loadConfig({ ...source, text, readFile, files: reads.included, pluginTypes })
    return { digest: digest === undefined ? undefined : reads.digest(digest).slice(0, DIGEST_LENGTH), loaded }
  }

  const reads = new FileReads()
  const { digest, loaded } = await read(reads)
  if (!loaded.ok) throw badConfiguration(shown, loaded.problems, loaded.texts)
  const { config, warnings, texts, sinkTypes: ofPlugins } = loaded
  return {
    config,
    file,
    digest,
    warnings,
    shownWarnings: showProblems(
      warnings.filter(({ absent }) => !absent),
      texts,
    ),
    reads,
    sinkTypes: ofPlugins,
    reread: () => rereadWith((files) => read(files, ofPlugins)),
  }
}

interface ReadOnce {
  digest?: string | undefined
  loaded: Loaded
}

async function rereadWith(read: (reads: FileReads) => Promise<ReadOnce>): Promise<Reread> {
  const reads = new FileReads()
  try {
    const { digest, loaded } = await read(reads)
    const { texts } = loaded
    if (!loaded.ok) {
      const { problems } = loaded
      return { ok: false, reads, problem: inOneLine(problems, texts), shown: showProblems(problems, texts) }
    }
    const { config, warnings } = loaded
    return { ok: true, reads, config, digest, warnings, shownWarnings: showProblems(warnings, texts) }
  } catch (error) {
    if (!(error instanceof UsageError)) throw error
    return { ok: false, reads, problem: error.message, shown: '' }
  }
}

const DIGEST_LENGTH = 12

/** A file's text, and how `status` calls it when it includes nothing: `sha256sum` begins with the same. */
function readFrom(file: string, reads: FileReads): { text: string; digest: string } {
  try {
    const bytes = reads.read(file)
    return { text: decoded(file, bytes), digest: digestOf(bytes) }
  } catch (error) {
    throw error instanceof UsageError ? error : cannotRead(file, reasonOf(error))
  }
}

/** `kubeherald.yaml:3:5: there is no sink "oncal" (and 2 more problems)`. */
function inOneLine(problems: readonly Problem[], texts: ReadonlyMap<string, string>): string {
  const errors = problems.filter(({ severity }) => severity === 'error')
  const files = [...texts.keys()]
  const place = ({ file }: Problem) => files.indexOf(file)
  const [first] = errors.toSorted((a, b) => place(a) - place(b) || a.line - b.line || a.column - b.column)
  if (!first) return ''
  const more = errors.length - 1
  const rest = more === 0 ? '' : ` (and ${more} more problem${more === 1 ? '' : 's'})`
  return `${first.file}:${first.line}:${first.column}: ${first.message}${rest}`
}

/** The text of a file, or of the standard input for `-`. What is no text is told in one line. */
export async function readConfigurationText(file: string): Promise<string> {
  const shown = file === '-' ? STANDARD_INPUT : file
  const bytes = await readBytes(file).catch((error: unknown) => {
    throw cannotRead(shown, reasonOf(error))
  })
  return decoded(shown, bytes)
}

function decoded(file: string, bytes: Uint8Array): string {
  const result = textOf(bytes)
  if ('text' in result) return result.text
  throw cannotRead(file, result.fault)
}

function cannotRead(file: string, why: string): UsageError {
  return new UsageError(`cannot read the configuration ${file}: ${why}`)
}

async function readBytes(file: string): Promise<Uint8Array> {
  return file === '-' ? buffer(process.stdin) : readFile(file)
}

type Texts = string | ReadonlyMap<string, string>

export function badConfiguration(file: string, problems: readonly Problem[], text: Texts): UsageError {
  return new BadConfiguration(`${file} has ${countOf(problems)}\n\n${showProblems(problems, text)}`, problems)
}

/** `1 problem and 2 warnings`. */
function countOf(problems: readonly Problem[]): string {
  const errors = problems.filter(({ severity }) => severity === 'error').length
  const warnings = problems.length - errors
  const count = (n: number, word: string) => `${n} ${word}${n === 1 ? '' : 's'}`
  return count(errors, 'problem') + (warnings > 0 ? ` and ${count(warnings, 'warning')}` : '')
}

function showProblems(problems: readonly Problem[], text: Texts): string {
  return formatProblems(problems, text, {
    colour: process.stderr.isTTY === true && !process.env['NO_COLOR'],
  })
}
