import { isDeepStrictEqual } from 'node:util'
import type { Source } from '../../model/change.ts'
import { userAgent } from '../../version.ts'
import type { ClusterClient } from '../client/cluster-client.ts'
import { connectCluster } from '../client/connect.ts'
import { findDefined } from '../client/crd.ts'
import type { Catalogue } from '../client/discovery.ts'
import { planSources, type WatchPlan } from '../plan/plan.ts'
import { createWatchManager, type WatchManager } from '../reflector/manager.ts'
import { NOT_COUNTED } from '../reflector/reflector-status.ts'
import type { Step } from '../reflector/retry-policy.ts'
import { DEFAULT_TIMING, type Timing } from '../reflector/timing.ts'
import type { WatchEntry } from '../schema.ts'
import { Additions, matcherOf, overlapsOf, selects } from './additions.ts'
import { CheckpointSaver, encodeCheckpoint, loadCheckpoint } from './checkpoint.ts'
import { checkpointError, Faults, unknownKind, warningOf, warnProcess } from './faults.ts'
import { Handoff } from './handoff.ts'
import { closeUnbegun } from './iteration.ts'
import { entryOf, requireOptions } from './options.ts'
import { changeOf, type Handed, SourceStates } from './source-state.ts'
import { type Change, type Changes, type Kind, type Warning, WatchError, type WatchOptions } from './types.ts'
import { UnservedKinds } from './unserved-kinds.ts'

/** Times that tests shorten. */
export interface LibraryTiming extends Timing {
  /** At most how often the checkpoint is saved. */
  saveEveryMs: number
}

const LIBRARY_TIMING: LibraryTiming = { ...DEFAULT_TIMING, saveEveryMs: 1_000 }

/** Starts watching. Throws WatchError for wrong options, and if there is no usable kubeconfig. */
export function startWatch<T>(options: WatchOptions, timing: Partial<LibraryTiming> = {}): Changes<T> {
  requireOptions(options)
  const entries = options.kinds.map((kind) => entryOf(kind, options.initial))
  return new RunningWatch<T>(options, entries, connect(options), { ...LIBRARY_TIMING, ...timing })
}

function connect({ kubeconfig, context }: WatchOptions): ClusterClient {
  try {
    return connectCluster({ kubeconfig, context, env: process.env, userAgent: `${userAgent} (library)` })
  } catch (error) {
    throw new WatchError('no-cluster', (error as Error).message, undefined, error)
  }
}

class RunningWatch<T> implements Changes<T> {
  readonly synced: Promise<void>
  readonly #options: WatchOptions
  readonly #client: ClusterClient
  readonly #timing: LibraryTiming
  readonly #handoff = new Handoff<Handed>()
  readonly #faults = new Faults()
  readonly #stopping = new AbortController()
  readonly #sync = Promise.withResolvers<void>()
  readonly #iteration: AsyncGenerator<Change<T>, void>
  readonly #started: Promise<void>
  #entries: WatchEntry[]
  readonly #additions = new Additions()
  readonly #unserved = new UnservedKinds({
    isDefined: async (kind, catalogue) =>
      this.#states?.knows(kind) ||
      typeof (await findDefined(this.#client, kind, catalogue, this.#stopping.signal)) !== 'string',
    onDefined: (kind, entries) => {
      this.#warnOnce(kind, 'the cluster does not serve this kind now: waiting for it')
      for (const entry of entries) this.#additions.accept(entry)
      this.#checkSynced()
    },
    onUnknown: (entry, catalogue) => this.#refuse(entry, unknownKind(entry.kind, catalogue)),
  })
  /** Kinds of which it was warned that they are waited for. */
  readonly #warned = new Set<string>()
  #plan: WatchPlan | undefined
  /** The deletions of kinds that have gone are offered to the program. */
  #isResolved = false
  /** Titles of sources that have read all that happened before, and of those that ever worked. */
  readonly #current = new Set<string>()
  readonly #begun = new Set<string>()
  #states: SourceStates | undefined
  #manager: WatchManager | undefined
  #saver: CheckpointSaver | undefined
  #hasFailed = false
  readonly #ended = Promise.withResolvers<void>()
  #stopped: Promise<void> | undefined
  #closed: Promise<void> | undefined

