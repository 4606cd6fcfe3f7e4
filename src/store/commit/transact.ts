import type { Redis } from 'ioredis'
import {
  type AwaitMetadata,
  type Evaluation,
  type Evaluator,
  FencedError,
  PositionLostError,
  type ScannedObject,
  type Source,
  type Transition,
} from '../../model/change.ts'
import type { Resource } from '../../model/event.ts'
import type { JournalBounds } from '../../model/journal-record.ts'
import type { Metrics } from '../../observe/metrics.ts'
import type { Enqueued } from '../entry.ts'
import { enqueuedOf } from '../entry.ts'
import { type History, writeSuppressed } from '../history/history.ts'
import type { Keys } from '../keys.ts'
import { CommitFairness } from '../limits/commit-fairness.ts'
import { scored } from '../limits/limit-states.ts'
import type { RuleTimes } from '../limits/rule-counts.ts'
import { isForeign, LAYOUT, LayoutChangedError } from '../redis/layout.ts'
import { valuesOf } from '../redis/script.ts'
import type { CommitConnection } from './commit-connection.ts'
import type { CommitPlan, Plan, Read, SourceKeys } from './commit-plan.ts'
import { type Evaluated, evaluateCommit } from './evaluate.ts'
import type { KnownEntries } from './index-entries.ts'
import { type JournalParts, packJournal, writeJournal } from './journal.ts'
import { PREVIOUS_TTL_MS } from './previous-objects.ts'
import { UNLISTED_TTL_MS } from './relist-diff.ts'
import { readCheckpoint, UnreadableCheckpointError } from './stored-json.ts'
import type { Transaction, TransactionEnd } from './transaction.ts'
import { beginWithLanes, count, writeCommit } from './write-commit.ts'

/** The stages before and after a commit. */
export interface CommitStages {
  /** Called once for each commit, so that a commit uses one configuration from its beginning to its end. */
  evaluator(): Evaluator
  /** Takes the entries that a durable commit wrote into lanes. */
  enqueued(lanes: readonly Enqueued[]): void
}

export interface StoreParts {
  commitConnection: CommitConnection
  /** Name of this process, as in its report: shows other processes whether the owner of a source is alive. */
  instance?: string
  keys: Keys
  stages: CommitStages
  /** Awaited before the transaction of changes begins, so that no other source waits with it. */
  enrich?: AwaitMetadata
  /** Without it, previous objects are not stored. */
  previous?: PreviousStorage
  /** Without it, there is no journal. */
  journal?: JournalParts
  /** Without it, suppressed events are only counted. */
  history?: Pick<History, 'entryOf'>
  metrics: Metrics
  clock: { now(): number }
}

/** The resources whose previous objects are stored, so that messages can show old → new values. */
export interface PreviousStorage {
  stores(resource: Resource): boolean
  /** Returns the object for storage: trimmed, Secret values hashed. */
  jsonOf(resource: Resource, object: ScannedObject): Buffer
  /** Whether there is room for a large object; default: always. Without it, its next change has no old values. */
  hasRoom?(): boolean
}

/** One commit of a source: the expected checkpoint, the new one, and its plan. */
interface Commit {
  source: Source
  keys: { checkpoint: string } & SourceKeys
  /** The checkpoint that this session read or wrote last; null before the first start. */
  stored: string | null
  /** The new checkpoint. Unique: it contains the session's name and a sequence number. */
  next: string
  plan: CommitPlan
  /** Last writes of rules, kept by the session. */
  times: RuleTimes
  known: KnownEntries
  /** The first commit of its session, which reads the timers. */
  opens?: boolean
}

/** The writes of one attempt. */
interface Written {
  plan: Plan
  /** Entries of the index that were assumed instead of read. */
  assumed: ReadonlyMap<string, string | null> | undefined
  evaluated: Evaluated
  journal: { entries: readonly Buffer[]; bounds: JournalBounds } | undefined
  /** Undefined while the replies are unknown. */
  replies?: readonly unknown[]
}

/** The result of a commit for its session. */
interface Committed {
  /** The number of changes. */
  emitted: number
  /** When the first of the source's own limit states is due, if that may have changed. */
  timer?: { dueMs: number | undefined }
}

/**
 * One transaction: read, evaluate, and write together with the checkpoint, if that is still the one that this session wrote last. A
 * source's index and own limit states change only with its checkpoint; shared states are watched. Nothing is resent blindly. When
 * a reply is lost, the checkpoint, read on a working connection, shows the outcome:
 *
 * - the new one: the transaction succeeded;
 * - the previous one: repeat the whole transaction. The lost attempt may still be in a socket and run later; but both expect the
 *   previous checkpoint, so the second to run does nothing, and finds the first one's value;
 * - any other: another process moved it, or Redis lost confirmed data. Throws FencedError: the source must be opened again.
 */
