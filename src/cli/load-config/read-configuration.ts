import { readFile } from 'node:fs/promises'
import { buffer } from 'node:stream/consumers'
import { type Loaded, type LoadOptions, loadConfig } from '../../config/load.ts'
import { formatProblems, type Problem } from '../../config/problem.ts'
import { reasonOf, STANDARD_INPUT, textOf } from '../../config/read-text.ts'
import { wantsColour } from '../output/colour.ts'
import { UsageError } from '../usage-error.ts'
import { digestOf, type FileReads, isPipe } from './file-reads.ts'

/** A configuration to read, as plain data that another thread can take. */
export interface ReadSource {
  /** The name in problems. */
  shown: string
  /** Undefined where the text is fixed. */
  path?: string | undefined
  /** The text that came through a pipe, or the built-in one. */
  fixed?: string | undefined
  pluginsOff?: string | undefined
  standIn?: string | undefined
}

type Types = Pick<LoadOptions, 'sinkTypes' | 'pluginTypes'>

const DIGEST_LENGTH = 12

/** Reads a configuration with the files that it names, and records them in `reads`. */
export async function readOnce(
  { shown, path, fixed, pluginsOff, standIn }: ReadSource,
  reads: FileReads,
  { sinkTypes, pluginTypes }: Types,
): Promise<{ digest: string | undefined; loaded: Loaded }> {
  const { text, digest } =
    fixed === undefined ? readFrom(path as string, reads) : { text: fixed, digest: undefined }
  const readFile = (path: string) => reads.read(path).toString('utf8')
  const source = { file: shown, env: process.env, text, readFile, files: reads.included }
  const loaded = await loadConfig({ ...source, sinkTypes, pluginsOff, pluginTypes, standIn })
  return { digest: digest === undefined ? undefined : reads.digest(digest).slice(0, DIGEST_LENGTH), loaded }
}

/** Returns the text of a file and its SHA-256: the digest that `status` shows begins like `sha256sum`. */
function readFrom(file: string, reads: FileReads): { text: string; digest: string } {
  try {
    const bytes = reads.read(file)
    return { text: decode(bytes, `the configuration ${file}`), digest: digestOf(bytes) }
  } catch (error) {
    throw error instanceof UsageError ? error : cannotRead(`the configuration ${file}`, reasonOf(error))
  }
}

export interface Rejected {
  ok: false
  /** In one line: the first error, and how many there are. */
  problem: string
  /** All problems with their lines. */
  shown: string
  /** `file:line` of the first error. */
  place?: string | undefined
}

type Accepted = Extract<Loaded, { ok: true }>

type ReadAttempt =
  | Rejected
  | { ok: true; digest: string | undefined; shownWarnings: string; loaded: Accepted }

/** Reads a configuration for a reload: a wrong one is a result, not an exception. */
export async function tryRead(
  source: ReadSource,
  reads: FileReads,
  types: Types,
  colour = isColoured(),
): Promise<ReadAttempt> {
  try {
    const { digest, loaded } = await readOnce(source, reads, types)
    const { texts } = loaded
    if (loaded.ok)
      return { ok: true, digest, shownWarnings: showProblems(loaded.warnings, texts, colour), loaded }
    return {
      ok: false,
      ...summaryOf(loaded.problems, texts),
      shown: showProblems(loaded.problems, texts, colour),
    }
  } catch (error) {
    if (!(error instanceof UsageError)) throw error
    return { ok: false, problem: error.message, shown: '' }
  }
}

/** `kubeherald.yaml:3:5: there is no sink "oncal" (and 2 more problems)`, and the place without anything of the file. */
export function summaryOf(problems: readonly Problem[], texts: ReadonlyMap<string, string>) {
  const files = [...texts.keys()]
  const order = ({ file }: Problem) => files.indexOf(file)
  const errors = problems
    .filter(({ severity }) => severity === 'error')
    .toSorted((a, b) => order(a) - order(b) || a.line - b.line || a.column - b.column)
  const [first] = errors
  if (!first) return { problem: '' }
  const { file, line, column, message } = first
  const more = errors.length - 1
  const rest = more === 0 ? '' : ` (and ${more} more problem${more === 1 ? '' : 's'})`
  return { problem: `${file}:${line}:${column}: ${message}${rest}`, place: `${file}:${line}` }
}

/** Formats problems with their lines; `colour` where stderr is a terminal. */
export function showProblems(
  problems: readonly Problem[],
  text: string | ReadonlyMap<string, string>,
  colour = isColoured(),
): string {
  return formatProblems(problems, text, { colour })
}

export function isColoured(): boolean {
  return wantsColour(process.stderr, process.env)
}

/** A command that takes the rules and the address of Redis from a configuration reads it twice. */
const piped = new Map<string, Promise<Buffer>>()

/** Returns the text of a file, or of the standard input for `-`. Throws `UsageError` for one that is unreadable or no text. */
export async function readInput(file: string, what = ''): Promise<string> {
  const shown = what + (file === '-' ? STANDARD_INPUT : file)
  const reading = piped.get(file) ?? (file === '-' ? buffer(process.stdin) : readFile(file))
  if (file === '-' || isPipe(file)) piped.set(file, reading)
  const bytes = await reading.catch((error: unknown) => {
    throw cannotRead(shown, reasonOf(error))
  })
  return decode(bytes, shown)
}

function decode(bytes: Uint8Array, shown: string): string {
  const result = textOf(bytes)
  if ('text' in result) return result.text
  throw cannotRead(shown, result.fault)
}

function cannotRead(shown: string, reason: string): UsageError {
  return new UsageError(`cannot read ${shown}: ${reason}`)
}
