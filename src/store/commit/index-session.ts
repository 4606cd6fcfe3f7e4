import type {
  AwaitMetadata,
  Change,
  Checkpoint,
  Comparison,
  FormerSource,
  KnownObject,
  ScannedObject,
  Source,
  SourceSession,
} from '../../model/change.ts'
import {
  type CommitPlan,
  FORGET,
  FORGET_UNLISTED,
  NOTHING,
  planDeletions,
  planList,
  planSeed,
  planWatch,
  type SourceKeys,
} from './commit-plan.ts'
import { KnownEntries } from './index-entries.ts'

/** Synthesized deletions in one transaction; few if each contains the previous object. */
const MANY = 1_000
const FEW = 32

/** Names and uids of objects that a list has not listed. */
export interface Unlisted {
  names: readonly string[]
  uids: readonly string[]
}

interface SessionParts {
  enrich?: AwaitMetadata
  clock: { now(): number }
}

/** A source's session, as plans of commits. A subclass executes the plans, in Redis or in memory. */
export abstract class IndexSession implements SourceSession {
  abstract readonly checkpoint: Checkpoint | undefined
  abstract readonly dueMs: number | undefined
  emitted = 0
  protected readonly source: Source
  protected readonly keys: SourceKeys
  /** Entries of the index that the session wrote recently. */
  protected readonly known = new KnownEntries()
  readonly #parts: SessionParts
  #comparison: Comparison = 'newer'
  #otherVersion = false

  constructor(parts: SessionParts, source: Source, keys: SourceKeys) {
    this.#parts = parts
    this.source = source
    this.keys = keys
  }

  /** Executes a plan, and moves the checkpoint, in one transaction. */
  protected abstract transact(move: Partial<Checkpoint>, plan: CommitPlan, signal: AbortSignal): Promise<void>
  /** Stores the description of the source; returns whether the one before had another version of its API. */
  protected abstract describe(signal: AbortSignal): Promise<boolean>
  /** Notes all objects of the index as not listed. */
  protected abstract copyNames(signal: AbortSignal): Promise<void>
  /** Returns at most `most` objects that are not listed; undefined if there are none. */
  protected abstract someUnlisted(most: number, signal: AbortSignal): Promise<Unlisted | undefined>
  abstract adopt(former: FormerSource | undefined, signal: AbortSignal): Promise<void>
  abstract expire(signal: AbortSignal, readMs?: number): Promise<void>
  abstract forgetLimits(signal: AbortSignal): Promise<void>

  get keepsPrevious(): boolean {
    return this.keys.previousJson !== undefined
  }

