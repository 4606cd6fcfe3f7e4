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
import { GuardedTransaction } from './foreign-keys.ts'
import { type JournalParts, packJournal, writeJournal } from './journal.ts'
import { OLD_TTL_MS } from './kept-objects.ts'
import type { Keys } from './keys.ts'
import type { Enqueued } from './lane-feed.ts'
import { isForeign, LayoutChangedError } from './layout.ts'
import { scored } from './limit-states.ts'
import { LimitsTurn } from './limits-turn.ts'
import type { Plan, SourceKeys } from './overlay.ts'
import { enqueuedOf } from './pack-lanes.ts'
import type { Preparation } from './plan-commit.ts'
import { valuesOf } from './replies.ts'
import { readCheckpoint, UnreadableCheckpointError } from './stored-json.ts'
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
  /** The first of its session: it wants to know of timers. */
  opens?: boolean
}

interface Written {
  plan: Plan
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
 * One transaction: read under WATCH, decide, write together with the checkpoint. Nothing is ever resent. When a reply is
 * lost, the checkpoint tells, on a connection that works, what became of it:
 *
 * - the one that was tried: it had succeeded;
 * - the one before: try again, all of it. The lost EXEC may still lie in a socket and run later; but both watch the
 *   checkpoint and both change it, so whichever runs second is discarded, and the loop finds the first one's value. So it is
 *   when another source changed a state of limits that was read;
 * - any other: somebody else moved it, or Redis lost what it had confirmed. Fenced: the source opens anew from what is stored.
 */
export async function transact(parts: StoreParts, commit: Commit, signal: AbortSignal): Promise<Committed> {
  const { line, metrics, clock, onEnqueued, keys } = parts
  const startedMs = clock.now()
  const ended = metrics.commitWaits.begin()
  const turn = new LimitsTurn(keys, commit.next)
  let written: Written | undefined
  // A repeat after a lost reply must decide as the one whose EXEC may still come: by the same rules, as of the same time.
  let routing: Routing | undefined
  let nowMs: number | undefined
  const done = line.commit(async (redis): Promise<Committed> => {
    for (;;) {
      const [[current, layout, whose], ...replies] = await readUnderWatch(redis, keys, commit)
      if (isForeign(layout)) {
        await redis.unwatch()
        throw new LayoutChangedError(layout)
      }
      const { stream } = redis
      if (written && current === commit.next) {
        await redis.unwatch()
        return written.decided.limits ? { timer: await readTimer(redis, commit.keys.timers) } : {}
      }
      if (current !== commit.stored) {
        await redis.unwatch()
        if (current === null) throw new PositionLostError(LOST)
        const checkpoint = readCheckpoint(current ?? null)
        if (!checkpoint) throw new UnreadableCheckpointError(commit.keys.checkpoint)
        if (checkpoint.sequence <= (readCheckpoint(commit.stored)?.sequence ?? 0))
          throw new PositionLostError(ROLLED_BACK)
        metrics.fenced.inc({ watch: commit.source.title })
        throw new FencedError(`another process moved the position of ${commit.source.key}`)
      }
      routing ??= decidingOnce(parts.routing())
      const plan = await commit.preparation.plan(replies, redis)
      const asOf = { now: () => nowMs ?? clock.now() }
      const decideParts = { redis, keys, routing, source: commit.keys, clock: asOf }
      written = { plan, decided: await decideCommit(decideParts, commit.source, plan) }
      addJournal(written, parts, commit)
      // Watched there, executed here: on another connection nothing is watched.
      if (redis.stream !== stream) continue
      nowMs = written.decided.nowMs
      const isShared = (written.decided.limits?.writes.shared.size ?? 0) > 0
      if (isShared && (await turn.isAnothers(redis, whose, signal))) {
        nowMs = undefined
        continue
      }
      const timer = await write(parts, commit, written, { redis, turn, nowMs })
      if (timer) return timer
      // It was discarded for certain, and what others wrote meanwhile is of a later time.
      nowMs = undefined
      if (isShared) await turn.lost(redis)
    }
  }, signal)
  const committed = await done.finally(ended)
  metrics.commitSeconds.observe((clock.now() - startedMs) / 1_000)
  if (!written) return committed
  const { plan, decided } = written
  count(metrics, commit.source.title, plan, decided)
  decided.trace?.committed()
  const [oldest] = plan.transitions
  if (oldest) metrics.enqueueSeconds.observe(Math.max(0, clock.now() - oldest.observedAtMs) / 1_000)
  if (decided.lanes.size > 0) onEnqueued(enqueuedOf(decided.lanes, written.replies))
  return committed
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

/** Who takes a source over counts its sequence on: one that did not grow is of the time before ours. */
const ROLLED_BACK =
  'Redis went back to an older state (it was restarted from an older file, or failed over to a replica that was behind): the watch goes on from the position of then'

/** The layout is watched, too: a commit fails when a newer version converts the keys meanwhile. */
async function readUnderWatch(
  redis: Redis,
  { schema, limitsTurn }: Keys,
  commit: Commit,
): Promise<[(string | null)[], ...unknown[]]> {
  const { keys, preparation } = commit
  const pipeline = redis.pipeline().watch(keys.checkpoint, schema).mget(keys.checkpoint, schema, limitsTurn)
  preparation.read(pipeline)
  return valuesOf(await pipeline.exec()).slice(1) as [(string | null)[], ...unknown[]]
}

function addJournal(written: Written, { journal }: StoreParts, { source }: Commit): void {
  const { transitions } = written.plan
  const bounds = transitions.length > 0 ? journal?.bounds() : undefined
  if (journal && bounds)
    written.journal = { bounds, entries: packJournal(source, transitions, journal.contentsOf) }
}

/** Undefined when the checkpoint, or a state of limits, was touched between read and write. */
async function write(
  { keys, clock }: StoreParts,
  { source, keys: own, next, opens }: Commit,
  written: Written,
  { redis, turn, nowMs }: { redis: Redis; turn: LimitsTurn; nowMs: number },
): Promise<Committed | undefined> {
  const { plan, decided, journal } = written
  const guarded = new GuardedTransaction(redis)
  const { multi } = guarded
  writeCommit(multi, keys, { key: source.key, ...own }, plan, decided, nowMs)
  if (plan.unseenDelete.length > 0) multi.pexpire(own.unseen, UNSEEN_TTL_MS)
  if (own.keep) multi.pexpire(own.old, OLD_TTL_MS)
  if (journal) writeJournal(multi, keys, journal.entries, journal.bounds, clock.now())
  turn.end(multi)
  multi.set(own.checkpoint, next)
  const timed = opens || decided.limits !== undefined
  if (timed) multi.zrange(own.timers, '0', '0', 'WITHSCORES')
  const replies = await guarded.exec(own.checkpoint)
  if (replies === null) return undefined
  const values = valuesOf(replies)
  written.replies = values
  return timed ? { timer: timerOf(values.at(-1)) } : {}
}

async function readTimer(redis: Redis, timers: string): Promise<{ dueMs: number | undefined }> {
  return timerOf(await redis.zrange(timers, '0', '0', 'WITHSCORES'))
}

function timerOf(reply: unknown): { dueMs: number | undefined } {
  return { dueMs: scored(reply)[0]?.score }
}