export async function transact(store: StoreParts, commit: Commit, signal: AbortSignal): Promise<Committed> {
  const { commitConnection, metrics, clock, stages } = store
  const startedMs = clock.now()
  const ended = metrics.commitWaits.begin()
  const attempts = new CommitAttempts(store, commit, signal)
  const { written, timer } = await commitConnection
    .commit((redis) => attempts.run(redis), signal)
    .finally(ended)
  metrics.commitSeconds.observe((clock.now() - startedMs) / 1_000)
  const { plan, evaluated, replies } = written
  count(metrics, commit.source.title, plan, evaluated)
  commit.times.written(evaluated.rules, evaluated.nowMs)
  commit.known.written(plan)
  evaluated.trace?.committed()
  const [oldest] = plan.transitions
  if (oldest) metrics.enqueueSeconds.observe(Math.max(0, clock.now() - oldest.observedAtMs) / 1_000)
  if (evaluated.lanes.size > 0) stages.enqueued(enqueuedOf(evaluated.lanes, replies))
  return { emitted: plan.transitions.length, ...(timer && { timer }) }
}

/** A durable commit. */
interface Durable {
  written: Written
  timer?: Committed['timer']
}

/** Repeats a commit until it is durable. */
class CommitAttempts {
  readonly #store: StoreParts
  readonly #commit: Commit
  readonly #signal: AbortSignal
  readonly #turn: CommitFairness
  /** The last attempt. */
  #written: Written | undefined
  /** The first attempt that was sent and not certainly discarded: its script may still run. */
  #sent: Written | undefined
  // A repeat after a lost reply must get the same result as the attempt that may still run: same rules, same time.
  #evaluator: Evaluator | undefined
  #nowMs: number | undefined
  #assumes = true

  constructor(store: StoreParts, commit: Commit, signal: AbortSignal) {
    this.#store = store
    this.#commit = commit
    this.#signal = signal
    this.#turn = new CommitFairness(store.keys, commit.next)
  }