  get #isAdopting(): boolean {
    return this.checkpoint?.adopting !== undefined
  }

  async beginSeed(signal: AbortSignal): Promise<void> {
    await this.describe(signal)
    await this.transact({ phase: 'seeding', resourceVersion: '' }, FORGET, signal)
    await this.forgetLimits(signal)
  }

  async seed(page: readonly Change[], signal: AbortSignal): Promise<void> {
    for (const part of chunks(page)) await this.transact({}, planSeed(this.keys, part), signal)
  }

  async beginList(comparison: Comparison, signal: AbortSignal): Promise<void> {
    this.#comparison = comparison
    const isOther = await this.describe(signal)
    // A list before it may have ended early.
    this.#otherVersion = isOther || this.#isAdopting || this.checkpoint?.phase === 'listing'
    await this.transact(this.#isAdopting ? {} : { phase: 'listing' }, FORGET_UNLISTED, signal)
    await this.copyNames(signal)
  }

  async list(
    page: readonly Change[],
    signal: AbortSignal,
    isNew?: (object: ScannedObject) => boolean,
  ): Promise<void> {
    await this.#parts.enrich?.(this.source, page, signal)
    const position = this.checkpoint?.resourceVersion ?? ''
    const list = { comparison: this.#comparison, position, otherVersion: this.#otherVersion }
    for (const part of chunks(page)) await this.transact({}, planList(this.keys, part, list, isNew), signal)
  }

  async endList(
    resourceVersion: string,
    signal: AbortSignal,
    complete = true,
    isSelected?: (object: KnownObject) => boolean,
  ): Promise<void> {
    const listed = this.checkpoint?.phase === 'listing' || this.#isAdopting
    if (listed && complete) await this.#deleteUnlisted(signal, isSelected)
    await this.transact({ phase: 'watching', resourceVersion }, listed ? FORGET_UNLISTED : NOTHING, signal)
  }

  /** Each transaction moves the position together with its writes: a replay of durable changes would count as new ones. */
  async commit(changes: readonly Change[], resourceVersion: string, signal: AbortSignal): Promise<void> {
    if (changes.length > 0) await this.#parts.enrich?.(this.source, changes, signal)
    const parts = chunks(changes)
    const last = parts.pop() ?? []
    for (const part of parts) {
      const position = part.at(-1)?.object.resourceVersion as string
      await this.transact({ resourceVersion: position }, planWatch(this.keys, part, this.known), signal)
    }
    await this.transact({ resourceVersion }, planWatch(this.keys, last, this.known), signal)
  }

  async markAbsent(signal: AbortSignal): Promise<void> {
    await this.describe(signal)
    if (this.checkpoint) {
      await this.transact({}, FORGET_UNLISTED, signal)
      await this.copyNames(signal)
      await this.#deleteUnlisted(signal)
      await this.forgetLimits(signal)
    }
    await this.transact({ phase: 'absent', resourceVersion: '' }, FORGET_UNLISTED, signal)
  }

  /** Emits DELETED for all objects that were not listed and are selected; can be repeated after a crash. */
  async #deleteUnlisted(signal: AbortSignal, isSelected?: (object: KnownObject) => boolean): Promise<void> {
    for (;;) {
      const some = await this.someUnlisted(this.keepsPrevious ? FEW : MANY, signal)
      if (!some) return
      await this.#parts.enrich?.(this.source, 'all', signal)
      await this.transact({}, planDeletions(this.keys, some, this.#parts.clock.now(), isSelected), signal)
    }
  }

  /** Returns the checkpoint after a move. */
  protected moved(move: Partial<Checkpoint>, holder: string): Checkpoint {
    const current = this.checkpoint
    // Until the list ends; a seed starts without an index.
    const adopting = move.adopting ?? (move.phase === undefined ? current?.adopting : undefined)
    return {
      phase: move.phase ?? current?.phase ?? 'listing',
      resourceVersion: move.resourceVersion ?? current?.resourceVersion ?? '',
      sequence: (current?.sequence ?? 0) + 1,
      holder,
      atMs: this.#parts.clock.now(),
      ...(adopting && { adopting }),
    }
  }
}

/** Maximum size of one transaction; more is split, but never a single object. */
const MAX_CHANGES = 1_000
const MAX_BYTES = 8 * 1024 * 1024
/** Each large object costs tens of milliseconds, and a transaction is evaluated without a pause. */
const LARGE_BYTES = 128 * 1024
const MAX_LARGE_BYTES = 1024 * 1024

/** Splits into parts of bounded changes and bytes. Changes of one position stay together: it is durable for all or none. */
function chunks(changes: readonly Change[]): (readonly Change[])[] {
  if (changes.length === 0) return []
  const parts: (readonly Change[])[] = []
  let start = 0
  let bytes = 0
  let largeBytes = 0
  let position = ''
  for (const [i, { object }] of changes.entries()) {
    const { length } = object.bytes
    const large = length > LARGE_BYTES ? length : 0
    const isTooLarge = bytes + length > MAX_BYTES || (large > 0 && largeBytes + large > MAX_LARGE_BYTES)
    const full = i - start >= MAX_CHANGES || isTooLarge
    if (i > start && full && object.resourceVersion !== position) {
      parts.push(changes.slice(start, i))
      start = i
      bytes = 0
      largeBytes = 0
    }
    bytes += length
    largeBytes += large
    position = object.resourceVersion
  }
  return [...parts, changes.slice(start)]
}
