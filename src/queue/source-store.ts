import { randomBytes } from 'node:crypto'
import type { Redis } from 'ioredis'
import {
  type Change,
  type Checkpoint,
  type Comparison,
  type Decide,
  FencedError,
  type Source,
  type SourceSession,
  type SourceStore,
} from '../change.ts'
import type { Delivery } from '../delivery.ts'
import type { Metrics } from '../metrics.ts'
import type { CommitLine } from './commit-line.ts'
import { decodeIndexEntry, nameOf } from './index-entry.ts'
import type { Keys } from './keys.ts'
import {
  FORGET,
  NOTHING,
  type Preparation,
  prepareDeletions,
  prepareList,
  prepareSeed,
  prepareWatch,
} from './plan-commit.ts'
import { count, packLanes, writeCommit } from './write-commit.ts'

export interface StoreParts {
  line: CommitLine
  keys: Keys
  decide: Decide
  /** Names the lane of a delivery: `<sink>/<lane>`. */
  laneOf(delivery: Delivery): string
  /** Called after a commit with the lanes that got something. */
  onEnqueued(lanes: readonly string[]): void
  metrics: Metrics
  clock: { now(): number }
}

/** How many changes one transaction takes at most; more are split. */
const MAX_CHANGES = 1_000

/** A relist that was given up leaves its names behind; they go after this long. */
const UNSEEN_TTL_MS = 86_400_000

/** Sources on Redis: position, index, lanes and ledger, each call one transaction. */
export function createSourceStore(parts: StoreParts): SourceStore {
  const { line, keys } = parts
  return {
    async open(source, signal) {
      const session = new Session(parts, source)
      await session.take(signal)
      return session
    },
    absentKinds: {
      add: async (kind, signal) =>
        void (await line.run((redis) => redis.sadd(keys.absentKinds, kind), signal)),
      has: async (kind, signal) =>
        (await line.run((redis) => redis.sismember(keys.absentKinds, kind), signal)) === 1,
      remove: async (kind, signal) =>
        void (await line.run((redis) => redis.srem(keys.absentKinds, kind), signal)),
    },
  }
}

class Session implements SourceSession {
  readonly #parts: StoreParts
  readonly #source: Source
  readonly #holder = randomBytes(6).toString('hex')
  readonly #keys: { checkpoint: string; index: string; unseen: string }
  /** The checkpoint as it stands in Redis, as far as this session knows. */
  #stored: string | null = null
  #comparison: Comparison = 'newer'

