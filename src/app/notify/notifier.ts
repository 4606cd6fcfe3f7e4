import type { Redis } from 'ioredis'
import type { Notify } from '../../config/schema/notify.ts'
import type { Delivery } from '../../model/delivery.ts'
import type { ConfigStatus, SinkStatus, WatchStatus } from '../../model/status.ts'
import type { Logger } from '../../observe/log.ts'
import type { CommitConnection } from '../../store/commit/commit-connection.ts'
import type { Transaction } from '../../store/commit/transaction.ts'
import { beginWithLanes } from '../../store/commit/write-commit.ts'
import type { Enqueued } from '../../store/entry.ts'
import { enqueuedOf, packLanes } from '../../store/entry.ts'
import type { Keys } from '../../store/keys.ts'
import { readLedger } from '../../store/ledger.ts'
import { evalScript } from '../../store/redis/script.ts'
import { repeat } from '../../text/repeat.ts'
import {
  type Cause,
  type CauseName,
  causesOf,
  heartbeatOf,
  JoinedWatches,
  type LastingCause,
  LastingCauses,
  nameOf,
  type OwnReport,
  type OwnState,
} from './causes.ts'
import { isHeartbeatDue, markOfFailure, markOfRecovery, ONCE_MS, quietMs } from './last-report.ts'
import { readDeadLetters } from './new-dead-letters.ts'
import { ownDelivery } from './own-event.ts'
import { parseName, progressOf, recoveryOf } from './recoveries.ts'

interface NotifierParts {
  /** For reads. */
  redis: Redis
  line: CommitConnection
  keys: Keys
  log: Logger
  clock: { now(): number }
  /** The cluster's name. */
  cluster: string
  /** The namespace that the Events are in: that of the pod. */
  namespace: string
  /** Returns `notify` of the configuration in force. */
  settings(): Notify | undefined
  sinkNames(): readonly string[]
  watches(): readonly WatchStatus[]
  metadata(): readonly WatchStatus[]
  sinks(): readonly SinkStatus[]
  config(): ConfigStatus
  laneOf(delivery: Delivery): string
  enqueued(entries: readonly Enqueued[]): void
  pollMs?: number
}

const POLL_MS = 10_000
/** The ledger has a hash for each rule. */
const LEDGER_POLL_MS = 60_000

/**
 * Reports failures of kubeherald itself to a sink, through the same lanes as any delivery: it is in the ledger, waits while the sink
 * fails, and survives a restart. The report that a failure is over follows once. While Redis cannot be used, nothing can be reported.
 */
export function startNotifier(parts: NotifierParts): { close(): Promise<void> } {
  const memory: Memory = {
    lasting: new LastingCauses(),
    over: new LastingCauses(),
    joined: new JoinedWatches(),
    isConfigured: true,
  }
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
  // Dead letters from now on are new.
  void deadLettersOf(parts, parts.settings()).catch(() => {})
  return repeat(
    parts.pollMs ?? POLL_MS,
    async (signal) => {
      await look(parts, memory, isBalanced, signal)
      fault = undefined
    },
    (error) => {
      const message = error instanceof Error ? error.message : String(error)
      if (message !== fault) parts.log.warn({ error: message }, 'own failures cannot be reported')
      fault = message
    },
  )
}

interface Memory {
  lasting: LastingCauses
  over: LastingCauses
  joined: JoinedWatches
  /** Whether the last look had settings; true before the first. */
  isConfigured: boolean
}

async function look(
  parts: NotifierParts,
  memory: Memory,
  isBalanced: () => Promise<boolean>,
  signal: AbortSignal,
): Promise<void> {
  const settings = parts.settings()
  if (!settings) {
    // Once: another process can have settings, as during a rollout.
    if (memory.isConfigured) await parts.redis.del(parts.keys.reportedDeadLetters)
    memory.isConfigured = false
    return
  }
  memory.isConfigured = true
  const { lasting, over, joined } = memory
  const { to, on, heartbeat } = settings
  const dead = await deadLettersOf(parts, settings)
  const state = {
    watches: parts.watches(),
    metadata: parts.metadata(),
    sinks: parts.sinks(),
    config: parts.config(),
    newDeadLetters: dead?.unreported ?? new Map(),
    isLedgerBalanced: on.includes('ledger') ? await isBalanced() : true,
  }
  const nowMs = parts.clock.now()
  const open = await readOpenReports(parts, settings, state)
  const causes = causesOf(state, to).filter((cause) => on.some((it) => it === cause.on))
  const reportOf = (name: string) => open.find((it) => nameOf(it) === name)
  const isOpen = (name: string) => reportOf(name) !== undefined
  for (const cause of joined.of(lasting.of(causes, nowMs), causes, isOpen)) {
    const former = reportOf(nameOf(cause))
    await reportFailure(parts, cause, { to, former, dead: dead?.totals.get(cause.subject) ?? 0 }, signal)
  }
  const recovered = open.filter((it) => progressOf(it, state, isOpen) === 'over')
  for (const report of over.of(recovered, nowMs)) await reportRecovery(parts, report, to, signal)
  const beat = heartbeat && heartbeatOf(state)
  if (beat) await sendHeartbeat(parts, beat, { to: heartbeat.to ?? to, everyMs: heartbeat.every }, signal)
}

/** Returns undefined where nobody asks for reports of dead letters. */
async function deadLettersOf({ redis, keys, sinkNames }: NotifierParts, settings: Notify | undefined) {
  if (!settings) return undefined
  if (settings.on.includes('dead-letter')) return readDeadLetters(redis, keys, sinkNames())
  await redis.del(keys.reportedDeadLetters)
  return undefined
}

