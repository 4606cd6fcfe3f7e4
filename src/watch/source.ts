import { setTimeout as pause } from 'node:timers/promises'
import { type Change, FencedError, type SourceSession, type SourceStore } from '../change.ts'
import { ApiFault, BrokenStream } from './api-fault.ts'
import type { ClusterClient } from './cluster-client.ts'
import { afterEnd, afterFault, type History, NO_HISTORY, type RelistCause, type Step } from './decide.ts'
import { currentPosition, type InitialState, ListExpired, listObjects } from './list.ts'
import type { PlannedSource } from './plan.ts'
import { isOlder } from './position.ts'
import { isInShard } from './shards.ts'
import { SourceReport, type SourceReportParts, WAITS_FOR_REDIS_MS } from './source-report.ts'
import { standBy } from './stand-by.ts'
import { watchStream } from './stream.ts'
import type { Timing } from './timing.ts'
import { isRefused, isUnsupported, streamInitialState } from './watch-list.ts'

export interface SourceParts extends SourceReportParts {
  client: ClusterClient
  store: SourceStore
  random(): number
  timing: Timing
  /** Whether the server streams initial state; learned by the first source that asks. */
  offers: { watchList: boolean }
  clusterUid(signal: AbortSignal): Promise<string>
  /** True when the resource is gone for certain: its CustomResourceDefinition is. */
  isGone(source: PlannedSource, signal: AbortSignal): Promise<boolean>
}

/** Why a source ended by itself: its resource is not served (any more, or in this version), or another cluster answers. */
export type SourceEnd = 'stopped' | 'missing' | 'other-cluster'

/**
 * Follows one source until its signal: first list, watch, and from whatever goes wrong back to a position that is
 * durable. A fault is never an end; what cannot be mended here is tried again slowly, and status says why.
 */
export async function runSource(
  parts: SourceParts,
  source: PlannedSource,
  signal: AbortSignal,
): Promise<SourceEnd> {
  const run = new SourceRun(parts, source, signal)
  try {
    return await run.follow()
  } catch (error) {
    if (signal.aborted) return 'stopped'
    throw error
  }
}

class SourceRun {
  readonly #parts: SourceParts
  readonly #source: PlannedSource
  readonly #signal: AbortSignal
  readonly #report: SourceReport
  #history: History = NO_HISTORY
  #relist: RelistCause | undefined
  /** At the start nobody knows what happened to the cluster meanwhile. */
  #verify = true
  /** Another process took the source. */
  #fenced = false
  /** A stream of initial state failed the last time: pages are safer. */
  #inPages = false
  /** Items that could not be read: what a list without them does not show may be there all the same. */
  #unreadable = 0

  constructor(parts: SourceParts, source: PlannedSource, signal: AbortSignal) {
    this.#parts = parts
    this.#source = source
    this.#signal = signal
    this.#report = new SourceReport(parts, source.title)
  }

