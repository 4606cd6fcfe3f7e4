import { randomBytes } from 'node:crypto'
import type { Redis } from 'ioredis'
import {
  type Checkpoint,
  FencedError,
  type FormerSource,
  type Selection,
  type Source,
} from '../../model/change.ts'
import { RuleTimes } from '../limits/rule-counts.ts'
import { adoptSource, selectionOf, watchedBefore } from './adopt-source.ts'
import {
  type CommitPlan,
  FORGET,
  FORGET_PREVIOUS,
  NOTHING,
  planDeselection,
  planExpiry,
  planGone,
} from './commit-plan.ts'
import { IndexSession, type Unlisted } from './index-session.ts'
import { copyNames, someUnlisted } from './relist-diff.ts'
import { readCheckpoint, UnreadableCheckpointError } from './stored-json.ts'
import { type StoreParts, transact } from './transact.ts'

/** Limit states that one transaction ends; few if each has a previous object. */
const MOST_FORGOTTEN = 200
const FEW_FORGOTTEN = 32

/** A source in Redis with its owner: each call is one fenced transaction, or several if it is large. */
export class CheckpointSession extends IndexSession {
  readonly #parts: StoreParts
  readonly #holder: string
  readonly #checkpointKey: string
  /** The checkpoint in Redis, as far as this session knows. */
  #stored: string | null = null
  #dueMs: number | undefined
  readonly #times = new RuleTimes()

  constructor(parts: StoreParts, source: Source) {
    const { keys, previous } = parts
    const { key, resource } = source
    const holder = randomBytes(6).toString('hex')
    super(parts, source, {
      index: keys.index(key),
      // Only of this session: a session that was fenced must not change another session's comparison.
      unlisted: `${keys.unseen(key)}:${holder}`,
      previous: keys.old(key),
      limits: keys.ownLimits(key),
      timers: keys.ownLimitTimers(key),
      previousJson: previous?.stores(resource) ? (object) => previous.jsonOf(resource, object) : undefined,
    })
    this.#parts = parts
    this.#holder = holder
    this.#checkpointKey = keys.checkpoint(key)
  }

  get checkpoint(): Checkpoint | undefined {
    return readCheckpoint(this.#stored)
  }

  get dueMs(): number | undefined {
    return this.#dueMs
  }

  /** Reads the checkpoint and takes ownership: older sessions are fenced from here on. */
  async take(signal: AbortSignal, permit = () => {}): Promise<void> {
    const { commitConnection, keys } = this.#parts
    for (;;) {
      permit()
      this.#stored = await commitConnection.run((redis) => redis.get(this.#checkpointKey), signal)
      if (this.#stored === null) return
      const checkpoint = readCheckpoint(this.#stored)
      if (!checkpoint) throw new UnreadableCheckpointError(this.#checkpointKey)
      try {
        await this.transact({}, this.keepsPrevious ? NOTHING : FORGET_PREVIOUS, signal, true)
        // Deletes the names that an interrupted list of the former session had not found.
        const left = `${keys.unseen(this.source.key)}:${checkpoint.holder}`
        return void (await commitConnection.run((redis) => redis.unlink(left), signal))
      } catch (error) {
        if (!(error instanceof FencedError)) throw error // the older session has just committed: try again
      }
    }
  }

  async adopt(former: FormerSource, signal: AbortSignal): Promise<void> {
    const { commitConnection, keys } = this.#parts
    const { source } = former
    const at = readCheckpoint(
      await commitConnection.run((redis) => redis.get(keys.checkpoint(source.key)), signal),
    )
    if (!at) return
    await this.describe(signal)
    // Before anything moves: after a crash the list needs the former selection.
    const before = this.checkpoint?.adopting
    const adopting = distinct([...(before ?? []), ...watchedBefore(source, at)])
    const move = { phase: 'seeding', resourceVersion: '', adopting } as const
    await this.transact(move, before === undefined ? FORGET : NOTHING, signal)
    const checkpoint = this.#stored ?? ''
    const adopter = {
      commitConnection,
      keys,
      key: this.source.key,
      checkpoint,
      keepsPrevious: this.keepsPrevious,
    }
    await adoptSource(adopter, former, signal)
    await this.transact({}, NOTHING, signal, true)
  }

  async expire(signal: AbortSignal): Promise<void> {
    await this.transact({}, planExpiry(this.keys, this.#parts.clock.now()), signal)
  }

  async forgetLimits(signal: AbortSignal): Promise<void> {
    const { commitConnection, clock } = this.#parts
    for (;;) {
      const most = this.keepsPrevious ? FEW_FORGOTTEN : MOST_FORGOTTEN
      const read = (redis: Redis) => redis.hrandfield(this.keys.limits, most) as Promise<string[]>
      const some = await commitConnection.run(read, signal)
      if (some.length === 0) return
      const uids = [...new Set(some.map((field) => field.slice(0, field.indexOf(':'))))]
      await this.transact({}, planDeselection(this.keys, uids, clock.now()), signal)
      await this.transact({}, planGone(some), signal)
    }
  }

  protected async describe(signal: AbortSignal): Promise<void> {
    const { title, resource, initial, clusterUid, spelling, custom } = this.source
    const selection = selectionOf(this.source)
    const text = JSON.stringify({ title, resource, ...selection, initial, clusterUid, spelling, custom })
    const { commitConnection, keys } = this.#parts
    await commitConnection.run((redis) => redis.hset(keys.sources, this.source.key, text), signal)
  }

  protected async copyNames(signal: AbortSignal): Promise<void> {
    const keys = { ...this.keys, checkpoint: this.#checkpointKey }
    await copyNames(this.#parts.commitConnection, keys, this.#stored ?? '', signal)
  }

  protected someUnlisted(most: number, signal: AbortSignal): Promise<Unlisted | undefined> {
    return someUnlisted(this.#parts.commitConnection, this.keys.unlisted, most, signal)
  }

  protected async transact(
    move: Partial<Checkpoint>,
    plan: CommitPlan,
    signal: AbortSignal,
    opens = false,
  ): Promise<void> {
    const { instance } = this.#parts
    const next = JSON.stringify({
      ...this.moved(move, this.#holder),
      ...(instance !== undefined && { instance }),
    })
    const keys = { ...this.keys, checkpoint: this.#checkpointKey }
    const own = { source: this.source, keys, stored: this.#stored, times: this.#times, known: this.known }
    const { timer, emitted } = await transact(this.#parts, { ...own, next, plan, opens }, signal)
    this.#stored = next
    this.emitted += emitted
    if (timer) this.#dueMs = timer.dueMs
  }
}

function distinct(selections: readonly Selection[]): Selection[] {
  return [...new Map(selections.map((it) => [JSON.stringify(it), it])).values()]
}
