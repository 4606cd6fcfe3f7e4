import { createLog, isLogLevel, LOG_LEVELS, type Logger } from '../observe/log.ts'
import type { Configuration } from './load-config/configuration.ts'
import { wantsColour } from './output/colour.ts'
import { isQuiet, note } from './output/notes.ts'
import { UsageError } from './usage-error.ts'

export interface CommandLog {
  log: Logger
  /** JSON for machines, text for a terminal and for the demo. */
  format: 'json' | 'text'
  /** Prints a line as text, or logs it with its fields as JSON. */
  print(line: string, fields: object): void
}

export function commandLog(level: string | undefined, demo: boolean): CommandLog {
  if (level !== undefined && !isLogLevel(level))
    throw new UsageError(`"${level}" is not a log level: use one of ${LOG_LEVELS.join(', ')}`)
  const terminal = process.stderr.isTTY === true
  const format = terminal || demo ? 'text' : 'json'
  const log = createLog({
    // The demo shows events, not its own log.
    level: level ?? (demo || isQuiet() ? 'warn' : 'info'),
    format,
    colour: format === 'text' && wantsColour(process.stderr, process.env),
    output: process.stderr,
  })
  const print = (line: string, fields: object) =>
    format === 'text' ? note(`${line}\n`) : log.info(fields, line)
  return { log, format, print }
}

/** Prints the warnings of a configuration. */
export function printWarnings(
  { warnings, shownWarnings }: Pick<Configuration, 'warnings' | 'shownWarnings'>,
  { log, format }: CommandLog,
): void {
  if (format === 'text') process.stderr.write(shownWarnings)
  else
    for (const { file, line, column, message, hint } of warnings)
      log.warn({ file, line, column, ...(hint && { hint }) }, message)
}
