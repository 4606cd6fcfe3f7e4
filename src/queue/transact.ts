import type { Redis } from 'ioredis'
import {
  type Decision,
  FencedError,
  PositionLostError,
  type Routing,
  type ScannedObject,
  type Source,
  type Transition,
} from '../change.ts'
import type { Resource } from '../event.ts'
import type { JournalBounds } from '../journal-record.ts'
import type { Metrics } from '../metrics.ts'
import type { CommitLine } from './commit-line.ts'
import { type Decided, decideCommit } from './decided.ts'
import { type JournalParts, packJournal, writeJournal } from './journal.ts'
import { OLD_TTL_MS } from './kept-objects.ts'
import type { Keys } from './keys.ts'
import type { KnownEntries } from './known-entries.ts'
import type { Enqueued } from './lane-feed.ts'
import { isForeign, LAYOUT, LayoutChangedError } from './layout.ts'
import { scored } from './limit-states.ts'
import { LimitsTurn } from './limits-turn.ts'
import type { Plan, SourceKeys } from './overlay.ts'
import { enqueuedOf } from './pack-lanes.ts'
import type { Preparation } from './plan-commit.ts'
import { valuesOf } from './replies.ts'
import type { RuleTimes } from './rule-counts.ts'
import { readCheckpoint, UnreadableCheckpointError } from './stored-json.ts'
import { Transaction } from './transaction.ts'
import { UNSEEN_TTL_MS } from './unseen.ts'
import { count, writeCommit } from './write-commit.ts'

export interface StoreParts {
  line: CommitLine
  /** The process's own, as its report is called; tells others whether the owner of a source is alive. */
  instance?: string
  keys: Keys
  /** Asked once for each commit. */
  routing(): Routing
  /** Called after a commit with what its lanes got. */
  onEnqueued(lanes: readonly Enqueued[]): void
  /** Without it no old objects are kept. */
  old?: OldObjects
  /** Without it no journal is kept. */
  journal?: JournalParts
  metrics: Metrics
  clock: { now(): number }
}

/** Of which resources old objects are kept, so that changes can be told as old → new. */
export interface OldObjects {
  keeps(resource: Resource): boolean
  /** The object as it may leave: trimmed, Secret values hashed. */
  jsonOf(resource: Resource, object: ScannedObject): Buffer
}

/** One commit of a source: the checkpoint it starts from, the one it writes, and what it does besides. */
export interface Commit {
  source: Source
  keys: { checkpoint: string } & SourceKeys
  /** As read or written last by this session; null before the first start. */
  stored: string | null
  /** Unique: it holds the session's name and a sequence number. */
  next: string
  preparation: Preparation
  /** Of the session. */
  times: RuleTimes
  known: KnownEntries
  /** The first of its session: it wants to know of timers. */
  opens?: boolean
}

interface Written {
  plan: Plan
  /** Entries of the index that were not read. */
  assumed: ReadonlyMap<string, string | null> | undefined
  decided: Decided
  journal?: { entries: readonly Buffer[]; bounds: JournalBounds }
  /** Undefined while the replies are not known. */
  replies?: readonly unknown[]
}

/** What a session learns of its commit. */
export interface Committed {
  /** When the first of the source's own states of limits is due, where that may be another time than before. */
  timer?: { dueMs: number | undefined }
}

/**
 * One transaction: read, decide, write together with the checkpoint, where that is still the one that this session wrote last. A
 * source's index and states change with its checkpoint only; what several sources share is watched. Nothing is ever resent. When
 * a reply is lost, the checkpoint tells, on a connection that works, what became of it:
 *
 * - the one that was tried: it had succeeded;
 * - the one before: try again, all of it. The lost one may still lie in a socket and run later; but both want the checkpoint to
 *   be the one before, so whichever runs second does nothing, and finds the first one's value;
 * - any other: somebody else moved it, or Redis lost what it had confirmed. Fenced: the source opens anew from what is stored.
 */
