import { describeSilence, type Silence } from '../../model/control.ts'
import type { Fault } from '../../rules/fault.ts'
import { checkSilence, type KnownNames } from '../../rules/silences/check-silence.ts'
import { matchText, parseMatch } from '../../rules/silences/silence-match.ts'
import {
  addSilence,
  expireSilence,
  type ListedSilence,
  listSilences,
  SilenceRefusedError,
} from '../../store/control/silences.ts'
import { readReportsWithRules } from '../../store/process-reports.ts'
import { printable } from '../../text/printable.ts'
import { relative } from '../../text/quantities.ts'
import { invocation } from '../environment.ts'
import { readDryConfiguration } from '../load-config/configuration.ts'
import { dataText, type OutputOptions, recordText, table } from '../output/format.ts'
import { note } from '../output/notes.ts'
import { type OpenQueue, openQueue, type QueueOptions } from '../queue/open-queue.ts'
import { durationOf, timeOf, UsageError } from '../usage-error.ts'
import { cliActor } from './current-user.ts'

interface AddOptions extends QueueOptions, OutputOptions {
  match?: string[]
  all?: boolean
  for?: string
  from?: string
  until?: string
  reason?: string
  by?: string
}

/** Adds a silence. Throws UsageError with all faults of the arguments. */
export async function add(options: AddOptions): Promise<number> {
  const nowMs = Date.now()
  const { fromMs, untilMs } = timesOf(options, nowMs)
  const match = parseMatch(options.match ?? [])
  if (!match.ok) throw refused(match.faults)
  const { reason = '', all = false } = options
  const by = cliActor(options.by)
  await using queue = await openQueue(options)
  const asked = { match: match.value, fromMs, untilMs, reason, by, all }
  const checked = checkSilence(asked, await knownNames(queue, options), nowMs)
  if (!checked.ok) throw refused(checked.faults)
  const silence = await addSilence(queue.redis, queue.keys, checked.value, nowMs).catch((error: unknown) => {
    throw error instanceof SilenceRefusedError ? new UsageError(error.message) : error
  })
  const { output } = options
  process.stdout.write(output === 'table' ? addedText(silence, nowMs) : dataText(silence, output))
  return 0
}

function addedText(silence: Silence, nowMs: number): string {
  const begins = silence.fromMs > nowMs ? `, from ${new Date(silence.fromMs).toISOString()}` : ''
  note(
    `note: what waits in lanes and digests is still sent; "${invocation(process.env)} silence expire ${silence.id}" ends it\n`,
  )
  return printable(`${describeSilence(silence)}${begins}; it matches ${matchText(silence.match)}`) + '\n'
}

/** Exactly one of `--for` and `--until`. */
function timesOf(
  { for: lasts, from, until }: AddOptions,
  nowMs: number,
): { fromMs: number; untilMs: number } {
  const fromMs = from === undefined ? nowMs : timeOf('--from', from)
  if (lasts === undefined && until === undefined)
    throw new UsageError('a silence needs an end: --for 2h, or --until 2026-11-21T22:30:00Z')
  if (lasts !== undefined && until !== undefined) throw new UsageError('--for and --until exclude each other')
  if (until !== undefined) return { fromMs, untilMs: timeOf('--until', until) }
  return { fromMs, untilMs: fromMs + durationOf('--for', lasts as string) }
}

const OPTIONS: Readonly<Record<string, string>> = {
  match: '--match',
  fromMs: '--from',
  untilMs: '--until',
  reason: '--reason',
  by: '--by',
}

function refused(faults: readonly Fault[]): UsageError {
  const lines = faults.map(({ path, message, hint }) => {
    const [first = 'match', ...rest] = path.map(String)
    const option = OPTIONS[first]
    const where =
      option === undefined
        ? `--match ${[first, ...rest].join('.')}`
        : [option, rest.join('.')].join(' ').trim()
    return `${where}: ${message}${hint === undefined ? '' : `; ${hint}`}`
  })
  return new UsageError(printable(lines.join(' · ')))
}

/** The rules and sinks of the running processes; while none runs, those of the configuration, if it can be read. */
async function knownNames(
  { redis, keys, configuredSinks }: OpenQueue,
  options: QueueOptions,
): Promise<KnownNames> {
  const reports = await readReportsWithRules(redis, keys)
  const rules = reports.flatMap((it) => it.rules?.map(({ rule }) => rule) ?? [])
  const sinks = new Set([...configuredSinks, ...reports.flatMap((it) => it.sinks.map(({ sink }) => sink))])
  if (rules.length > 0) return { rules: [...new Set(rules)], sinks: sinks.size > 0 ? [...sinks] : undefined }
  const configured = options.demo
    ? undefined
    : await readDryConfiguration(options.config).then(
        ({ config }) => config,
        () => undefined,
      )
  return {
    rules: configured?.rules.map(({ name }) => name),
    sinks: configured?.sinks.map(({ name }) => name),
  }
}

interface ListOptions extends QueueOptions, OutputOptions {
  ended?: boolean
}

/** Lists silences that are in force or to come, with `--ended` those of the last day too. */
export async function showSilences(options: ListOptions): Promise<number> {
  await using queue = await openQueue(options)
  const nowMs = Date.now()
  const all = await listSilences(queue.redis, queue.keys, nowMs)
  const shown = all.filter(({ state }) => options.ended || state !== 'ended')
  const { output } = options
  process.stdout.write(
    output === 'table' ? silencesTable(shown, nowMs) : shown.map((it) => recordText(it, output)).join(''),
  )
  return 0
}

/** Ends a silence now. */
export async function expire(id: string, options: QueueOptions): Promise<number> {
  await using queue = await openQueue(options)
  const silence = await expireSilence(queue.redis, queue.keys, id)
  if (!silence)
    throw new UsageError(
      printable(`there is no silence ${id}; "${invocation(process.env)} silence list" shows them`),
    )
  process.stdout.write(`silence ${silence.id} ended at ${new Date(silence.untilMs).toISOString()}\n`)
  return 0
}

export function silencesTable(silences: readonly ListedSilence[], nowMs: number): string {
  if (silences.length === 0) return 'no silences\n'
  const rows = silences.map((it) => [
    it.id,
    it.state === 'pending' ? `begins ${relative(it.fromMs, nowMs)}` : it.state,
    matchText(it.match),
    new Date(it.untilMs).toISOString(),
    it.by,
    it.untested ? `${it.suppressed}, ${it.untested} not tested` : String(it.suppressed),
    it.reason,
  ])
  return table([['SILENCE', 'STATE', 'MATCH', 'UNTIL', 'BY', 'SUPPRESSED', 'REASON'], ...rows])
}
