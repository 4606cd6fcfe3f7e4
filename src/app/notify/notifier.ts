import type { Redis } from 'ioredis'
import type { Notify } from '../../config/schema/notify.ts'
import type { Delivery } from '../../model/delivery.ts'
import type { ConfigStatus, SinkStatus, WatchStatus } from '../../model/status.ts'
import type { Logger } from '../../observe/log.ts'
import type { CommitLine } from '../../store/commit/commit-connection.ts'
import { Transaction } from '../../store/commit/transaction.ts'
import { enqueuedOf, packLanes, writeLanes } from '../../store/commit/write-commit.ts'
import type { Enqueued } from '../../store/entry.ts'
import type { Keys } from '../../store/keys.ts'
import { readLedger } from '../../store/ledger.ts'
import { repeat } from '../../store/limits/repeat.ts'
import { evalScript, valuesOf } from '../../store/redis/script.ts'
import { type Cause, causesOf, heartbeatOf, LastingCauses, nameOf } from './causes.ts'
import { ownDelivery } from './own-event.ts'

interface NotifierParts {
  /** For reads. */
  redis: Redis
  line: CommitLine
  keys: Keys
  log: Logger
  clock: { now(): number }
  /** The cluster's name. */
  cluster: string
  /** The namespace that the Events are in: that of the pod. */
  namespace: string
  /** Of the configuration in force. */
  settings(): Notify | undefined
  sinkNames(): readonly string[]
  watches(): readonly WatchStatus[]
  sinks(): readonly SinkStatus[]
  config(): ConfigStatus
  laneOf(delivery: Delivery): string
  enqueued(entries: readonly Enqueued[]): void
  pollMs?: number
}

const POLL_MS = 10_000
/** The ledger has a hash for each rule. */
const LEDGER_POLL_MS = 60_000
/** Each cause is reported at most once in this time, by whichever process. */
const ONCE_MS = 3_600_000

/**
 * Reports failures of kubeherald itself to a sink, through the same lanes as any delivery: it is in the ledger, waits while the sink
 * fails, and survives a restart. While Redis cannot be used, nothing can be reported.
 */
export function startNotifier(parts: NotifierParts): { close(): Promise<void> } {
  const lasting = new LastingCauses()
  let fault: string | undefined
  const { redis, keys, clock } = parts
  let ledger = { isBalanced: true, readMs: Number.NEGATIVE_INFINITY }
  const isBalanced = async () => {
    if (clock.now() - ledger.readMs >= LEDGER_POLL_MS) {
      const { balanced } = await readLedger(redis, keys, { verify: false })
      ledger = { isBalanced: balanced, readMs: clock.now() }
    }
    return ledger.isBalanced
  }
  return repeat(
    parts.pollMs ?? POLL_MS,
    (signal) => look(parts, lasting, isBalanced, signal),
    (error) => {
      const message = error instanceof Error ? error.message : String(error)
      if (message !== fault) parts.log.warn({ error: message }, 'own failures cannot be reported')
      fault = message
    },
  )
}

async function look(
  parts: NotifierParts,
  lasting: LastingCauses,
  isBalanced: () => Promise<boolean>,
  signal: AbortSignal,
): Promise<void> {
  const settings = parts.settings()
  if (!settings) return
  const { to, on, heartbeat } = settings
  const dead = await readDeadLetters(parts, on.includes('dead-letter'))
  const state = {
    watches: parts.watches(),
    sinks: parts.sinks(),
    config: parts.config(),
    newDeadLetters: dead.unreported,
    isLedgerBalanced: on.includes('ledger') ? await isBalanced() : true,
  }
  const wanted = causesOf(state, to).filter((cause) => on.some((it) => it === cause.on))
  for (const cause of lasting.of(wanted, parts.clock.now())) {
    const count = cause.on === 'dead-letter' ? dead.counts.get(cause.subject) : undefined
    await report(parts, cause, { to, everyMs: ONCE_MS, ...(count !== undefined && { count }) }, signal)
  }
  const beat = heartbeat === undefined ? undefined : heartbeatOf(state)
  if (beat && heartbeat !== undefined) await report(parts, beat, { to, everyMs: heartbeat }, signal)
}

/** Enqueues the report of a cause unless one was enqueued within `everyMs`, in one transaction with the mark of it. */
async function report(
  { redis, line, keys, cluster, namespace, clock, laneOf, enqueued, log }: NotifierParts,
  cause: Cause,
  { to, everyMs, count }: { to: string; everyMs: number; count?: number },
  signal: AbortSignal,
): Promise<void> {
  const name = nameOf(cause)
  const nowMs = clock.now()
  const delivery = ownDelivery(cause, { sink: to, cluster, namespace, nowMs })
  const lanes = packLanes([delivery], laneOf)
  // While the sink fails, heartbeats would pile up. Events that pass in front of it are no reason to leave it out.
  if (cause.on === 'heartbeat' && (await oldestMs(redis, keys.lane(laneOf(delivery)))) <= nowMs - everyMs)
    return
  const transaction = new Transaction().expect(keys.reported(name), null)
  writeLanes(transaction, keys, lanes)
  transaction.add('SET', keys.reported(name), nowMs, 'PX', everyMs)
  if (count !== undefined) transaction.add('HSET', keys.reportedDeadLetters, cause.subject, count)
  const end = await line.commit((redis) => transaction.run(redis, { watching: false }), signal)
  if (end.kind !== 'done') return
  enqueued(enqueuedOf(lanes, end.replies))
  if (cause.on !== 'heartbeat') log.warn({ cause: name, sink: to }, cause.message)
}

/** Returns when the oldest entry of a lane was written, by the clock of Redis; infinity if it is empty. */
async function oldestMs(redis: Redis, lane: string): Promise<number> {
  const id = (await evalScript(redis, OLDEST, [lane], [])) as string | null
  return id === null ? Number.POSITIVE_INFINITY : Number.parseInt(id, 10)
}

const OLDEST = `
local entries = redis.call('XRANGE', KEYS[1], '-', '+', 'COUNT', '1')
return entries[1] and entries[1][1]
`

interface DeadLetterCounts {
  counts: ReadonlyMap<string, number>
  unreported: ReadonlyMap<string, number>
}

/**
 * Returns the dead letters of each sink, and how many of them were not reported. What was there before the first look counts as reported.
 * Retried ones are none any more: then the mark goes down with the count.
 */
async function readDeadLetters(
  { redis, keys, sinkNames }: NotifierParts,
  isAsked: boolean,
): Promise<DeadLetterCounts> {
  const marks = await redis.hgetall(keys.reportedDeadLetters)
  if (!isAsked) {
    if (Object.keys(marks).length > 0) await redis.del(keys.reportedDeadLetters)
    return { counts: new Map(), unreported: new Map() }
  }
  const names = sinkNames()
  const pipeline = redis.pipeline()
  for (const name of names) pipeline.hget(keys.sinkLedger(name), 'dead')
  const values = valuesOf(await pipeline.exec())
  const counts = new Map(names.map((name, i) => [name, Number(values[i] ?? 0)]))
  const moved = names.filter((name) => !(Number(marks[name]) <= (counts.get(name) ?? 0)))
  if (moved.length > 0)
    await redis.hset(keys.reportedDeadLetters, ...moved.flatMap((name) => [name, counts.get(name) ?? 0]))
  const unreported = [...counts].flatMap(([name, count]): [string, number][] => {
    const more = count - Number(marks[name] ?? count)
    return more > 0 ? [[name, more]] : []
  })
  return { counts, unreported: new Map(unreported) }
}