/** Enqueues the report of a failure unless one was enqueued within the hour, and none that it is over since. */
async function reportFailure(
  parts: NotifierParts,
  cause: LastingCause<Cause>,
  { to, former, dead }: { to: string; former: OpenReport | undefined; dead: number },
  signal: AbortSignal,
): Promise<void> {
  const { redis, keys, log } = parts
  const name = nameOf(cause)
  const last = await redis.get(keys.reported(name))
  const mark = markOfFailure(last)
  if (mark === undefined) return
  const addMarks = (transaction: Transaction) => {
    transaction.expect(keys.reported(name), last).add('SET', keys.reported(name), mark, 'PX', ONCE_MS)
    if (cause.on === 'dead-letter')
      return transaction.add('HSET', keys.reportedDeadLetters, cause.subject, dead)
    transaction
      .expectFields(keys.openReports, new Map([[name, former ? String(former.beganMs) : null]]))
      .add('SET', keys.lasting(name), 1, 'PX', quietMs(mark))
    return former ? transaction : transaction.add('HSET', keys.openReports, name, cause.sinceMs)
  }
  if (await enqueue(parts, cause, to, addMarks, signal)) log.warn({ cause: name, sink: to }, cause.message)
}

/** Enqueues the report that a failure is over, unless a process has seen it within its quiet time. */
async function reportRecovery(
  parts: NotifierParts,
  report: LastingCause<OpenReport>,
  to: string,
  signal: AbortSignal,
): Promise<void> {
  const { keys, log } = parts
  const name = nameOf(report)
  const recovery = recoveryOf(report, report.beganMs, report.sinceMs)
  const addMarks = (transaction: Transaction) =>
    transaction
      .expect(keys.lasting(name), null)
      .expectFields(keys.openReports, new Map([[name, String(report.beganMs)]]))
      .add('HDEL', keys.openReports, name)
      .add('SET', keys.reported(name), markOfRecovery(report.last), 'PX', ONCE_MS)
  if (await enqueue(parts, recovery, to, addMarks, signal))
    log.info({ cause: name, sink: to }, recovery.message)
}

async function sendHeartbeat(
  parts: NotifierParts,
  beat: OwnReport,
  { to, everyMs }: { to: string; everyMs: number },
  signal: AbortSignal,
): Promise<void> {
  const { redis, keys, clock, laneOf } = parts
  // While the sink fails, heartbeats would pile up. Events that pass in front of it are no reason to leave it out.
  const lane = keys.lane(laneOf(deliveryOf(parts, beat, to)))
  if ((await oldestMs(redis, lane)) <= clock.now() - everyMs) return
  // Each sink has a mark of its own: processes with different configurations do not replace each other's.
  const key = keys.reported(nameOf({ on: beat.on, subject: to }))
  // Older versions have one mark for all sinks.
  const [last = null, former = null] = await redis.mget(key, keys.reported(nameOf(beat)))
  const nowMs = clock.now()
  if (!isHeartbeatDue(last ?? former, everyMs, nowMs)) return
  const addMark = (transaction: Transaction) =>
    transaction.expect(key, last).add('SET', key, nowMs, 'PX', everyMs)
  await enqueue(parts, beat, to, addMark, signal)
}

/** Enqueues a report in a transaction with its marks. Returns false where these are not as expected: another process did it. */
async function enqueue(
  parts: NotifierParts,
  report: OwnReport,
  to: string,
  addMarks: (transaction: Transaction) => Transaction,
  signal: AbortSignal,
): Promise<boolean> {
  const { line, keys, laneOf, enqueued } = parts
  const lanes = packLanes([deliveryOf(parts, report, to)], laneOf)
  const transaction = addMarks(beginWithLanes(keys, lanes))
  const end = await line.commit((redis) => transaction.run(redis, { watching: false }), signal)
  if (end.kind !== 'done') return false
  enqueued(enqueuedOf(lanes, end.replies))
  return true
}

function deliveryOf({ cluster, namespace, clock }: NotifierParts, report: OwnReport, sink: string): Delivery {
  return ownDelivery(report, { sink, cluster, namespace, nowMs: clock.now() })
}

interface OpenReport extends CauseName {
  /** When the failure began. */
  beganMs: number
  /** The mark of what was last reported of it. */
  last: string | null
}

/**
 * Returns the failures that were reported and not yet as over, and marks those that this process sees. Forgets those that nobody
 * reports any more: of a removed sink, or of a kind that `on` does not have.
 */
async function readOpenReports(
  { redis, keys, sinkNames }: NotifierParts,
  { to, on }: Notify,
  state: OwnState,
): Promise<OpenReport[]> {
  const stored = Object.entries(await redis.hgetall(keys.openReports))
  if (stored.length === 0) return []
  const sinks = sinkNames().filter((it) => it !== to)
  const open: OpenReport[] = []
  for (const [name, beganMs] of stored) {
    const cause = parseName(name)
    const isAsked = cause && on.includes(cause.on)
    if (isAsked && (cause.on !== 'sink-failing' || sinks.includes(cause.subject)))
      open.push({ ...cause, beganMs: Number(beganMs), last: await redis.get(keys.reported(name)) })
    else await redis.hdel(keys.openReports, name)
  }
  const isOpen = (name: string) => open.some((it) => nameOf(it) === name)
  for (const report of open)
    if (progressOf(report, state, isOpen) === 'lasts')
      await redis.set(keys.lasting(nameOf(report)), 1, 'PX', quietMs(report.last))
  return open
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
