import { setTimeout as pause } from 'node:timers/promises'
import {
  FencedError,
  isOlder,
  type Source,
  type SourceSession,
  type SourceStore,
} from '../../model/change.ts'
import { ApiFault } from '../client/api-fault.ts'
import type { ClusterClient } from '../client/cluster-client.ts'
import { isEventResource } from '../decode/kube-event.ts'
import { DEFAULT_MAX_OBJECT_BYTES, type Oversized } from '../decode/oversized.ts'
import type { LeaseGuard } from '../leases/held-lease.ts'
import { currentPosition, METADATA_WATCH } from '../list/list.ts'
import type { PlannedSource } from '../plan/plan.ts'
import { OpenWatch } from './open-watch.ts'
import type { WatchProgress } from './progress.ts'
import { ReflectorStatus, type ReflectorStatusParts, WAITS_FOR_REDIS_MS } from './reflector-status.ts'
import { LIST_STEP_MS, Relister } from './relist.ts'
import {
  afterEnd,
  afterFault,
  type History,
  NO_HISTORY,
  type RelistCause,
  SilentWatch,
  StalledWatch,
  type Step,
} from './retry-policy.ts'
import { adopt, awaitMove, standBy } from './takeover.ts'
import type { Timing } from './timing.ts'
import { OverdueStream } from './watch-stream.ts'

export interface ReflectorParts extends ReflectorStatusParts {
  client: ClusterClient
  store: SourceStore
  random(): number
  timing: Timing
  /** Objects with more JSON are reduced to their metadata. Default: DEFAULT_MAX_OBJECT_BYTES. */
  maxObjectBytes?: number
  /** Whether the server streams initial state; learned by the first source that asks. */
  offers: { watchList: boolean }
  clusterUid(signal: AbortSignal): Promise<string>
  progress: WatchProgress
  /** Guard of the lease under which it runs; without leases none is needed. */
  guard?: LeaseGuard
  /** True when the resource is gone for certain: its CustomResourceDefinition is. */
  isGone(source: PlannedSource, signal: AbortSignal): Promise<boolean>
}

/** Why a source ended by itself: its resource is not served (any more, or in this version), or another cluster answers. */
export type ReflectorEnd = 'stopped' | 'missing' | 'other-cluster'

/**
 * Follows one source until its signal: first list, watch, and from whatever goes wrong back to a position that is
 * durable. A fault is never an end; what cannot be repaired here is retried slowly, and the status shows why.
 */
export async function runReflector(
  parts: ReflectorParts,
  source: PlannedSource,
  signal: AbortSignal,
): Promise<ReflectorEnd> {
  const run = new Reflector(parts, source, signal)
  parts.progress.begin()
  try {
    return await run.follow()
  } catch (error) {
    if (signal.aborted) return 'stopped'
    throw error
  } finally {
    // Whether another process works on it now is not known here.
    parts.progress.closed()
  }
}

class Reflector {
  readonly #parts: ReflectorParts
  readonly #source: PlannedSource
  readonly #signal: AbortSignal
  readonly #report: ReflectorStatus
  readonly #lists: Relister
  #history: History = NO_HISTORY
  #relist: RelistCause | undefined
  /** At the start nobody knows what happened to the cluster meanwhile. */
  #verify = true
  /** Another process took the source. */
  #fenced = false
  /** Where the server stood when it was asked last, before the watch that comes. */
  #target: string | undefined

  constructor(parts: ReflectorParts, source: PlannedSource, signal: AbortSignal) {
    this.#parts = parts
    this.#source = source
    this.#signal = signal
    this.#report = new ReflectorStatus(parts, source.title)
    const request = () => this.#request(LIST_SECONDS)
    this.#lists = new Relister({ ...parts, report: this.#report, request }, source, signal)
  }

