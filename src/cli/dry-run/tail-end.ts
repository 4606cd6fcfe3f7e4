import type { EventResult } from '../../app/dry-run/dry-run.ts'
import type { Config } from '../../config/schema.ts'
import { changeTypes } from '../../rules/change-values.ts'
import { compileConditions } from '../../rules/compile.ts'
import { printable } from '../../text/printable.ts'
import { durationOf, UsageError } from '../usage-error.ts'
import type { EventFilter } from './tail-printer.ts'

/** The options that end `tail`. */
export interface TailEndOptions {
  for?: string
  idle?: string
  until?: string
}

/** Decides when `tail` ends. */
export interface TailEnd {
  readonly forMs: number | undefined
  readonly idleMs: number | undefined
  /** The configuration with `--until` as its first rule, which sends nothing: it is evaluated as rules are. */
  withUntil(config: Config): Config
  /** Takes `--until` out of the result of an event. `ends`: the event fulfils it. Warns of its first error. */
  read(result: EventResult, nowMs: number): { result: EventResult; ends: boolean }
  /** Begins to count the time without events. */
  begin(nowMs: number): void
  isIdle(nowMs: number): boolean
  readonly isFulfilled: boolean
  /** Throws unless `--until` is fulfilled, where it is given. */
  requireFulfilled(): void
}

/** No rule can have this name. */
const UNTIL = '--until'

/** Throws `UsageError` for a time or an expression that is wrong. */
export function createTailEnd(options: TailEndOptions, passes: EventFilter): TailEnd {
  const { until } = options
  if (until !== undefined) requireExpression(until)
  const idleMs = options.idle === undefined ? undefined : durationOf('--idle', options.idle)
  let lastMs: number | undefined
  let isFulfilled = false
  let hasFailed = false

  function warnOnce(error: string, { event }: EventResult): void {
    if (hasFailed) return
    hasFailed = true
    const name = `${event.kind} ${event.name}`
    process.stderr.write(
      `warning: --until failed for ${printable(name)}, and is taken for false: ${printable(error)}\n`,
    )
  }

  return {
    forMs: options.for === undefined ? undefined : durationOf('--for', options.for),
    idleMs,
    withUntil: (config) =>
      until === undefined ? config : { ...config, rules: [untilRule(until), ...config.rules] },
    read(result, nowMs) {
      const own = result.rules.find(({ rule }) => rule === UNTIL)
      const rest = own ? { ...result, rules: result.rules.filter((it) => it !== own) } : result
      if (!passes(result.event)) return { result: rest, ends: false }
      if (lastMs !== undefined) lastMs = nowMs
      if (own?.error !== undefined) warnOnce(own.error, result)
      const ends = own !== undefined && own.outcome !== 'failed'
      if (ends) isFulfilled = true
      return { result: rest, ends }
    },
    begin(nowMs) {
      lastMs = nowMs
    },
    isIdle: (nowMs) => idleMs !== undefined && lastMs !== undefined && nowMs - lastMs >= idleMs,
    get isFulfilled() {
      return isFulfilled
    },
    requireFulfilled() {
      if (until !== undefined && !isFulfilled) throw new Error(`no event fulfilled --until '${until}'`)
    },
  }
}

/** It names all changes: a rule that names none does not see that an Event expires. */
function untilRule(until: string): Config['rules'][number] {
  return { name: UNTIL, when: { type: [...changeTypes] }, if: until, to: [] }
}

function requireExpression(text: string): void {
  const result = compileConditions({ if: text })
  if (result.ok) return
  const [fault] = result.faults
  const place = fault?.offset === undefined ? '' : ` at character ${fault.offset + 1}`
  throw new UsageError(`--until${place}: ${fault?.message}${fault?.hint ? `; ${fault.hint}` : ''}`)
}
