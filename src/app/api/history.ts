import type { Redis } from 'ioredis'
import type { HistoryRecord } from '../../model/history-record.ts'
import type { Caller } from '../../observe/server/access.ts'
import { kindsOf, objectTarget } from '../../store/history/history-target.ts'
import { type HistoryBounds, isHistoryCursor, readHistoryPage } from '../../store/history/read-history.ts'
import type { Keys } from '../../store/keys.ts'
import { TimeSlice } from '../../text/yielding.ts'
import type { History, HistoryQuery, StreamQuery } from './contract.ts'
import { ApiError } from './routes.ts'
import { visibleRecord } from './scope.ts'

/** A page reads no more than this, whether it is wanted or not; `next` goes on behind it. */
export const HISTORY_BOUNDS: HistoryBounds = { withinMs: 1_500, records: 50_000, bytes: 32 * 1_048_576 }

/** Returns whether a record is wanted: each part of the filter that is given holds. */
export function recordFilter(query: StreamQuery): (record: HistoryRecord) => boolean {
  const { sink, rule, outcome, kind, namespace, name } = query
  const kinds = kind === undefined ? undefined : new Set(kindsOf(kind))
  // Hundreds of filters test each record: first what rejects most.
  return (record) => {
    const object = record.event.regarding ?? record.event
    return (
      (name === undefined || object.name === name) &&
      (namespace === undefined || object.namespace === namespace) &&
      (outcome === undefined || record.outcome === outcome) &&
      (rule === undefined || record.rule === rule) &&
      (sink === undefined || record.sinks.includes(sink)) &&
      (!kinds || kinds.has(object.kind.toLowerCase()))
    )
  }
}

/** Equal for filters that want the same, such as of several spellings of a kind. */
export function filterKey({ sink, rule, outcome, kind, namespace, name }: StreamQuery): string {
  return JSON.stringify([sink, rule, outcome, kind && kindsOf(kind), namespace, name])
}

/** Returns a page of the history. One for which too much would be read is shorter, and has `stoppedAtMs` and `next`. */
export async function historyPage(
  { redis, keys }: { redis: Redis; keys: Keys },
  query: HistoryQuery,
  caller: Pick<Caller, 'namespaces'>,
  signal: AbortSignal,
  bounds = HISTORY_BOUNDS,
): Promise<History> {
  const { limit, since, until, cursor, kind, namespace, name } = query
  requireCursor(cursor)
  const isWanted = recordFilter(query)
  // With kind and name Redis finds the records; an object without a namespace may be one of the cluster, or any.
  const isExact = kind !== undefined && name !== undefined && namespace !== undefined
  const target = isExact ? objectTarget(kind, namespace, name) : undefined
  const items: HistoryRecord[] = []
  const timeSlice = new TimeSlice()
  for await (const placed of readHistoryPage(redis, keys, {
    target,
    ...(since !== undefined && { sinceMs: since }),
    ...(until !== undefined && { untilMs: until }),
    cursor,
    signal,
    bounds,
  })) {
    const { cursor: next, record: found } = placed
    if (!found) return { items: items.map(asItem), next, stoppedAtMs: placed.stoppedAtMs }
    const record = visibleRecord(caller, found)
    if (record && isWanted(record)) items.push(record)
    if (items.length === limit) return { items: items.map(asItem), next }
    if (timeSlice.isDue()) await timeSlice.take()
  }
  return { items: items.map(asItem) }
}

export function requireCursor(cursor: string | undefined): void {
  if (cursor !== undefined && !isHistoryCursor(cursor))
    throw new ApiError(400, 'query.cursor: is not the `next` of an answer')
}

/** Lists of the contract can be changed. */
export function asItem(record: HistoryRecord): History['items'][number] {
  const { sinks, attempts, notice, ...rest } = record
  return {
    ...rest,
    sinks: [...sinks],
    attempts: attempts.map((it) => ({ ...it, tookMs: Math.max(0, it.tookMs) })),
    ...(notice && {
      notice: notice.kind === 'digest' ? { ...notice, objects: [...notice.objects] } : notice,
    }),
  }
}