  async follow(): Promise<SourceEnd> {
    let session: SourceSession | undefined
    for (;;) {
      this.#signal.throwIfAborted()
      const startedMs = this.#parts.clock.now()
      let step: Step
      try {
        session ??= await this.#open()
        const end = await this.#attempt(session)
        if (end === 'other-cluster') return end
        step = afterEnd(end, this.#history, this.#parts.timing, this.#parts.random)
      } catch (error) {
        this.#signal.throwIfAborted()
        if (this.#parts.clock.now() - startedMs >= this.#parts.timing.healthyMs) this.#history = NO_HISTORY
        step = afterFault(error, this.#history, this.#parts.timing, this.#parts.random)
        this.#report.trouble(error, step)
        if (step.missing) {
          if (session) await this.#markIfGone(session)
          await this.#prepare(step)
          return 'missing'
        }
        this.#fenced = error instanceof FencedError
        // A session that failed in the middle of a write must read again where it stands.
        if (!(error instanceof ApiFault)) session = undefined
      }
      await this.#prepare(step)
    }
  }

  async #open(): Promise<SourceSession> {
    // Redis being away is a known reason to wait; its own check says so.
    this.#report.allow(WAITS_FOR_REDIS_MS)
    if (this.#fenced) await standBy(this.#parts, this.#source, this.#report, this.#signal)
    this.#fenced = false
    return this.#parts.store.open(this.#source, this.#signal)
  }

  /** List if there is something to list, then one watch. */
  async #attempt(session: SourceSession): Promise<'other-cluster' | { livedMs: number; silent: boolean }> {
    if (this.#verify && (await this.#parts.clusterUid(this.#signal)) !== this.#source.clusterUid)
      return 'other-cluster'
    const phase = session.checkpoint?.phase
    if (phase === undefined || phase === 'seeding') await this.#begin(session)
    else if (phase === 'listing' || phase === 'absent') await this.#list(session)
    else if (this.#relist) await this.#list(session, this.#relist)
    else if (this.#verify && (await this.#wentBack(session))) await this.#list(session, 'regression')
    this.#verify = false
    return this.#watch(session)
  }

  async #begin(session: SourceSession): Promise<void> {
    if (session.checkpoint === undefined && this.#source.initial === 'emit') return this.#list(session)
    this.#report.listing(undefined)
    await this.#fromOneState(async (whole) => {
      await session.beginSeed(this.#signal)
      const take = (page: readonly Change[]) => session.seed(page, this.#signal)
      const metadataOnly = !session.keepsOld
      await session.endList(await this.#eachPage({ metadataOnly, whole }, take), this.#signal)
    })
  }

  /** Everything that differs from the index comes out as a change. */
  async #list(session: SourceSession, cause?: RelistCause): Promise<void> {
    this.#report.listing(cause)
    await this.#fromOneState(async (whole) => {
      // A list is consistent, so whatever differs is newer, or the cluster went back in time.
      await session.beginList('different', this.#signal)
      this.#unreadable = 0
      const take = (page: readonly Change[]) => session.list(page, this.#signal)
      const position = await this.#eachPage({ metadataOnly: false, whole }, take)
      await session.endList(position, this.#signal, this.#unreadable === 0)
    })
  }

  /** Begins anew, in one piece, when the server forgets the state that the pages are of. */
  async #fromOneState(list: (whole: boolean) => Promise<void>): Promise<void> {
    try {
      await list(false)
    } catch (error) {
      if (!(error instanceof ListExpired)) throw error
      await list(true)
    }
    this.#relist = undefined
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
      // Some servers ignore the wish for initial state, or break off: the next list is in pages.
      this.#inPages = error instanceof BrokenStream
      if (!isRefused(error)) throw error
      if (isUnsupported(error)) offers.watchList = false
      return this.#drain(this.#listed(how), take)
    }
  }

  async #drain(pages: InitialState, take: (page: readonly Change[]) => Promise<void>): Promise<string> {
    for (;;) {
      const { done, value } = await pages.next()
      this.#report.contact(LIST_STEP_MS)
      if (done) return value
      await take(this.#inScope(value))
    }
  }

  #listed(how: { metadataOnly: boolean; whole: boolean }): InitialState {
    const { client, clock } = this.#parts
    this.#report.allow(LIST_STEP_MS)
    const onUnreadable = () => {
      this.#unreadable++
      this.#report.unreadable('an item of a list')
    }
    return listObjects(client, this.#source, { ...how, clock, onUnreadable }, this.#signal)
  }

  #streamed(metadataOnly: boolean): InitialState {
    return streamInitialState(this.#request(LIST_SECONDS), { metadataOnly }, this.#signal)
  }

  /** An older position than ours: etcd was restored, and a watch from ours would be silent for ever. */
  async #wentBack(session: SourceSession): Promise<boolean> {
    const stored = session.checkpoint?.resourceVersion ?? ''
    return isOlder(await currentPosition(this.#parts.client, this.#source, this.#signal), stored)
  }

  async #watch(session: SourceSession): Promise<{ livedMs: number; silent: boolean }> {
    const { clock, timing, random } = this.#parts
    const [least, most] = timing.watchSeconds
    const resourceVersion = session.checkpoint?.resourceVersion ?? ''
    const accepted = () => this.#report.watching(session.checkpoint?.resourceVersion ?? '')
    const request = this.#request(Math.round(least + random() * (most - least)), accepted)
    const startedMs = clock.now()
    let silent = true
    let committedMs = startedMs
    let position: string | undefined
    for await (const batch of watchStream({ ...request, query: { resourceVersion } }, this.#signal)) {
      silent = false
      const changes = this.#inScope(batch.changes)
      position = batch.resourceVersion
      if (changes.length === 0 && clock.now() - committedMs < timing.positionEveryMs) continue
      await this.#commit(session, changes, position)
      committedMs = clock.now()
      position = undefined
    }
    if (position !== undefined) await this.#commit(session, [], position)
    return { livedMs: clock.now() - startedMs, silent }
  }

  async #commit(session: SourceSession, changes: readonly Change[], resourceVersion: string): Promise<void> {
    await session.commit(changes, resourceVersion, this.#signal)
    this.#history = { ...NO_HISTORY, fences: this.#history.fences }
    this.#report.moved(resourceVersion)
  }

  #request(timeoutSeconds: number, onAccepted = () => {}) {
    const { client, clock, timing } = this.#parts
    const silentForMs = timeoutSeconds * 1_000 + timing.graceMs + WAITS_FOR_REDIS_MS
    this.#report.allow(silentForMs)
    let accepted = false
    const onContact = () => {
      this.#report.contact(silentForMs)
      if (!accepted) onAccepted()
      accepted = true
    }
    return { client, source: this.#source, timeoutSeconds, graceMs: timing.graceMs, clock, onContact }
  }

  /** Objects of namespaces that are not wanted, or of other shards, are not there. */
  #inScope(changes: readonly Change[]): readonly Change[] {
    const { namespaceFilter: filter, shard } = this.#source
    const own = shard ? changes.filter(({ object }) => isInShard(object.uid, shard)) : changes
    if (own.length < changes.length) this.#report.notSplit()
    return filter ? own.filter(({ object }) => filter(object.namespace)) : own
  }

  /** Objects are gone only if their definition is: an API that is merely not answering took nothing with it. */
  async #markIfGone(session: SourceSession): Promise<void> {
    try {
      if (await this.#parts.isGone(this.#source, this.#signal)) await session.markAbsent(this.#signal)
    } catch (error) {
      this.#signal.throwIfAborted()
      this.#parts.log.debug({ error, watch: this.#source.title }, 'cannot tell whether the resource is gone')
    }
  }

  async #prepare(step: Step): Promise<void> {
    this.#history = step.history
    this.#relist = step.relist ?? this.#relist
    this.#verify ||= step.verify ?? false
    this.#report.reconnecting(step, LIST_STEP_MS)
    if (step.refresh) await this.#parts.client.refresh().catch((error) => this.#report.trouble(error, step))
    if (step.delayMs > 0) await pause(step.delayMs, undefined, { signal: this.#signal })
  }
}

const LIST_SECONDS = 300
const LIST_STEP_MS = 180_000