  constructor(parts: StoreParts, source: Source) {
    this.#parts = parts
    this.#source = source
    const { keys } = parts
    this.#keys = {
      checkpoint: keys.checkpoint(source.key),
      index: keys.index(source.key),
      // Of this session alone: one that was fenced meanwhile must not spoil another's comparison.
      unseen: `${keys.unseen(source.key)}:${this.#holder}`,
    }
  }

  get checkpoint(): Checkpoint | undefined {
    return this.#stored === null ? undefined : (JSON.parse(this.#stored) as Checkpoint)
  }

  /** Reads where the source stands and signs it: older sessions are fenced from here on. */
  async take(signal: AbortSignal): Promise<void> {
    this.#stored = await this.#parts.line.run((redis) => redis.get(this.#keys.checkpoint), signal)
    if (this.#stored !== null) await this.#transact({}, NOTHING, signal)
  }

  async beginSeed(signal: AbortSignal): Promise<void> {
    await this.#describe(signal)
    await this.#transact({ phase: 'seeding', resourceVersion: '' }, FORGET, signal)
  }

  async seed(page: readonly Change[], signal: AbortSignal): Promise<void> {
    for (const part of chunks(page)) await this.#transact({}, prepareSeed(part), signal)
  }

  async beginList(comparison: Comparison, signal: AbortSignal): Promise<void> {
    this.#comparison = comparison
    await this.#describe(signal)
    await this.#transact({ phase: 'listing' }, NOTHING, signal)
    await this.#copyNames(signal)
  }

  async list(page: readonly Change[], signal: AbortSignal): Promise<void> {
    for (const part of chunks(page))
      await this.#transact({}, prepareList(this.#keys, part, this.#comparison), signal)
  }

  async endList(resourceVersion: string, signal: AbortSignal): Promise<void> {
    await this.#deleteUnseen(signal)
    await this.#transact({ phase: 'watching', resourceVersion }, NOTHING, signal)
  }

  async commit(changes: readonly Change[], resourceVersion: string, signal: AbortSignal): Promise<void> {
    const parts = chunks(changes)
    for (const part of parts.slice(0, -1))
      await this.#transact({}, prepareWatch(this.#keys.index, part), signal)
    await this.#transact({ resourceVersion }, prepareWatch(this.#keys.index, parts.at(-1) ?? []), signal)
  }

  async markAbsent(signal: AbortSignal): Promise<void> {
    await this.#describe(signal)
    await this.#copyNames(signal)
    await this.#deleteUnseen(signal)
    await this.#transact({ phase: 'absent', resourceVersion: '' }, NOTHING, signal)
  }

  async #describe(signal: AbortSignal): Promise<void> {
    const { title, resource, namespace, labelSelector, fieldSelector } = this.#source
    const text = JSON.stringify({ title, resource, namespace, labelSelector, fieldSelector })
    await this.#parts.line.run(
      (redis) => redis.hset(this.#parts.keys.sources, this.#source.key, text),
      signal,
    )
  }

  /** Copies the names of all known objects, in steps: the process stays the same size whatever the cluster's. */
  async #copyNames(signal: AbortSignal): Promise<void> {
    const { index, unseen } = this.#keys
    await this.#parts.line.run((redis) => redis.unlink(unseen), signal)
    let cursor = '0'
    do {
      cursor = await this.#parts.line.run((redis) => copyNames(redis, index, unseen, cursor), signal)
    } while (cursor !== '0')
  }

  /** Emits DELETED for all that is still unseen; may be repeated after a crash. */
  async #deleteUnseen(signal: AbortSignal): Promise<void> {
    for (;;) {
      const some = await this.#parts.line.run(
        (redis) => redis.hrandfield(this.#keys.unseen, MAX_CHANGES, 'WITHVALUES') as Promise<string[]>,
        signal,
      )
      if (some.length === 0) return
      const names = some.filter((_, i) => i % 2 === 0)
      const uids = some.filter((_, i) => i % 2 === 1)
      await this.#transact({}, prepareDeletions(this.#keys, names, uids, this.#parts.clock.now()), signal)
    }
  }

  /**
   * One transaction: read under WATCH, decide, write together with the checkpoint. When a reply is lost, the checkpoint
   * tells what happened. It is the one that was tried: it had succeeded. It is the one before: try again; should the first
   * try still be under way, then one of the two fails, because both watch the checkpoint. Any other: fenced.
   */
  async #transact(move: Partial<Checkpoint>, preparation: Preparation, signal: AbortSignal): Promise<void> {
    const { line, metrics, clock, onEnqueued } = this.#parts
    const next = this.#nextCheckpoint(move)
    const startedMs = clock.now()
    let written: Written | undefined
    await line.commit(async (redis) => {
      for (;;) {
        const pipeline = redis.pipeline().watch(this.#keys.checkpoint).get(this.#keys.checkpoint)
        preparation.read(pipeline)
        const [, current, ...replies] = valuesOf(await pipeline.exec())
        if (current === next && written) return void (await redis.unwatch())
        if (current !== this.#stored) {
          await redis.unwatch()
          metrics.fenced.inc({ watch: this.#source.title })
          throw new FencedError(`another process moved the position of ${this.#source.key}`)
        }
        written = await this.#prepareWrite(preparation, replies, redis)
        if (await this.#write(redis, written, next)) return
      }
    }, signal)
    this.#stored = next
    metrics.commitSeconds.observe((clock.now() - startedMs) / 1_000)
    if (!written) return
    count(metrics, this.#source.title, written.plan, written.decision, written.lanes)
    if (written.lanes.size > 0) onEnqueued([...written.lanes.keys()])
  }

  async #prepareWrite(preparation: Preparation, replies: readonly unknown[], redis: Redis): Promise<Written> {
    const plan = await preparation.plan(replies, redis)
    const decision = this.#parts.decide(this.#source, plan.transitions)
    return { plan, decision, lanes: packLanes(decision.deliveries, this.#parts.laneOf) }
  }

  /** False when the checkpoint was touched between read and write. */
  async #write(redis: Redis, { plan, decision, lanes }: Written, next: string): Promise<boolean> {
    const multi = redis.multi()
    writeCommit(multi, this.#parts.keys, { key: this.#source.key, ...this.#keys }, plan, decision, lanes)
    if (plan.unseenDelete.length > 0) multi.pexpire(this.#keys.unseen, UNSEEN_TTL_MS)
    multi.set(this.#keys.checkpoint, next)
    const replies = await multi.exec()
    if (replies === null) return false
    valuesOf(replies)
    return true
  }

  #nextCheckpoint(move: Partial<Checkpoint>): string {
    const current = this.checkpoint
    const next: Checkpoint = {
      phase: move.phase ?? current?.phase ?? 'listing',
      resourceVersion: move.resourceVersion ?? current?.resourceVersion ?? '',
      sequence: (current?.sequence ?? 0) + 1,
      holder: this.#holder,
      atMs: this.#parts.clock.now(),
    }
    return JSON.stringify(next)
  }
}

interface Written {
  plan: Awaited<ReturnType<Preparation['plan']>>
  decision: ReturnType<Decide>
  lanes: ReturnType<typeof packLanes>
}

async function copyNames(redis: Redis, index: string, unseen: string, cursor: string): Promise<string> {
  const [next, fields] = await redis.hscan(index, cursor, 'COUNT', 1_000)
  const names: string[] = []
  for (let i = 0; i < fields.length; i += 2) {
    const { namespace, name } = decodeIndexEntry(fields[i + 1] as string)
    names.push(nameOf({ namespace, name }), fields[i] as string)
  }
  if (names.length > 0)
    await redis
      .pipeline()
      .hset(unseen, ...names)
      .pexpire(unseen, UNSEEN_TTL_MS)
      .exec()
  return next
}

/** The replies of a pipeline; the first error among them is thrown. */
function valuesOf(replies: [error: Error | null, result: unknown][] | null): unknown[] {
  return (replies ?? []).map(([error, result]) => {
    if (error) throw error
    return result
  })
}

function chunks<T>(items: readonly T[]): (readonly T[])[] {
  if (items.length <= MAX_CHANGES) return [items]
  return Array.from({ length: Math.ceil(items.length / MAX_CHANGES) }, (_, i) =>
    items.slice(i * MAX_CHANGES, (i + 1) * MAX_CHANGES),
  )
}
