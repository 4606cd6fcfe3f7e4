import { suggest } from '../config/error-messages/suggest.ts'
import type { Problem } from '../config/problem.ts'
import { durationText } from '../sink/duration.ts'

/** A mistake in arguments or configuration: one line on stderr, exit code 2. */
export class UsageError extends Error {
  override name = 'UsageError'
}

/** A configuration with errors. */
export class BadConfiguration extends UsageError {
  readonly problems: readonly Problem[]

  constructor(message: string, problems: readonly Problem[]) {
    super(message)
    this.problems = problems
  }
}

/** There is neither a configuration nor a cluster. */
export class NothingToRun extends UsageError {}

const Duration = durationText({ least: '1s', most: '30d', example: '1h' })

/** Returns the milliseconds of an argument such as `30s`, `1h`, `7d`. */
export function durationOf(option: string, text: string): number {
  const parsed = Duration.safeParse(text)
  if (parsed.success) return parsed.data
  throw new UsageError(`${option} ${text}: ${parsed.error.issues[0]?.message ?? 'is not a duration'}`)
}

const TIME = /^(\d{4}-\d\d-\d\d)T\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d)$/

/** Returns the milliseconds of an argument that is a time with its zone. */
export function timeOf(option: string, text: string): number {
  const [, date = ''] = TIME.exec(text) ?? []
  const atMs = isDate(date) ? Date.parse(text) : Number.NaN
  if (!Number.isNaN(atMs)) return atMs
  throw new UsageError(
    `${option} takes a time such as 2026-11-21T22:30:00Z or 2026-11-21T23:30:00+01:00, and not "${text}"`,
  )
}

/** `Date` takes 30 February for 2 March. */
function isDate(date: string): boolean {
  const ms = Date.parse(date)
  return !Number.isNaN(ms) && new Date(ms).toISOString().startsWith(date)
}

/** Throws `UsageError` for the name of a rule or sink that the configuration does not have. */
export function requireRuleAndSink(
  names: { rule?: string; sink?: string },
  config: { rules: readonly { name: string }[]; sinks: readonly { name: string }[] },
): void {
  const namesOf = (list: readonly { name: string }[]) => list.map(({ name }) => name)
  requireKnown('rule', names.rule, namesOf(config.rules))
  requireKnown('sink', names.sink, namesOf(config.sinks))
}

/** Throws `UsageError` for a name that is not among the known ones. */
export function requireKnown(what: string, name: string | undefined, known: readonly string[]): void {
  if (name === undefined || known.includes(name)) return
  const hint = suggest(name, known, 'there are')
  throw new UsageError(`there is no ${what} "${name}"${hint ? `; ${hint}` : ''}`)
}
