import type { Change, Source, SourceSession } from '../../model/change.ts'
import { ApiFault, BrokenStream, isExpired } from '../client/api-fault.ts'
import type { ClusterClient } from '../client/cluster-client.ts'
import { DEFAULT_MAX_OBJECT_BYTES, type Oversized } from '../decode/oversized.ts'
import { type InitialState, ListExpired, listObjects } from '../list/list.ts'
import type { PlannedSource } from '../plan/plan.ts'
import { isInShard } from '../plan/shards.ts'
import type { ReflectorStatus } from './reflector-status.ts'
import type { RelistCause } from './retry-policy.ts'
import { comparisonOf } from './takeover.ts'
import { isRefused, isUnsupported, streamInitialState, type WatchRequest } from './watch-stream.ts'

interface RelisterParts {
  client: ClusterClient
  clock: { now(): number }
  random(): number
  maxObjectBytes?: number
  offers: { watchList: boolean }
  report: ReflectorStatus
  /** For a list that comes as a stream. */
  request(): Omit<WatchRequest, 'query'>
}

/** How long one step of a list may take. */
export const LIST_STEP_MS = 180_000

/** Reads what is there, as a stream or in pages, into a session: silently, or as what differs from the index. */
export class Relister {
  readonly #parts: RelisterParts
  readonly #source: PlannedSource
  readonly #signal: AbortSignal
  /** A stream of initial state failed the last time: pages are safer. */
  #inPages = false
  /** Items that could not be read: what a list without them does not show may be there all the same. */
  #unreadable = 0

  constructor(parts: RelisterParts, source: PlannedSource, signal: AbortSignal) {
    this.#parts = parts
    this.#source = source
    this.#signal = signal
  }

  async begin(session: SourceSession): Promise<void> {
    const { initial } = this.#source
    const isFirst = session.checkpoint === undefined || session.checkpoint.phase === 'seeding'
    if (session.checkpoint === undefined && initial === 'emit') return this.list(session)
    this.#parts.report.listing(undefined)
    if (isFirst && typeof initial === 'object' && (await this.#seedAt(initial.resourceVersion, session)))
      return
    await this.#fromOneState(async (whole) => {
      await session.beginSeed(this.#signal)
      const take = (page: readonly Change[]) => session.seed(page, this.#signal)
      const metadataOnly = !session.keepsPrevious
      await session.endList(await this.#eachPage({ metadataOnly, whole }, take), this.#signal)
    })
  }

  /** Indexes the state at a position, so that the watch goes on from there. Returns whether the server still had it. */
  async #seedAt(position: string, session: SourceSession): Promise<boolean> {
    try {
      await this.#fromOneState(async (whole) => {
        await session.beginSeed(this.#signal)
        const take = (page: readonly Change[]) => session.seed(page, this.#signal)
        const how = { metadataOnly: !session.keepsPrevious, whole, at: position }
        await session.endList(await this.#drain(this.#listed(how), take), this.#signal)
      })
      return true
    } catch (error) {
      const isGone = error instanceof ListExpired || (error instanceof ApiFault && isExpired(error.status))
      if (!isGone) throw error
      this.#parts.report.historyGone(position)
      return false
    }
  }

  /** What the index knows is compared with what is there by another selection. `leftOut` knows the rest. */
  async adopt(session: SourceSession, leftOut: readonly Source[]): Promise<void> {
    return this.#compare(session, undefined, comparisonOf(this.#source, session, leftOut))
  }

  /** Everything that differs from the index comes out as a change. */
  async list(session: SourceSession, cause?: RelistCause): Promise<void> {
    return this.#compare(session, cause, {})
  }

  async #compare(
    session: SourceSession,
    cause: RelistCause | undefined,
    { isNew, isSelected }: ReturnType<typeof comparisonOf>,
  ): Promise<void> {
    this.#parts.report.listing(cause)
    await this.#fromOneState(async (whole) => {
      // A list is consistent, so whatever differs is newer, or the cluster went back in time.
      await session.beginList('different', this.#signal)
      this.#unreadable = 0
      const take = (page: readonly Change[]) => session.list(page, this.#signal, isNew)
      const metadataOnly = this.#source.metadataOnly ?? false
      const position = await this.#eachPage({ metadataOnly, whole }, take)
      await session.endList(position, this.#signal, this.#unreadable === 0, isSelected)
    })
  }

  /** Starts over, in one piece, when the server forgets the state that the pages are of. */
  async #fromOneState(list: (whole: boolean) => Promise<void>): Promise<void> {
    try {
      await list(false)
    } catch (error) {
      if (!(error instanceof ListExpired)) throw error
      await list(true)
    }
  }

  async #eachPage(
    how: { metadataOnly: boolean; whole: boolean },
    take: (page: readonly Change[]) => Promise<void>,
  ): Promise<string> {
    const { offers } = this.#parts
    if (!offers.watchList || this.#inPages || how.whole) {
      const position = await this.#drain(this.#listed(how), take)
      this.#inPages = false
      return position
    }
    try {
      return await this.#drain(this.#streamed(how.metadataOnly), take)
    } catch (error) {
      // Some servers ignore the request for initial state, or break off: the next list is in pages.
      this.#inPages = error instanceof BrokenStream
      if (!isRefused(error)) throw error
      if (isUnsupported(error)) offers.watchList = false
      return this.#drain(this.#listed(how), take)
    }
  }

  async #drain(pages: InitialState, take: (page: readonly Change[]) => Promise<void>): Promise<string> {
    try {
      for (;;) {
        const { done, value } = await pages.next()
        this.#parts.report.contact(LIST_STEP_MS)
        if (done) return value
        await take(inScope(this.#source, value, this.#parts.report))
      }
    } finally {
      // Closes the connection when the store fails.
      await pages.return('')
    }
  }

  #listed(how: { metadataOnly: boolean; whole: boolean; at?: string }): InitialState {
    const { client, clock, random, report, maxObjectBytes = DEFAULT_MAX_OBJECT_BYTES } = this.#parts
    report.allow(LIST_STEP_MS)
    const onUnreadable = () => {
      this.#unreadable++
      report.unreadable('an item of a list')
    }
    const onOversized = (oversized: Oversized) => report.oversized(oversized)
    const onRefused = (delayMs: number) => report.contact(delayMs + LIST_STEP_MS)
    const options = { ...how, clock, random, maxObjectBytes, onUnreadable, onOversized, onRefused }
    return listObjects(client, this.#source, options, this.#signal)
  }

  #streamed(metadataOnly: boolean): InitialState {
    const onOversized = (oversized: Oversized) => {
      if (!oversized.object) this.#unreadable++
      this.#parts.report.oversized(oversized)
    }
    return streamInitialState({ ...this.#parts.request(), onOversized }, { metadataOnly }, this.#signal)
  }
}

/** Objects of namespaces that are not wanted, or of other shards, are not there. */
export function inScope(
  { namespaceFilter: filter, shard }: PlannedSource,
  changes: readonly Change[],
  report: ReflectorStatus,
): readonly Change[] {
  const own = shard ? changes.filter(({ object }) => isInShard(object.uid, shard)) : changes
  if (own.length < changes.length) report.notSplit()
  return filter ? own.filter(({ object }) => filter(object.namespace)) : own
}