export async function transact(parts: StoreParts, commit: Commit, signal: AbortSignal): Promise<Committed> {
  const { line, metrics, clock, onEnqueued, keys } = parts
  const startedMs = clock.now()
  const ended = metrics.commitWaits.begin()
  const turn = new LimitsTurn(keys, commit.next)
  let written: Written | undefined
  /** It was sent, and its reply lost: its script may still run. */
  let sent: Written | undefined
  // A repeat after a lost reply must decide as the one that may still come: by the same rules, as of the same time.
  let routing: Routing | undefined
  let nowMs: number | undefined
  let assumes = true
  /** What is written is what was sent: one that read later may have found it, and nothing left to do. */
  const found = (last: Written, redis: Redis) => {
    written = sent ?? last
    return foundDone(written, commit, redis)
  }
  const done = line.commit(async (redis): Promise<Committed> => {
    if (written && (await isDone(parts, commit, redis))) return found(written, redis)
    for (;;) {
      const { stream } = redis
      routing ??= decidingOnce(parts.routing())
      const assumed = assumes ? commit.preparation.assume?.() : undefined
      assumes = false
      const plan = await planned(parts, commit, redis, assumed?.replies)
      const asOf = { now: () => nowMs ?? clock.now() }
      const decideParts = { redis, keys, routing, source: commit.keys, clock: asOf }
      written = {
        ...{ plan, assumed: assumed?.entries },
        decided: await decideCommit(decideParts, commit.source, plan),
      }
      addJournal(written, parts, commit)
      // Read there, executed here: on another connection nothing is watched, and it may be one to an older state.
      if (redis.stream !== stream) {
        if (await isDone(parts, commit, redis)) return found(written, redis)
        continue
      }
      nowMs = written.decided.nowMs
      const { watched, limits } = written.decided
      const isShared = watched && (limits?.writes.shared.size ?? 0) > 0
      if (isShared && (await turn.isAnothers(redis, watched.turnOf, signal))) {
        nowMs = undefined
        continue
      }
      const timed = commit.opens === true || limits !== undefined
      sent ??= written
      const end = await prepare(parts, commit, written, { turn, nowMs, timed }).run(redis, {
        watching: watched !== undefined,
      })
      if (end.kind === 'done') {
        written.replies = end.replies
        return timed ? { timer: timerOf(end.replies.at(-1)) } : {}
      }
      // It was discarded for certain, and what others wrote meanwhile is of a later time.
      if (sent === written) sent = undefined
      nowMs = undefined
      if (end.kind === 'lost') await turn.lost(redis)
      else if (await isDone(parts, commit, redis)) return found(written, redis)
    }
  }, signal)
  const committed = await done.finally(ended)
  metrics.commitSeconds.observe((clock.now() - startedMs) / 1_000)
  if (!written) return committed
  const { plan, decided } = written
  count(metrics, commit.source.title, plan, decided)
  commit.times.written(decided.rules, decided.nowMs)
  commit.known.written(plan)
  decided.trace?.committed()
  const [oldest] = plan.transitions
  if (oldest) metrics.enqueueSeconds.observe(Math.max(0, clock.now() - oldest.observedAtMs) / 1_000)
  if (decided.lanes.size > 0) onEnqueued(enqueuedOf(decided.lanes, written.replies))
  return committed
}

/** What the index knows of the objects. A session that was fenced may find less than it left there: that is said first. */
async function planned(
  parts: StoreParts,
  commit: Commit,
  redis: Redis,
  assumed: readonly unknown[] | undefined,
): Promise<Plan> {
  const { preparation } = commit
  if (assumed) return preparation.plan(assumed, redis)
  const pipeline = redis.pipeline()
  preparation.read(pipeline)
  const replies = pipeline.length > 0 ? valuesOf(await pipeline.exec()) : []
  try {
    return await preparation.plan(replies, redis)
  } catch (error) {
    await isDone(parts, commit, redis)
    throw error
  }
}

