import { readFile } from 'node:fs/promises'
import { buffer } from 'node:stream/consumers'
import { type Loaded, type LoadOptions, loadConfig } from '../../config/load.ts'
import { reasonOf, STANDARD_INPUT, textOf } from '../../config/read-text.ts'
import { UsageError } from '../usage-error.ts'
import { digestOf, type FileReads } from './file-reads.ts'

/** What is read, as plain data. */
export interface ReadSource {
  /** As problems call it. */
  shown: string
  /** Undefined where the text is fixed. */
  path?: string | undefined
  /** What came through a pipe, or is built in. */
  fixed?: string | undefined
  pluginsOff?: string | undefined
  standIn?: string | undefined
}

export interface ReadOnce {
  digest: string | undefined
  loaded: Loaded
}

const DIGEST_LENGTH = 12

/** Reads a configuration with the files that it names, and notes them in `reads`. */
export async function readOnce(
  { shown, path, fixed, pluginsOff, standIn }: ReadSource,
  reads: FileReads,
  { sinkTypes, pluginTypes }: Pick<LoadOptions, 'sinkTypes' | 'pluginTypes'>,
): Promise<ReadOnce> {
  const { text, digest } =
    fixed === undefined ? readFrom(path as string, reads) : { text: fixed, digest: undefined }
  const readFile = (path: string) => reads.read(path).toString('utf8')
  const source = { file: shown, env: process.env, text, readFile, files: reads.included }
  const loaded = await loadConfig({ ...source, sinkTypes, pluginsOff, pluginTypes, standIn })
  return { digest: digest === undefined ? undefined : reads.digest(digest).slice(0, DIGEST_LENGTH), loaded }
}

/** A file's text, and how `status` calls it when it includes nothing: `sha256sum` begins with the same. */
function readFrom(file: string, reads: FileReads): { text: string; digest: string } {
  try {
    const bytes = reads.read(file)
    return { text: decoded(file, bytes), digest: digestOf(bytes) }
  } catch (error) {
    throw error instanceof UsageError ? error : cannotRead(file, reasonOf(error))
  }
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
