import { readFile } from 'node:fs/promises'
import { buffer } from 'node:stream/consumers'
import { reasonOf, STANDARD_INPUT, textOf } from '../../config/read-text.ts'
import { UsageError } from '../usage-error.ts'

/** The text of a file, or of the standard input for `-`. What cannot be read, or is no text, is told in one line. */
export async function readInput(file: string): Promise<string> {
  const shown = file === '-' ? STANDARD_INPUT : file
  const bytes = await (file === '-' ? buffer(process.stdin) : readFile(file)).catch((error: unknown) => {
    throw new UsageError(`cannot read ${shown}: ${reasonOf(error)}`)
  })
  const result = textOf(bytes)
  if ('text' in result) return result.text
  throw new UsageError(`cannot read ${shown}: ${result.fault}`)
}
