import { pino } from 'pino'
import type { Logger } from './sink/index.ts'

export type { Logger } from './sink/index.ts'

/** Says nothing; for tests and for commands that print their own output. */
export const silentLog: Logger = { debug() {}, info() {}, warn() {}, error() {} }

export const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal'] as const
export type LogLevel = (typeof LOG_LEVELS)[number]

export interface LogOptions {
  level: LogLevel
  /** JSON for machines, text for a terminal. */
  format: 'json' | 'text'
  colour: boolean
  output: NodeJS.WritableStream
}

/** A logger on pino: a JSON object a line, or a readable line. Errors become their message; no stack below debug. */
export function createLog({ level, format, colour, output }: LogOptions): Logger {
  const destination =
    format === 'json' ? output : { write: (line: string) => output.write(readable(line, colour)) }
  const log = pino(
    {
      level,
      base: null,
      timestamp: () => `,"time":"${new Date().toISOString()}"`,
      formatters: { level: (label) => ({ level: label }) },
      serializers: { error: (error: unknown) => describeError(error, level) },
      redact: {
        paths: [
          'authorization',
          'token',
          'password',
          'secret',
          '*.authorization',
          '*.token',
          '*.password',
          '*.secret',
        ],
        censor: '[redacted]',
      },
    },
    destination as { write(line: string): void },
  )
  return log
}

/** The message, and those of its causes; the stack only for whoever asks for debug. */
function describeError(error: unknown, level: LogLevel): unknown {
  if (!(error instanceof Error)) return error
  const messages = [error.message]
  for (let cause = error.cause; cause instanceof Error; cause = cause.cause) messages.push(cause.message)
  const text = messages.join(': ')
  return level === 'debug' || level === 'trace' ? { message: text, stack: error.stack } : text
}

const COLOURS: Record<string, number> = { trace: 90, debug: 90, info: 32, warn: 33, error: 31, fatal: 31 }

function readable(line: string, colour: boolean): string {
  const { time, level, msg, ...fields } = JSON.parse(line) as Record<string, unknown>
  const word = String(level).padEnd(5)
  const painted = colour ? `\u001b[${COLOURS[String(level)] ?? 0}m${word}\u001b[0m` : word
  const rest = Object.entries(fields).map(
    ([key, value]) => `  ${key}=${typeof value === 'string' ? value : JSON.stringify(value)}`,
  )
  return `${String(time).slice(11, 19)}  ${painted}  ${msg}${printable(rest.join(''))}\n`
}

/** Field values may come from the cluster: no control characters on a terminal. */
function printable(text: string): string {
  return text.replace(/[\u0000-\u001f\u007f-\u009f]+/g, ' ')
}