  async follow(): Promise<ReflectorEnd> {
    let session: SourceSession | undefined
    for (;;) {
      this.#signal.throwIfAborted()
      const startedMs = performance.now()
      let step: Step
      try {
        session ??= await this.#open()
        const end = await this.#attempt(session)
        if (end === 'other-cluster') return end
        step = afterEnd(end, this.#history, this.#parts.timing, this.#parts.random)
      } catch (error) {
        this.#signal.throwIfAborted()
        if (performance.now() - startedMs >= this.#parts.timing.healthyMs)
          this.#history = { ...NO_HISTORY, silences: this.#history.silences }
        step = afterFault(error, this.#history, this.#parts.timing, this.#parts.random)
        this.#report.trouble(error, step)
        if (step.missing) {
          if (session) await this.#markIfGone(session)
          await this.#prepare(step)
          return 'missing'
        }
        this.#fenced = error instanceof FencedError
        // A session that failed in the middle of a write must read its position again.
        if (!(error instanceof ApiFault)) session = undefined
      }
      await this.#prepare(step)
    }
  }

  async #open(): Promise<SourceSession> {
    // An unavailable Redis is a known reason to wait; its own check reports it.
    this.#report.allow(WAITS_FOR_REDIS_MS)
    const { guard, store } = this.#parts
    if (this.#fenced) {
      // With a lease no process waits until another one stops: the lease decides.
      if (guard) await guard.renewed(this.#signal)
      else {
        this.#parts.progress.rest()
        await standBy(this.#parts, this.#source, this.#report, this.#signal)
        this.#parts.progress.begin()
      }
    }
    this.#fenced = false
    await awaitMove(this.#parts, this.#source, this.#report, this.#signal)
    const check = guard && (() => guard.check())
    return this.#parts.progress.whileStoring(() => store.open(this.#source, this.#signal, check))
  }

  /** List if there is something to list, then one watch. */
  async #attempt(session: SourceSession): Promise<'other-cluster' | { livedMs: number; silent: boolean }> {
    if (this.#verify && (await this.#parts.clusterUid(this.#signal)) !== this.#source.clusterUid)
      return 'other-cluster'
    const phase = session.checkpoint?.phase
    const leftOut = await this.#adopt(session)
    if (leftOut) await this.#listed(this.#lists.adopt(session, leftOut), session)
    else if (phase === undefined || phase === 'seeding')
      await this.#listed(this.#lists.begin(session), session)
    else if (phase === 'listing' || phase === 'absent') await this.#listed(this.#lists.list(session), session)
    else await this.#compare(session)
    this.#verify = false
    return this.#watch(session)
  }

  /** A source that begins, or was interrupted when it did, takes over what other selections of its resource knew. */
  async #adopt(session: SourceSession): Promise<readonly Source[] | undefined> {
    const { checkpoint } = session
    if (checkpoint && !checkpoint.adopting) return undefined
    const { progress } = this.#parts
    progress.rest()
    const leftOut = await adopt(this.#parts, this.#source, session, this.#report, this.#signal)
    progress.begin()
    return leftOut
  }

  /** Lists where the end of the last watch asks for it, or where the collection's position does. */
  async #compare(session: SourceSession): Promise<void> {
    const { progress } = this.#parts
    const cause = this.#relist ?? (await this.#probe(session)) ?? progress.stall
    if (!cause) return
    const before = session.emitted
    await this.#listed(this.#lists.list(session, cause), session)
    if (cause === 'stalled' || cause === 'regression') progress.compared(session.emitted > before)
  }

  async #listed(list: Promise<void>, session: SourceSession): Promise<void> {
    await list
    this.#relist = undefined
    const position = session.checkpoint?.resourceVersion
    // All that happened before the list is in it. What happened since may end a limit that waits.
    this.#target = session.dueMs === undefined ? position : undefined
    this.#parts.progress.listed(position ?? '')
  }

  /** An older position than ours: etcd was restored, and a watch from ours would be silent for ever. */
  async #probe(session: SourceSession): Promise<RelistCause | undefined> {
    const { progress } = this.#parts
    const stored = session.checkpoint?.resourceVersion ?? ''
    if (progress.isProbeDue) return progress.probe(() => this.#current(this.#signal), stored)
    if (!this.#verify) return undefined
    this.#target = await this.#current(this.#signal)
    return isOlder(this.#target, stored) ? 'regression' : undefined
  }

  /**
   * Up to where a watch must have read before the time of a limit may be over. Asked where something waits, and for Events: they are served
   * without bookmarks (kubernetes/kubernetes#120348) and seldom pause, and limits of several sources wait for all of them.
   */
  async #newest(session: SourceSession): Promise<string | undefined> {
    const known = this.#target
    this.#target = undefined
    const isAsked = session.dueMs !== undefined || isEventResource(this.#source.resource)
    if (known !== undefined || !isAsked) return known
    return this.#current(this.#signal).catch(() => undefined)
  }

  /** With a limit for the whole: an answer may come a byte at a time. */
  #current(signal: AbortSignal): Promise<string> {
    const { client, timing } = this.#parts
    const limited = AbortSignal.any([signal, AbortSignal.timeout(timing.probeTimeoutMs)])
    return currentPosition(client, this.#source, limited)
  }

  /** One watch, which ends when its position does not follow the collection's. */
  async #watch(session: SourceSession): Promise<{ livedMs: number; silent: boolean }> {
    const over = new AbortController()
    const stalled = new AbortController()
    this.#parts.progress
      .stalled(() => this.#current(over.signal), AbortSignal.any([this.#signal, over.signal]))
      .then((cause) => stalled.abort(new StalledWatch(cause)))
      .catch((error) => over.signal.aborted || stalled.abort(error))
    try {
      return await this.#read(session, AbortSignal.any([this.#signal, stalled.signal]))
    } catch (error) {
      this.#signal.throwIfAborted()
      stalled.signal.throwIfAborted()
      throw error instanceof OverdueStream ? new SilentWatch(error.message, { cause: error }) : error
    } finally {
      over.abort()
    }
  }

  /** Opens a watch, and reads it to its end. */
  async #read(session: SourceSession, signal: AbortSignal): Promise<{ livedMs: number; silent: boolean }> {
    const { timing, random } = this.#parts
    const [least, most] = timing.watchSeconds
    const about = {
      ...this.#parts,
      source: this.#source,
      session,
      report: this.#report,
      stop: this.#signal,
      currentPosition: () => this.#current(signal),
      onMove: () => {
        this.#history = { ...NO_HISTORY, fences: this.#history.fences }
      },
    }
    const watch = new OpenWatch(about, await this.#newest(session))
    const startedMs = performance.now()
    const seconds = Math.round(least + random() * (most - least))
    const request = this.#request(seconds, () => watch.accepted())
    const silent = await watch.read(request, signal)
    return { livedMs: performance.now() - startedMs, silent }
  }

  #request(timeoutSeconds: number, onAccepted = () => {}) {
    const { client, clock, timing, maxObjectBytes = DEFAULT_MAX_OBJECT_BYTES } = this.#parts
    const onOversized = (oversized: Oversized) => this.#report.oversized(oversized)
    const silentForMs = timeoutSeconds * 1_000 + timing.graceMs + WAITS_FOR_REDIS_MS
    this.#report.allow(silentForMs)
    let accepted = false
    const onContact = () => {
      this.#report.contact(silentForMs)
      if (!accepted) onAccepted()
      accepted = true
    }
    const accept = this.#source.metadataOnly ? { accept: METADATA_WATCH } : {}
    const { graceMs } = timing
    const bounds = { maxObjectBytes, onOversized }
    return { client, source: this.#source, timeoutSeconds, graceMs, clock, onContact, ...bounds, ...accept }
  }

  /** Objects are gone only if their definition is: an API that is merely not answering took nothing with it. */
  async #markIfGone(session: SourceSession): Promise<void> {
    try {
      if (await this.#parts.isGone(this.#source, this.#signal)) await session.markAbsent(this.#signal)
    } catch (error) {
      this.#signal.throwIfAborted()
      this.#parts.log.debug(
        { error, watch: this.#source.title },
        'cannot find out whether the resource is gone',
      )
    }
  }

  async #prepare(step: Step): Promise<void> {
    this.#history = step.history
    this.#relist = step.relist ?? this.#relist
    this.#verify ||= step.verify ?? false
    this.#report.reconnecting(step, LIST_STEP_MS)
    this.#parts.progress.closed()
    if (step.refresh) await this.#parts.client.refresh().catch((error) => this.#report.trouble(error, step))
    if (step.delayMs === 0) return
    const { guard, store } = this.#parts
    // Two that take a source from each other grow slower; where the other one is gone there is nobody to wait for.
    if (this.#fenced && !guard) await store.owners.wait(store.owners.changes, step.delayMs, this.#signal)
    else await pause(step.delayMs, undefined, { signal: this.#signal })
  }
}

const LIST_SECONDS = 300
