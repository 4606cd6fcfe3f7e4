import { createLog, isLogLevel, LOG_LEVELS, type Logger } from '../log.ts'
import type { Configuration } from './reading/configuration.ts'
import { UsageError } from './usage-error.ts'

export interface CommandLog {
  log: Logger
  /** JSON for machines, text for a terminal and for the demo. */
  format: 'json' | 'text'
  /** A line that stands for itself: plain among text, an object among JSON. */
  say(line: string, fields: object): void
}

export function commandLog(level: string | undefined, demo: boolean): CommandLog {
  if (level !== undefined && !isLogLevel(level))
    throw new UsageError(`"${level}" is no log level: ${LOG_LEVELS.join(', ')}`)
  const terminal = process.stderr.isTTY === true
  const format = terminal || demo ? 'text' : 'json'
  const log = createLog({
    // Who looks at the demo wants to see events, not how they come about.
    level: level ?? (demo ? 'warn' : 'info'),
    format,
    colour: terminal && !process.env['NO_COLOR'],
    output: process.stderr,
  })
  const say = (line: string, fields: object) =>
    format === 'text' ? void process.stderr.write(`${line}\n`) : log.info(fields, line)
  return { log, format, say }
}

export function tellWarnings(
  { warnings, shownWarnings }: Pick<Configuration, 'warnings' | 'shownWarnings'>,
  { log, format }: CommandLog,
): void {
  if (format === 'text') process.stderr.write(shownWarnings)
  else
    for (const { file, line, column, message, hint } of warnings)
      log.warn({ file, line, column, ...(hint && { hint }) }, message)
}
