import type { HistoryRecord } from '../../model/history-record.ts'
import { titleIn } from '../../store/commit/stored-json.ts'
import { isOf } from '../../store/history/history-target.ts'
import { historyExtent, readHistory } from '../../store/history/read-history.ts'
import { readReportsWithRules } from '../../store/process-reports.ts'
import { readHash } from '../../store/redis/scan.ts'
import { watchViews } from '../../store/status-views.ts'
import { objectTitle } from '../../text/object-title.ts'
import { printable } from '../../text/printable.ts'
import { duration } from '../../text/quantities.ts'
import { type OutputOptions, recordText, table } from '../output/format.ts'
import { note } from '../output/notes.ts'
import { durationOf } from '../usage-error.ts'
import { type OpenQueue, openQueue, type QueueOptions } from './open-queue.ts'
import { pastTarget } from './past-target.ts'

interface HistoryOptions extends QueueOptions, OutputOptions {
  since?: string
  rule?: string
  sink?: string
  limit: number
}

/** Prints what became of deliveries, the newest first: of one object, or of all. */
export async function history(object: string | undefined, options: HistoryOptions): Promise<number> {
  const target = object === undefined ? undefined : pastTarget(object)
  const sinceMs = options.since === undefined ? 0 : Date.now() - durationOf('--since', options.since)
  await using queue = await openQueue(options)
  const records: HistoryRecord[] = []
  let isMore = false
  for await (const record of readHistory(queue.redis, queue.keys, {
    target,
    sinceMs,
  })) {
    if (target?.id !== undefined && !isOf(target.id, record)) continue
    if (options.rule !== undefined && record.rule !== options.rule) continue
    if (options.sink !== undefined && !record.sinks.includes(options.sink)) continue
    isMore = records.length === options.limit
    if (isMore) break
    records.push(record)
  }
  const { output } = options
  if (output !== 'table') process.stdout.write(records.map((it) => recordText(it, output)).join(''))
  else process.stdout.write(records.length === 0 ? await nothing(queue, object, options) : asTable(records))
  if (isMore) note(`note: there is more (--limit, --since)\n`)
  return 0
}

/** Returns since when there is a history, or why there is none; where an object was asked for, also what is watched. */
export async function nothing(
  queue: OpenQueue,
  object: string | undefined,
  { sink, rule }: { sink?: string; rule?: string },
): Promise<string> {
  const { oldestMs } = await historyExtent(queue.redis, queue.keys)
  const asked = [object && ` of ${object}`, rule && ` by the rule ${rule}`, sink && ` for the sink ${sink}`]
  const of = asked.filter(Boolean).join('')
  const since =
    oldestMs === undefined
      ? 'there is no history: nothing was delivered since it is kept, or the configuration has "history: false"\n'
      : `nothing${of} was delivered, given up or suppressed since ${timeOf(oldestMs)}, when the history begins\n`
  return object === undefined ? since : since + (await watchedText(queue))
}

const MOST_WATCHED = 20

/** `watched: pods in shop`; while no process watches, what is stored. */
async function watchedText({ redis, keys }: OpenQueue): Promise<string> {
  const live = watchViews({ instances: await readReportsWithRules(redis, keys) })
  const titles =
    live.length > 0
      ? live.map(({ watch }) => watch.title)
      : [...(await readHash(redis, keys.sources))].map(([key, text]) => titleIn(text) ?? key)
  if (titles.length === 0) return 'nothing is watched\n'
  const shown = [...new Set(titles)].toSorted()
  const more = shown.length > MOST_WATCHED ? ` and ${shown.length - MOST_WATCHED} more` : ''
  return `watched: ${printable(shown.slice(0, MOST_WATCHED).join(', '))}${more}; an object that no rule matched is not in the history\n`
}

function asTable(records: readonly HistoryRecord[]): string {
  const rows = records.map((it) => [
    timeOf(it.atMs),
    describeObject(it),
    describeEvent(it),
    it.rule,
    it.sinks.join(','),
    describeOutcome(it),
  ])
  return table([['WHEN', 'OBJECT', 'EVENT', 'RULE', 'SINK', 'OUTCOME'], ...rows])
}

export function describeObject({ event, notice }: HistoryRecord): string {
  if (notice?.kind === 'digest') return `${notice.count} events`
  return objectTitle(event.regarding ?? event)
}

export function describeEvent({ event, notice }: HistoryRecord): string {
  if (notice?.kind === 'digest') return 'digest'
  if (notice?.kind === 'resolved') return 'resolved'
  return event.reason ?? event.type
}

/** `delivered after 3 attempts: 503 Service Unavailable`. */
export function describeOutcome(record: HistoryRecord): string {
  const { outcome, attempts, attemptCount = attempts.length, reason, detail, note } = record
  if (outcome === 'suppressed') return suppressedText(record)
  const last = attempts.at(-1)
  const errors = [...new Set(attempts.flatMap(({ error }) => error ?? []))]
  const tries = attemptCount > 1 ? ` after ${attemptCount} attempts` : ''
  const why = errors.length > 0 ? `: ${errors.at(-1)}` : ''
  if (outcome === 'failed') return `attempt failed${why}; it waits for the next one`
  if (outcome === 'dead') return `dead letter (${reason})${tries}: ${detail}`
  const took = last && attemptCount === 1 ? ` in ${duration(last.tookMs)}` : ''
  return `delivered${record.isReplay ? ' again' : ''}${note === undefined ? '' : ` (${note})`}${took}${tries}${why}`
}

/** `suppressed by throttle until 04:30:12 UTC`, `suppressed by silence 3f9a1c2b until 2026-11-26T10:00:00Z by alice: deploy` */
function suppressedText({ limit, detail, atMs, untilMs }: HistoryRecord): string {
  if (limit === 'silence' && detail !== undefined) return `suppressed by ${detail}`
  const until = untilMs === undefined ? '' : ` until ${untilOf(untilMs, atMs)}`
  // Each further event postpones the end of the incident.
  if (limit === 'acknowledged')
    return `suppressed${until && `${until} or later`}: acknowledged ${detail ?? ''}`.trimEnd()
  return `suppressed by ${limit ?? 'a limit'}${until}`
}

/** Without the date on the day of the record. */
function untilOf(untilMs: number, atMs: number): string {
  const [until, at] = [timeOf(untilMs), timeOf(atMs)]
  return until.slice(0, 10) === at.slice(0, 10) ? until.slice(11) : until
}

/** `2026-11-26 04:21:31 UTC` */
export function timeOf(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 19).replace('T', ' ')} UTC`
}