/** True when the checkpoint is the one that was tried, false when it is the one before; throws for any other, and for another layout. */
async function isDone({ keys, metrics }: StoreParts, commit: Commit, redis: Redis): Promise<boolean> {
  const [current = null, layout = null] = await redis.mget(commit.keys.checkpoint, keys.schema)
  if (isForeign(layout)) throw new LayoutChangedError(layout)
  if (current === commit.next) return true
  if (current === commit.stored) return false
  if (current === null) throw new PositionLostError(layout === null ? LOST : GONE)
  const checkpoint = readCheckpoint(current)
  if (!checkpoint) throw new UnreadableCheckpointError(commit.keys.checkpoint)
  if (checkpoint.sequence <= (readCheckpoint(commit.stored)?.sequence ?? 0))
    throw new PositionLostError(ROLLED_BACK)
  metrics.fenced.inc({ watch: commit.source.title })
  throw new FencedError(`another process moved the position of ${commit.source.key}`)
}

/** Its replies were lost. */
async function foundDone({ decided }: Written, { keys }: Commit, redis: Redis): Promise<Committed> {
  if (!decided.limits) return {}
  return { timer: timerOf(await redis.zrange(keys.timers, '0', '0', 'WITHSCORES')) }
}

/** A repeat finds the index as it was, and so the same transitions: rules are not asked, and what they count not counted, again. */
function decidingOnce(routing: Routing): Routing {
  let last: { transitions: readonly Transition[]; decision: Decision } | undefined
  return {
    ...routing,
    decide(source, transitions) {
      if (!last || !areSame(last.transitions, transitions))
        last = { transitions, decision: routing.decide(source, transitions) }
      return last.decision
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
  'Redis has lost its data: the position is gone, and with it what waited to be delivered; the watch begins anew'

/** Other data is there: it was frozen while its watch was removed or replaced, or a process has begun anew in an empty Redis. */
const GONE =
  'the position is gone: while this process stood still, the watch was removed or another one took it over, or Redis lost its data; the watch begins anew'

/** Who takes a source over counts its sequence on: one that did not grow is of the time before ours. */
const ROLLED_BACK =
  'Redis went back to an older state (it was restarted from an older file, or failed over to a replica that was behind): the watch goes on from the position of then'

function addJournal(written: Written, { journal }: StoreParts, { source }: Commit): void {
  const { transitions } = written.plan
  const bounds = transitions.length > 0 ? journal?.bounds() : undefined
  if (journal && bounds)
    written.journal = { bounds, entries: packJournal(source, transitions, journal.contentsOf) }
}

/** The timer is its last reply. A newer version that converts the keys changes the layout first. */
function prepare(
  { keys, clock }: StoreParts,
  { source, keys: own, stored, next, times }: Commit,
  { plan, decided, journal, assumed }: Written,
  { turn, nowMs, timed }: { turn: LimitsTurn; nowMs: number; timed: boolean },
): Transaction {
  const transaction = new Transaction()
    .expect(own.checkpoint, stored)
    .expect(keys.schema, String(LAYOUT), { orNone: true })
  if (assumed) transaction.expectFields(own.index, assumed)
  writeCommit(transaction, keys, { key: source.key, ...own }, plan, decided, { nowMs, times })
  if (plan.unseenDelete.length > 0) transaction.add('PEXPIRE', own.unseen, UNSEEN_TTL_MS)
  if (own.keep) transaction.add('PEXPIRE', own.old, OLD_TTL_MS)
  if (journal) writeJournal(transaction, keys, journal.entries, journal.bounds, clock.now())
  turn.end(transaction)
  transaction.add('SET', own.checkpoint, next)
  if (timed) transaction.add('ZRANGE', own.timers, '0', '0', 'WITHSCORES')
  return transaction
}

function timerOf(reply: unknown): { dueMs: number | undefined } {
  return { dueMs: scored(reply)[0]?.score }
}
