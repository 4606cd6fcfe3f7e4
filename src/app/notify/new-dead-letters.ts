import type { Redis } from 'ioredis'
import type { Keys } from '../../store/keys.ts'
import { valuesOf } from '../../store/redis/script.ts'

type Counts = ReadonlyMap<string, number>

interface DeadLetterCounts {
  /** Sink → deliveries that ever became dead letters. */
  totals: Counts
  /** Those that no report has counted; only sinks with some. */
  unreported: Counts
}

/**
 * Returns the dead letters of each sink, and how many of them were not reported. What was there before the first look counts as
 * reported.
 */
export async function readDeadLetters(
  redis: Redis,
  keys: Keys,
  sinks: readonly string[],
): Promise<DeadLetterCounts> {
  const marks = await redis.hgetall(keys.reportedDeadLetters)
  const pipeline = redis.pipeline()
  // A retry takes a delivery out of `dead`, and counts it: the sum never falls.
  for (const sink of sinks) pipeline.hmget(keys.sinkLedger(sink), 'dead', 'retried')
  const values = valuesOf(await pipeline.exec()) as (string | null)[][]
  const totals = new Map(
    sinks.map((sink, i) => [sink, (values[i] ?? []).reduce((sum, it) => sum + Number(it ?? 0), 0)]),
  )
  const moved = movedMarks(totals, marks)
  if (moved.size > 0) await redis.hset(keys.reportedDeadLetters, moved)
  const unreported = [...totals].flatMap(([sink, total]): [string, number][] => {
    const more = total - (moved.get(sink) ?? Number(marks[sink] ?? 0))
    return more > 0 ? [[sink, more]] : []
  })
  return { totals, unreported: new Map(unreported) }
}

/**
 * Returns the marks to change: without any, this is the first look. Later a sink without a mark is new, and nothing of it was reported.
 * The counts of a sink that was removed for a week begin again.
 */
function movedMarks(totals: Counts, marks: Readonly<Record<string, string>>): Map<string, number> {
  const isFirst = Object.keys(marks).length === 0
  return new Map([...totals].filter(([sink, total]) => isFirst || Number(marks[sink] ?? 0) > total))
}