  /** Rejects with errors of the connection; then it is called again on a working one. */
  async run(redis: Redis): Promise<Durable> {
    if (this.#written && (await this.#isDone(redis))) return this.#found(this.#written, redis)
    for (;;) {
      const durable = await this.#attempt(redis)
      if (durable) return durable
    }
  }

  /** Returns undefined if the commit has to be evaluated again. */
  async #attempt(redis: Redis): Promise<Durable | undefined> {
    const { stream } = redis
    const written = await this.#evaluate(redis)
    this.#written = written
    // The reads were on another connection: nothing is watched on this one, and its server may have an older state.
    if (redis.stream !== stream) return (await this.#isDone(redis)) ? this.#found(written, redis) : undefined
    const { watched, limits, nowMs } = written.evaluated
    this.#nowMs = nowMs
    const isShared = watched && (limits?.writes.shared.size ?? 0) > 0
    if (isShared && (await this.#turn.isAnothers(redis, watched.turnOf, this.#signal))) {
      this.#nowMs = undefined
      return undefined
    }
    this.#sent ??= written
    const isTimed = this.#commit.opens === true || limits !== undefined
    const transaction = this.#transaction(written, isTimed)
    const end = await transaction.run(redis, { watching: watched !== undefined })
    if (end.kind !== 'done') return this.#discarded(written, end, redis)
    written.replies = end.replies
    return { written, ...(isTimed && { timer: timerOf(end.replies.at(-1)) }) }
  }

  /** Reads the index, computes the changes, and evaluates rules and limits. */
  async #evaluate(redis: Redis): Promise<Written> {
    const { keys, clock, stages, journal } = this.#store
    const { source, keys: own } = this.#commit
    this.#evaluator ??= evaluatingOnce(stages.evaluator())
    const assumed = this.#assumes ? this.#commit.plan.assume?.() : undefined
    this.#assumes = false
    const plan = await this.#compute(redis, assumed?.replies)
    const asOf = { now: () => this.#nowMs ?? clock.now() }
    const parts = { redis, keys, evaluator: this.#evaluator, source: own, clock: asOf }
    const evaluated = await evaluateCommit(parts, source, plan)
    const bounds = plan.transitions.length > 0 ? journal?.bounds() : undefined
    const packed = journal && bounds && packJournal(source, plan.transitions, journal.contentsOf)
    return { plan, assumed: assumed?.entries, evaluated, journal: packed && { entries: packed, bounds } }
  }

  /** Reads the index, unless its entries are assumed. If the session was fenced, it may lack entries: then FencedError takes precedence. */
  async #compute(redis: Redis, assumed: readonly unknown[] | undefined): Promise<Plan> {
    const { plan } = this.#commit
    const read: Read = async (queue) => {
      const pipeline = redis.pipeline()
      queue(pipeline)
      return pipeline.length > 0 ? valuesOf(await pipeline.exec()) : []
    }
    if (assumed) return plan.compute(assumed, read)
    const replies = await read((reads) => plan.read(reads))
    try {
      return await plan.compute(replies, read)
    } catch (error) {
      await this.#isDone(redis)
      throw error
    }
  }

  /** The timer is the last reply. The layout is compared because a newer version changes it before it converts the keys. */
  #transaction({ plan, evaluated, journal, assumed }: Written, isTimed: boolean): Transaction {
    const { keys, clock, history } = this.#store
    const { source, keys: own, stored, next, times } = this.#commit
    const transaction = beginWithLanes(keys, evaluated.lanes)
      .expect(own.checkpoint, stored)
      .expect(keys.schema, String(LAYOUT), { orNone: true })
    if (assumed) transaction.expectFields(own.index, assumed)
    writeCommit(transaction, keys, { key: source.key, ...own }, plan, evaluated, times)
    if (plan.unlistedDelete.length > 0) transaction.add('PEXPIRE', own.unlisted, UNLISTED_TTL_MS)
    if (own.previousJson) transaction.add('PEXPIRE', own.previous, PREVIOUS_TTL_MS)
    writeSuppressed(transaction, keys, history, evaluated)
    if (journal) writeJournal(transaction, keys, journal.entries, journal.bounds, clock.now())
    this.#turn.end(transaction)
    transaction.add('SET', own.checkpoint, next)
    if (isTimed) transaction.add('ZRANGE', own.timers, '0', '0', 'WITHSCORES')
    return transaction
  }

  /** The transaction was certainly discarded, and other processes' writes since then are later. */
  async #discarded(written: Written, end: TransactionEnd, redis: Redis): Promise<Durable | undefined> {
    if (this.#sent === written) this.#sent = undefined
    this.#nowMs = undefined
    if (end.kind !== 'lost') return (await this.#isDone(redis)) ? this.#found(written, redis) : undefined
    await this.#turn.lost(redis)
    return undefined
  }

  /** An attempt succeeded whose replies were lost. A later attempt may have read its state, and had nothing left to do. */
  async #found(last: Written, redis: Redis): Promise<Durable> {
    const written = this.#sent ?? last
    if (!written.evaluated.limits) return { written }
    const timer = timerOf(await redis.zrange(this.#commit.keys.timers, '0', '0', 'WITHSCORES'))
    return { written, timer }
  }

  /** Returns true if the checkpoint is the new one, false if it is the previous one. Throws for any other, and for another layout. */
  async #isDone(redis: Redis): Promise<boolean> {
    const { keys, metrics } = this.#store
    const { keys: own, next, stored, source } = this.#commit
    const [current = null, layout = null] = await redis.mget(own.checkpoint, keys.schema)
    if (isForeign(layout)) throw new LayoutChangedError(layout)
    if (current === next) return true
    if (current === stored) return false
    if (current === null) throw new PositionLostError(layout === null ? LOST : GONE)
    const checkpoint = readCheckpoint(current)
    if (!checkpoint) throw new UnreadableCheckpointError(own.checkpoint)
    if (checkpoint.sequence <= (readCheckpoint(stored)?.sequence ?? 0))
      throw new PositionLostError(ROLLED_BACK)
    metrics.fenced.inc({ watch: source.title })
    throw new FencedError(`another process moved the position of ${source.key}`)
  }
}

/** A repeat finds the same index, so the same transitions: it must neither evaluate the rules nor count again. */
function evaluatingOnce(evaluator: Evaluator): Evaluator {
  let last: { transitions: readonly Transition[]; evaluation: Evaluation } | undefined
  return {
    ...evaluator,
    evaluate(source, transitions) {
      if (!last || !areSame(last.transitions, transitions))
        last = { transitions, evaluation: evaluator.evaluate(source, transitions) }
      return last.evaluation
    },
  }
}

function areSame(some: readonly Transition[], others: readonly Transition[]): boolean {
  const nameOf = ({ type, uid, resourceVersion }: Transition) => `${type} ${uid} ${resourceVersion}`
  return (
    some.length === others.length && some.every((it, i) => nameOf(it) === nameOf(others[i] as Transition))
  )
}

const LOST =
  'Redis has lost its data: the checkpoint and all waiting deliveries are lost; the watch starts from the current state'

/** Redis has other data: this process was frozen while its watch was removed or replaced, or another process started with an empty Redis. */
const GONE =
  'the checkpoint is gone: while this process was frozen, the watch was removed or taken over, or Redis lost its data; the watch starts from the current state'

/** A process that takes over a source increments its sequence: one that did not grow is older than ours. */
const ROLLED_BACK =
  'Redis went back to an older state (it was restarted from an older file, or failed over to a replica that was behind): the watch resumes from that older checkpoint'

function timerOf(reply: unknown): { dueMs: number | undefined } {
  return { dueMs: scored(reply)[0]?.score }
}