  constructor(options: WatchOptions, entries: WatchEntry[], client: ClusterClient, timing: LibraryTiming) {
    this.#options = options
    this.#entries = entries
    this.#client = client
    this.#timing = timing
    this.synced = this.#sync.promise
    this.synced.catch(() => {})
    this.#iteration = closeUnbegun(this.#iterate(), () => this.close())
    this.#started = this.#start().catch((error) => this.#fail(error))
    const { signal } = options
    const onAbort = () => void this.#stop()
    if (signal?.aborted) onAbort()
    else signal?.addEventListener('abort', onAbort, { once: true, signal: this.#stopping.signal })
  }

  [Symbol.asyncIterator](): AsyncGenerator<Change<T>, void> {
    return this.#iteration
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  close(): Promise<void> {
    this.#closed ??= this.#close()
    return this.#closed
  }

  async add(kind: Kind): Promise<void> {
    const entry = entryOf(kind, this.#options.initial)
    await this.#started
    this.#requireOpen()
    const added = this.#additions.wait(entry)
    this.#apply([...this.#entries, entry])
    try {
      await added
    } catch (error) {
      await this.#keepOnly((it) => it !== entry)
      throw error
    }
  }

  async remove(kind: Kind): Promise<boolean> {
    const removed = entryOf(kind, this.#options.initial)
    const isRemoved =
      typeof kind === 'string'
        ? (it: WatchEntry) => it.kind === kind
        : (it: WatchEntry) => isDeepStrictEqual(it, removed)
    await this.#started
    this.#requireOpen()
    const isWatched = this.#entries.some(isRemoved)
    this.#additions.reject(isRemoved, new WatchError('closed', `${removed.kind} was removed`))
    await this.#keepOnly(
      (it) => !isRemoved(it),
      (source) => (typeof kind === 'string' ? source.spelling === kind : selects(removed, source)),
    )
    return isWatched
  }

  /** Stops the sources of other entries and forgets them, and those of earlier starts that are `isOld`. */
  async #keepOnly(isKept: (entry: WatchEntry) => boolean, isOld = (_: Source) => false): Promise<void> {
    const before = new Set(this.#plan?.sources.map(({ key }) => key))
    const removed = this.#entries.filter((it) => !isKept(it))
    this.#apply(this.#entries.filter(isKept))
    await Promise.race([this.#manager?.applied, this.#ended.promise])
    const { signal } = this.#stopping
    if (signal.aborted) return
    const wanted = new Set(this.#plan?.sources.map(({ key }) => key))
    // A plan has no sources of a kind that is gone.
    const isOf = (entries: readonly WatchEntry[], source: Source) => entries.some((it) => selects(it, source))
    const isRemoved = (source: Source) => isOf(removed, source) && !isOf(this.#entries, source)
    for (const { source } of this.#states?.all() ?? []) {
      const { key, title } = source
      if (wanted.has(key) || !(before.has(key) || isOld(source) || isRemoved(source))) continue
      this.#begun.delete(key)
      this.#current.delete(title)
      this.#states?.forget(key)
    }
    // Added again, the kind begins as any other, and not as one that has come.
    for (const { kind } of removed)
      if (!this.#entries.some((it) => it.kind === kind)) await this.#states?.absentKinds.remove(kind, signal)
  }

  async *#iterate(): AsyncGenerator<Change<T>, void> {
    const onUnreadable = (watch: string, name: string) =>
      this.#warn({ message: `${name} cannot be read: only its identity is known`, watch })
    try {
      for (let handed = await this.#handoff.next(); handed; handed = await this.#handoff.next())
        yield changeOf<T>(handed, onUnreadable)
    } finally {
      // The first fault is the one to report.
      await this.close().catch((error: unknown) => {
        if (!this.#hasFailed) throw error
      })
    }
  }

  async #start(): Promise<void> {
    const { checkpoint: store, keepOld = false } = this.#options
    const restored = await loadCheckpoint(store)
    if (this.#stopping.signal.aborted) return
    const states = new SourceStates(
      {
        handoff: this.#handoff,
        keepOld,
        clock: Date,
        onMoved: () => this.#saver?.touch(),
        onBegun: ({ key, title }) => this.#onBegun(key, title),
      },
      restored,
    )
    this.#states = states
    if (store)
      this.#saver = new CheckpointSaver({
        store,
        encode: () => encodeCheckpoint(states.saved()),
        everyMs: this.#timing.saveEveryMs,
        onFault: (error) => this.#warn(warningOf({ error }, 'the checkpoint cannot be saved')),
      })
    this.#manager = createWatchManager({
      client: this.#client,
      store: states,
      metrics: NOT_COUNTED,
      log: {
        debug() {},
        info() {},
        // The observer has the faults of watches.
        warn: (fields, message) => 'retryInMs' in fields || this.#warn(warningOf(fields, message)),
        error: (fields, message) => this.#warn(warningOf(fields, message)),
      },
      clock: Date,
      random: Math.random,
      timing: this.#timing,
      matcherOf,
      // Asked only of selections that are taken over, which needs Redis.
      selectorOf: () => () => true,
      observer: {
        current: (title) => this.#onCurrent(title),
        fault: (error, title, step) => this.#onFault(error, title, step),
        resolved: () => this.#onResolved(),
      },
      plan: (entries, catalogue, clusterUid) => this.#onPlan(entries, catalogue, clusterUid),
    })
    this.#manager.apply(this.#entries)
  }

  #apply(entries: WatchEntry[]): void {
    this.#entries = entries
    this.#manager?.apply(entries)
  }

  #onPlan(entries: readonly WatchEntry[], catalogue: Catalogue, clusterUid: string): WatchPlan {
    const overlaps = overlapsOf(entries, catalogue, clusterUid)
    const possible = entries.filter((it) => !overlaps.some(({ entry }) => entry === it))
    const plan = planSources(possible, catalogue, clusterUid, matcherOf)
    this.#plan = plan
    this.#isResolved = false
    for (const { entry, message } of [...plan.problems, ...overlaps])
      this.#refuse(entry, new WatchError('invalid-kind', `kind "${entry.kind}": ${message}`))
    this.#unserved.planned(plan, catalogue)
    for (const { kind } of plan.unsure)
      this.#warnOnce(kind, 'a part of the API that may have this kind does not answer: waiting for it')
    this.#additions.resolved(plan, catalogue, clusterUid, (key) => this.#begun.has(key))
    this.#checkSynced()
    return { ...plan, problems: [] }
  }

  /** Ends the addition of a kind, or the iteration if the program began with it. */
  #refuse(entry: WatchEntry, error: WatchError): void {
    const isAddition = this.#additions.reject((it) => it === entry, error)
    if (!isAddition && this.#entries.includes(entry)) this.#fail(error)
  }

  #onBegun(key: string, title: string): void {
    this.#begun.add(key)
    this.#faults.works(title)
    this.#additions.begun(key)
  }

  #onCurrent(title: string): void {
    if (this.#current.has(title)) return this.#faults.works(title)
    this.#current.add(title)
    const source = this.#plan?.sources.find((it) => it.title === title)
    if (source) this.#onBegun(source.key, title)
    this.#checkSynced()
  }

  #onResolved(): void {
    this.#isResolved = true
    for (const ended of this.#states?.departures() ?? []) void ended.then(() => this.#checkSynced())
    this.#checkSynced()
  }

  #checkSynced(): void {
    if (!this.#plan || !this.#isResolved || this.#states?.departures().length !== 0) return
    const { sources, unsure, problems } = this.#plan
    const isResolved = this.#unserved.areDefined && unsure.length + problems.length === 0
    if (isResolved && sources.every(({ title }) => this.#current.has(title))) this.#sync.resolve()
  }

  #onFault(error: unknown, title: string | undefined, step: Step | undefined): void {
    const source = this.#plan?.sources.find((it) => it.title === title)
    const hasWorked = source ? this.#begun.has(source.key) : this.#begun.size > 0
    const verdict = this.#faults.judge({ error, source, step, hasWorked, nowMs: performance.now() })
    if (!verdict) return
    if ('warning' in verdict) return this.#warn(verdict.warning)
    const { final } = verdict
    const isAddition =
      source !== undefined && this.#additions.reject((_, keys) => keys.has(source.key), final)
    // Of an addition that was refused, more may be refused until its watches have ended.
    const isRefused = source !== undefined && !this.#entries.some((it) => selects(it, source))
    if (!isAddition && !isRefused) this.#fail(final)
  }

  #warn(warning: Warning): void {
    if (this.#stopping.signal.aborted) return
    const { onWarning = warnProcess } = this.#options
    try {
      onWarning(warning)
    } catch (error) {
      this.#fail(error)
    }
  }

  #warnOnce(watch: string, message: string): void {
    if (this.#warned.has(watch)) return
    this.#warned.add(watch)
    this.#warn({ watch, message })
  }

  #requireOpen(): void {
    if (this.#stopping.signal.aborted) throw new WatchError('closed', 'the iteration has ended')
  }

  #fail(error: unknown): void {
    this.#hasFailed = true
    this.#sync.reject(error)
    this.#handoff.end(error)
    void this.#stop()
  }

  /** Closes all connections; the change that is being processed can still be confirmed. */
  #stop(): Promise<void> {
    this.#stopped ??= this.#stopAll()
    return this.#stopped
  }

  async #stopAll(): Promise<void> {
    this.#stopping.abort()
    this.#handoff.end()
    this.#ended.resolve()
    const ended = new WatchError('closed', 'the iteration has ended')
    this.#sync.reject(ended)
    this.#additions.reject(() => true, ended)
    await this.#started
    await this.#manager?.close()
    await this.#client.close()
  }

  async #close(): Promise<void> {
    await this.#stop()
    await this.#saver?.close().catch((error: unknown) => {
      throw checkpointError('saved', error)
    })
  }
}
