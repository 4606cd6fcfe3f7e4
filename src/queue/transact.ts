import type { Redis } from 'ioredis'
import {
  type Decision,
  FencedError,
  PositionLostError,
  type Routing,
  type ScannedObject,
  type Source,
} from '../change.ts'
import type { Resource } from '../event.ts'
import type { JournalBounds } from '../journal-record.ts'
import type { Metrics } from '../metrics.ts'
import type { CommitLine } from './commit-line.ts'
import { type JournalParts, packJournal, writeJournal } from './journal.ts'
import { OLD_TTL_MS } from './kept-objects.ts'
import type { Keys } from './keys.ts'
import { isForeign, LayoutChangedError } from './layout.ts'
import type { Plan, SourceKeys } from './overlay.ts'
import type { Preparation } from './plan-commit.ts'
import { valuesOf } from './replies.ts'
import { UNSEEN_TTL_MS } from './unseen.ts'
import { count, type PackedLanes, packLanes, writeCommit } from './write-commit.ts'

export interface StoreParts {
  line: CommitLine
  /** The process's own, as its report is called; tells others whether the owner of a source is alive. */
  instance?: string
  keys: Keys
  /** Asked once for each commit. */
  routing(): Routing
  /** Called after a commit with the lanes that got something. */
  onEnqueued(lanes: readonly string[]): void
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
}

interface Written {
  plan: Plan
  decision: Decision
  lanes: PackedLanes
  journal?: { entries: readonly Buffer[]; bounds: JournalBounds }
}

/**
 * One transaction: read under WATCH, decide, write together with the checkpoint. Nothing is ever resent. When a reply is
 * lost, the checkpoint tells, on a connection that works, what became of it:
 *
 * - the one that was tried: it had succeeded;
 * - the one before: try again, all of it. The lost EXEC may still lie in a socket and run later; but both watch the
 *   checkpoint and both change it, so whichever runs second is discarded, and the loop finds the first one's value;
 * - any other: somebody else moved it, or Redis lost what it had confirmed. Fenced: the source opens anew from what is stored.
 */
export async function transact(parts: StoreParts, commit: Commit, signal: AbortSignal): Promise<void> {
  const { line, metrics, clock, onEnqueued } = parts
  const startedMs = clock.now()
  const ended = metrics.commitWaits.begin()
  let written: Written | undefined
  // A repeat after a lost reply must decide as the one whose EXEC may still come.
  let routing: Routing | undefined
  const done = line.commit(async (redis) => {
    for (;;) {
      const [[current, layout], ...replies] = await readUnderWatch(redis, parts.keys, commit)
      if (isForeign(layout)) {
        await redis.unwatch()
        throw new LayoutChangedError(layout)
      }
      const { stream } = redis
      if (written && current === commit.next) return void (await redis.unwatch())
      if (current !== commit.stored) {
        await redis.unwatch()
        if (current === null) throw new PositionLostError(LOST)
        metrics.fenced.inc({ watch: commit.source.title })
        throw new FencedError(`another process moved the position of ${commit.source.key}`)
      }
      routing ??= parts.routing()
      written = await prepare(routing, commit, replies, redis)
      addJournal(written, parts, commit)
      // Watched there, executed here: on another connection nothing is watched.
      if (redis.stream !== stream) continue
      if (await write(parts, commit, written, redis)) return
    }
  }, signal)
  await done.finally(ended)
  metrics.commitSeconds.observe((clock.now() - startedMs) / 1_000)
  if (!written) return
  const { plan, decision, lanes } = written
  count(metrics, commit.source.title, plan, decision, lanes)
  decision.trace?.committed()
  const [oldest] = plan.transitions
  if (oldest) metrics.enqueueSeconds.observe(Math.max(0, clock.now() - oldest.observedAtMs) / 1_000)
  if (lanes.size > 0) onEnqueued([...lanes.keys()])
}

const LOST =
  'Redis has lost its data: the position is gone, and with it what waited to be delivered; the watch begins anew'

/** The layout is watched, too: a commit fails when a newer version converts the keys meanwhile. */
async function readUnderWatch(
  redis: Redis,
  { schema }: Keys,
  commit: Commit,
): Promise<[(string | null)[], ...unknown[]]> {
  const { keys, preparation } = commit
  const pipeline = redis.pipeline().watch(keys.checkpoint, schema).mget(keys.checkpoint, schema)
  preparation.read(pipeline)
  return valuesOf(await pipeline.exec()).slice(1) as [(string | null)[], ...unknown[]]
}

async function prepare(
  { decide, laneOf }: Routing,
  { source, preparation }: Commit,
  replies: readonly unknown[],
  redis: Redis,
): Promise<Written> {
  const plan = await preparation.plan(replies, redis)
  const decision = decide(source, plan.transitions)
  return { plan, decision, lanes: packLanes(decision.deliveries, laneOf) }
}

function addJournal(written: Written, { journal }: StoreParts, { source }: Commit): void {
  const { transitions } = written.plan
  const bounds = transitions.length > 0 ? journal?.bounds() : undefined
  if (journal && bounds)
    written.journal = { bounds, entries: packJournal(source, transitions, journal.contentsOf) }
}

/** False when the checkpoint was touched between read and write. */
async function write(
  { keys, clock }: StoreParts,
  { source, keys: own, next }: Commit,
  { plan, decision, lanes, journal }: Written,
  redis: Redis,
): Promise<boolean> {
  const multi = redis.multi()
  writeCommit(multi, keys, { key: source.key, ...own }, plan, decision, lanes)
  if (plan.unseenDelete.length > 0) multi.pexpire(own.unseen, UNSEEN_TTL_MS)
  if (own.keep) multi.pexpire(own.old, OLD_TTL_MS)
  if (journal) writeJournal(multi, keys, journal.entries, journal.bounds, clock.now())
  multi.set(own.checkpoint, next)
  const replies = await multi.exec()
  if (replies === null) return false
  valuesOf(replies)
  return true
}
