import type { HistoryRecord } from '../../model/history-record.ts'
import { historyExtent, readHistory } from '../../store/history/read-history.ts'
import { type OutputOptions, recordText } from '../output/format.ts'
import { note } from '../output/notes.ts'
import { duration, table } from '../output/table.ts'
import { durationOf } from '../usage-error.ts'
import { historyTarget } from './history-target.ts'
import { type OpenQueue, openQueue, type QueueOptions } from './open-queue.ts'

interface HistoryOptions extends QueueOptions, OutputOptions {
  since?: string
  rule?: string
  sink?: string
  limit: number
}

/** Prints what became of deliveries, the newest first: of one object, or of all. */
export async function history(object: string | undefined, options: HistoryOptions): Promise<number> {
  const target = object === undefined ? undefined : historyTarget(object)
  const sinceMs = options.since === undefined ? 0 : Date.now() - durationOf('--since', options.since)
  await using queue = await openQueue(options)
  const records: HistoryRecord[] = []
  let isMore = false
  for await (const record of readHistory(queue.redis, queue.keys, {
    ...(target && { names: target.names }),
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
  else process.stdout.write(records.length === 0 ? await nothing(queue, object) : asTable(records))
  if (isMore) note(`note: there is more (--limit, --since)\n`)
  return 0
}

/** A digest or resolve notification has the id of its event, and more behind it. */
export function isOf(id: string, { event }: HistoryRecord): boolean {
  return event.id === id || event.id.startsWith(`${id}/`)
}

/** Returns since when there is a history, or why there is none. */
export async function nothing({ redis, keys }: OpenQueue, object: string | undefined): Promise<string> {
  const { oldestMs } = await historyExtent(redis, keys)
  const of = object === undefined ? '' : ` of ${object}`
  if (oldestMs === undefined)
    return 'there is no history: nothing was delivered since it is kept, or the configuration has "history: false"\n'
  return `nothing${of} was delivered, given up or suppressed since ${timeOf(oldestMs)}, when the history begins\n`
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
  const { kind, namespace, name } = event.regarding ?? event
  return `${kind} ${namespace === undefined ? '' : `${namespace}/`}${name}`
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

/** `suppressed by throttle`, `suppressed by silence 3f9a1c2b until 2026-11-26T10:00:00Z by alice: deploy` */
function suppressedText({ limit, detail }: HistoryRecord): string {
  if (limit === 'silence' && detail !== undefined) return `suppressed by ${detail}`
  if (limit === 'acknowledged') return `suppressed: acknowledged ${detail ?? ''}`.trimEnd()
  return `suppressed by ${limit ?? 'a limit'}`
}

/** `2026-11-26 04:21:31 UTC` */
export function timeOf(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 19).replace('T', ' ')} UTC`
}
