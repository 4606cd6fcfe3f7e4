import { pino } from 'pino'
import type { Logger } from '../sink/index.ts'
import { printable, safeJson } from '../text/printable.ts'
import { redactFields, redactMessage } from '../text/redact.ts'

export type { Logger } from '../sink/index.ts'

/** Discards everything; for tests and for commands that print their own output. */
export const silentLog: Logger = { debug() {}, info() {}, warn() {}, error() {} }

/** A logger whose lines all carry these fields. */
export function withFields(log: Logger, fields: object): Logger {
  return {
    debug: (own, message) => log.debug({ ...fields, ...own }, message),
    info: (own, message) => log.info({ ...fields, ...own }, message),
    warn: (own, message) => log.warn({ ...fields, ...own }, message),
    error: (own, message) => log.error({ ...fields, ...own }, message),
  }
}

export const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal'] as const
export type LogLevel = (typeof LOG_LEVELS)[number]

export function isLogLevel(text: string): text is LogLevel {
  return (LOG_LEVELS as readonly string[]).includes(text)
}

export interface LogOptions {
  level: LogLevel
  /** JSON for machines, text for a terminal. */
  format: 'json' | 'text'
  colour: boolean
  output: NodeJS.WritableStream
}

/** A logger that can be given fields which all its lines carry. */
interface Log extends Logger {
  child(fields: object): Log
}

/**
 * A logger on pino: a JSON object a line (`time`, `level`, fields, `msg`), or a readable line. Secrets are taken out of fields
 * and messages. An error is one line with its causes; its stack is shown only from level debug on. Lines with the field `audit: true`,
 * which are about actions of users, are written at every level.
 */
export function createLog({ level, format, colour, output }: LogOptions): Log {
  const withStack = level === 'debug' || level === 'trace'
  // A reader that has gone must not end the program, and the log has no other reader.
  output.on('error', () => {})
  const write = (line: string) => {
    output.write(format === 'json' ? safeJson(line) : readable(JSON.parse(line), colour))
  }
  const options = {
    base: null,
    timestamp: () => `,"time":"${new Date().toISOString()}"`,
    formatters: { level: (label: string) => ({ level: label }) },
  }
  const log = pino({ ...options, level }, { write })
  return redacting(log, pino({ ...options, level: 'info' }, { write }), withStack)
}

/** What pino and its children have in common. */
interface PinoLogger extends Logger {
  child(fields: object): PinoLogger
  isLevelEnabled(level: string): boolean
}

function redacting(log: PinoLogger, audit: PinoLogger, withStack: boolean): Log {
  const write = (level: keyof Logger) => (fields: object, message: string) => {
    const own = 'audit' in fields && fields.audit === true ? audit : log
    if (own.isLevelEnabled(level)) own[level](redactFields(fields, withStack), redactMessage(message))
  }
  return {
    debug: write('debug'),
    info: write('info'),
    warn: write('warn'),
    error: write('error'),
    child: (fields) => {
      const own = redactFields(fields, withStack)
      return redacting(log.child(own), audit.child(own), withStack)
    },
  }
}

const COLOURS: Record<string, number> = { trace: 90, debug: 90, info: 32, warn: 33, error: 31, fatal: 31 }

/** `07:30:12  warn   message  key=value`; stacks come below, a frame a line. */
function readable({ time, level, msg, ...fields }: Record<string, unknown>, colour: boolean): string {
  const word = String(level).padEnd(5)
  const painted = colour ? `\u001b[${COLOURS[String(level)] ?? 0}m${word}\u001b[0m` : word
  const pairs = Object.entries(fields).map(([key, value]) => `  ${key}=${shown(value)}`)
  const stacks = Object.values(fields).flatMap(stackOf)
  const line = `${String(time).slice(11, 19)}  ${painted}  ${printable(`${msg}${pairs.join('')}`)}`
  return [line, ...stacks.map(printable)].join('\n') + '\n'
}

function shown(value: unknown): string {
  if (typeof value === 'string') return /[\s"=]/.test(value) ? JSON.stringify(value) : value
  if (isErrorWithStack(value)) return JSON.stringify(value.message)
  return JSON.stringify(value)
}

function stackOf(value: unknown): string[] {
  return isErrorWithStack(value) ? value.stack.split('\n').slice(1) : []
}

function isErrorWithStack(value: unknown): value is { message: string; stack: string } {
  return typeof value === 'object' && value !== null && 'stack' in value && typeof value.stack === 'string'
}

const EVERY_MS = 60_000

/**
 * Returns a function that limits lines of the log to one in a minute for each subject, so that many requests do not fill it. It returns how
 * many there were since the last line, if another one is due. Subjects are few, and not chosen by strangers.
 */
export function createLogLimit(nowMs = () => performance.now()): (subject: string) => number | undefined {
  const unlogged = new Map<string, number>()
  const loggedMs = new Map<string, number>()
  return (subject) => {
    const count = (unlogged.get(subject) ?? 0) + 1
    unlogged.set(subject, count)
    if (nowMs() - (loggedMs.get(subject) ?? Number.NEGATIVE_INFINITY) < EVERY_MS) return undefined
    loggedMs.set(subject, nowMs())
    unlogged.set(subject, 0)
    return count
  }
}
