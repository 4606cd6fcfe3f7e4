import { randomBytes } from 'node:crypto'
import type { Redis } from 'ioredis'
import {
  type Change,
  type Checkpoint,
  type Comparison,
  FencedError,
  type FormerSource,
  type KnownObject,
  type ScannedObject,
  type Selection,
  type Source,
  type SourceSession,
} from '../change.ts'
import { adoptSource, selectionOf, watchedBefore } from './adopt-source.ts'
import { chunks } from './chunks.ts'
import { KnownEntries } from './known-entries.ts'
import type { SourceKeys } from './overlay.ts'
import {
  FORGET,
  FORGET_OLD,
  FORGET_UNSEEN,
  NOTHING,
  type Preparation,
  prepareDeletions,
  prepareExpiry,
  prepareGone,
  prepareLeaving,
  prepareList,
  prepareSeed,
  prepareWatch,
} from './plan-commit.ts'
import { RuleTimes } from './rule-counts.ts'
import { readCheckpoint, UnreadableCheckpointError } from './stored-json.ts'
import { type StoreParts, transact } from './transact.ts'
import { copyNames, someUnseen } from './unseen.ts'

/** How many deletions that nobody saw one transaction takes; few when each brings the object that was kept. */
const MANY = 1_000
const FEW = 32

/** How many states of limits one transaction gives up. */
const MOST_FORGOTTEN = 200

/** A source on Redis, signed by who works on it: each call is one fenced transaction, or several where it is large. */
export class RedisSession implements SourceSession {
  readonly #parts: StoreParts
  readonly #source: Source
  readonly #holder = randomBytes(6).toString('hex')
  readonly #keys: { checkpoint: string } & SourceKeys
  /** The checkpoint as it stands in Redis, as far as this session knows. */
  #stored: string | null = null
  #comparison: Comparison = 'newer'
  #dueMs: number | undefined
  readonly #times = new RuleTimes()
  readonly #known = new KnownEntries()

  constructor(parts: StoreParts, source: Source) {
    this.#parts = parts
    this.#source = source
    const { keys, old } = parts
    const { resource } = source
    this.#keys = {
      checkpoint: keys.checkpoint(source.key),
      index: keys.index(source.key),
      // Of this session alone: one that was fenced meanwhile must not spoil another's comparison.
      unseen: `${keys.unseen(source.key)}:${this.#holder}`,
      old: keys.old(source.key),
      limits: keys.ownLimits(source.key),
      timers: keys.ownLimitTimers(source.key),
      keep: old?.keeps(resource) ? (object) => old.jsonOf(resource, object) : undefined,
    }
  }

  get checkpoint(): Checkpoint | undefined {
    return readCheckpoint(this.#stored)
  }

  get #isAdopting(): boolean {
    return this.checkpoint?.adopting !== undefined
  }

  get keepsOld(): boolean {
    return this.#keys.keep !== undefined
  }

  get dueMs(): number | undefined {
    return this.#dueMs
  }

  /** Reads where the source stands and signs it: older sessions are fenced from here on. */
  async take(signal: AbortSignal, permit = () => {}): Promise<void> {
    for (;;) {
      permit()
      this.#stored = await this.#parts.line.run((redis) => redis.get(this.#keys.checkpoint), signal)
      if (this.#stored === null) return
      const checkpoint = readCheckpoint(this.#stored)
      if (!checkpoint) throw new UnreadableCheckpointError(this.#keys.checkpoint)
      try {
        await this.#transact({}, this.keepsOld ? NOTHING : FORGET_OLD, signal, true)
        // What an interrupted list of the session before had not seen: nobody can use it any more.
        const left = `${this.#parts.keys.unseen(this.#source.key)}:${checkpoint.holder}`
        return void (await this.#parts.line.run((redis) => redis.unlink(left), signal))
      } catch (error) {
        if (!(error instanceof FencedError)) throw error // the older one has just committed: once more
      }
    }
  }

  async beginSeed(signal: AbortSignal): Promise<void> {
    await this.#describe(signal)
    await this.#transact({ phase: 'seeding', resourceVersion: '' }, FORGET, signal)
    await this.forgetLimits(signal)
  }

  async seed(page: readonly Change[], signal: AbortSignal): Promise<void> {
    for (const part of chunks(page)) await this.#transact({}, prepareSeed(this.#keys, part), signal)
  }

  async adopt(former: FormerSource, signal: AbortSignal): Promise<void> {
    const { line, keys, clock } = this.#parts
    const { source } = former
    const at = readCheckpoint(await line.run((redis) => redis.get(keys.checkpoint(source.key)), signal))
    if (!at) return
    await this.#describe(signal)
    // Before anything moves: after a crash the list must know what was watched.
    const adopting = distinct([...(this.checkpoint?.adopting ?? []), ...watchedBefore(source, at)])
    const isFirst = this.checkpoint?.adopting === undefined
    await this.#transact(
      { phase: 'seeding', resourceVersion: '', adopting },
      isFirst ? FORGET : NOTHING,
      signal,
    )
    const checkpoint = this.#stored ?? ''
    const adopter = { line, keys, clock, key: this.#source.key, checkpoint, keepsOld: this.keepsOld }
    await adoptSource(adopter, former, signal)
    await this.#transact({}, NOTHING, signal, true)
  }

  async beginList(comparison: Comparison, signal: AbortSignal): Promise<void> {
    this.#comparison = comparison
    await this.#describe(signal)
    await this.#transact(this.#isAdopting ? {} : { phase: 'listing' }, FORGET_UNSEEN, signal)
    await copyNames(this.#parts.line, this.#keys, this.#stored ?? '', signal)
  }

  async list(
    page: readonly Change[],
    signal: AbortSignal,
    isNew?: (object: ScannedObject) => boolean,
  ): Promise<void> {
    for (const part of chunks(page))
      await this.#transact({}, prepareList(this.#keys, part, this.#comparison, isNew), signal)
  }

  async endList(
    resourceVersion: string,
    signal: AbortSignal,
    complete = true,
    isSelected?: (object: KnownObject) => boolean,
  ): Promise<void> {
    const listed = this.checkpoint?.phase === 'listing' || this.#isAdopting
    if (listed && complete) await this.#deleteUnseen(signal, isSelected)
    await this.#transact({ phase: 'watching', resourceVersion }, listed ? FORGET_UNSEEN : NOTHING, signal)
  }

  /** Each transaction moves the position with what it writes: a replay of what is durable would be taken for news. */
  async commit(changes: readonly Change[], resourceVersion: string, signal: AbortSignal): Promise<void> {
    const parts = chunks(changes)
    const last = parts.pop() ?? []
    for (const part of parts) {
      const position = part.at(-1)?.object.resourceVersion as string
      await this.#transact({ resourceVersion: position }, prepareWatch(this.#keys, part, this.#known), signal)
    }
    await this.#transact({ resourceVersion }, prepareWatch(this.#keys, last, this.#known), signal)
  }

  async markAbsent(signal: AbortSignal): Promise<void> {
    await this.#describe(signal)
    if (this.#stored !== null) {
      await this.#transact({}, FORGET_UNSEEN, signal)
      await copyNames(this.#parts.line, this.#keys, this.#stored, signal)
      await this.#deleteUnseen(signal)
      await this.forgetLimits(signal)
    }
    await this.#transact({ phase: 'absent', resourceVersion: '' }, FORGET_UNSEEN, signal)
  }

  async expire(signal: AbortSignal): Promise<void> {
    await this.#transact({}, prepareExpiry(this.#keys, this.#parts.clock.now()), signal)
  }

  async forgetLimits(signal: AbortSignal): Promise<void> {
    const { line, clock } = this.#parts
    for (;;) {
      const most = this.keepsOld ? FEW : MOST_FORGOTTEN
      const read = (redis: Redis) => redis.hrandfield(this.#keys.limits, most) as Promise<string[]>
      const some = await line.run(read, signal)
      if (some.length === 0) return
      const uids = [...new Set(some.map((field) => field.slice(0, field.indexOf(':'))))]
      await this.#transact({}, prepareLeaving(this.#keys, uids, clock.now()), signal)
      await this.#transact({}, prepareGone(some), signal)
    }
  }

  async #describe(signal: AbortSignal): Promise<void> {
    const { title, resource, initial, clusterUid, spelling, custom } = this.#source
    const selection = selectionOf(this.#source)
    const text = JSON.stringify({ title, resource, ...selection, initial, clusterUid, spelling, custom })
    await this.#parts.line.run(
      (redis) => redis.hset(this.#parts.keys.sources, this.#source.key, text),
      signal,
    )
  }

  /** Emits DELETED for all that is still unseen and selected; may be repeated after a crash. */
  async #deleteUnseen(signal: AbortSignal, isSelected?: (object: KnownObject) => boolean): Promise<void> {
    const { line, clock } = this.#parts
    for (;;) {
      const some = await someUnseen(line, this.#keys.unseen, this.keepsOld ? FEW : MANY, signal)
      if (!some) return
      await this.#transact({}, prepareDeletions(this.#keys, some, clock.now(), isSelected), signal)
    }
  }

  async #transact(
    move: Partial<Checkpoint>,
    preparation: Preparation,
    signal: AbortSignal,
    opens = false,
  ): Promise<void> {
    const next = this.#nextCheckpoint(move)
    const known = { source: this.#source, keys: this.#keys, stored: this.#stored }
    const memory = { times: this.#times, known: this.#known }
    const { timer } = await transact(this.#parts, { ...known, ...memory, next, preparation, opens }, signal)
    this.#stored = next
    if (timer) this.#dueMs = timer.dueMs
  }

  #nextCheckpoint(move: Partial<Checkpoint>): string {
    const current = this.checkpoint
    // Until the list ends; a seed begins without what was known.
    const adopting = move.adopting ?? (move.phase === undefined ? current?.adopting : undefined)
    const next: Checkpoint = {
      phase: move.phase ?? current?.phase ?? 'listing',
      resourceVersion: move.resourceVersion ?? current?.resourceVersion ?? '',
      sequence: (current?.sequence ?? 0) + 1,
      holder: this.#holder,
      atMs: this.#parts.clock.now(),
      ...(this.#parts.instance !== undefined && { instance: this.#parts.instance }),
      ...(adopting && { adopting }),
    }
    return JSON.stringify(next)
  }
}

function distinct(selections: readonly Selection[]): Selection[] {
  return [...new Map(selections.map((it) => [JSON.stringify(it), it])).values()]
}
