import type { Resource } from '../event.ts'
import type { WatchStatus } from '../status.ts'
import { crdStateOf } from './crd.ts'
import type { Permit } from './leases/hold.ts'
import type { SourceLeases } from './leases/source-leases.ts'
import type { PlannedSource } from './plan.ts'
import { isPositioned } from './position.ts'
import { WatchProgress } from './progress.ts'
import { runSource, type SourceEnd, type SourceParts } from './source.ts'
import { initialStatus } from './statuses.ts'

export interface RunsParts extends Omit<SourceParts, 'isGone' | 'report' | 'permit' | 'progress'> {
  /** With leases a source runs only while this process holds its lease. */
  leases?: SourceLeases
  onReady(source: PlannedSource): void
  /** A source ended by itself. */
  onEnd(): void
}

interface Running {
  source: PlannedSource
  status: WatchStatus
  progress: WatchProgress
  stop: AbortController
  /** Ends what is under way, to begin anew from the stored position. */
  reopen: AbortController
  done: Promise<void>
}

/** How long a stop waits for Redis, per source. */
const RELEASE_LIMIT_MS = 1_000

/** The sources that run, each with its status. */
export function createSourceRuns(parts: RunsParts) {
  const { client, store, clock, log, metrics, timing, random } = parts
  const running = new Map<string, Running>()

  async function start(planned: PlannedSource, stopped: AbortSignal): Promise<void> {
    const { spelling } = planned
    const wasAbsent = await store.absentKinds.has(spelling, stopped)
    // Whether metadata is gone for good matters to nobody.
    const custom = !planned.metadataOnly && (await crdStateOf(client, planned, stopped)) === 'there'
    const source = { ...planned, custom, ...(wasAbsent && { initial: 'emit' as const }) }
    const own = new AbortController()
    const status = initialStatus(source, clock.now())
    const signal = AbortSignal.any([stopped, own.signal])
    const onWatching = () => {
      log.info({ watch: source.title, position: status.resourceVersion }, 'watching')
      parts.onReady(source)
      if (wasAbsent) void store.absentKinds.remove(spelling, stopped).catch(() => {})
    }
    const report = reporter(source, status, onWatching)
    const progress = new WatchProgress(timing, random)
    const reopen = new AbortController()
    const it: Running = { source, status, progress, stop: own, reopen, done: Promise.resolve() }
    running.set(source.key, it)
    it.done = follow(it, report, signal)
      .then((end) => {
        if (end === 'missing')
          log.warn({ watch: source.title }, 'the kind is not served any more; waiting for it')
        if (end === 'other-cluster')
          log.warn({ watch: source.title }, 'another cluster answers at this address; starting anew there')
      })
      .catch((error) => log.error({ watch: source.title, error }, 'the watch failed'))
      .finally(() => {
        running.delete(source.key)
        if (!signal.aborted) parts.onEnd()
      })
  }

  function reporter(
    { title: watch }: PlannedSource,
    status: WatchStatus,
    onWatching: () => void,
  ): (news: Partial<WatchStatus>) => void {
    let told = false
    return (news) => {
      Object.assign(status, news)
      metrics.watchReady.set({ watch }, status.ready ? 1 : 0)
      if (news.ready) delete status.lastError
      const watching = status.phase === 'watching' && status.ready
      if (watching && !told) onWatching()
      // Standing by is being ready too, but not watching.
      told = watching || (told && status.ready && status.phase !== 'standby')
    }
  }

  async function follow(
    it: Running,
    report: (news: Partial<WatchStatus>) => void,
    signal: AbortSignal,
  ): Promise<SourceEnd> {
    const { source } = it
    const isGone = (asked: PlannedSource, asking: AbortSignal) =>
      asked.custom
        ? crdStateOf(client, asked, asking).then((state) => state === 'none')
        : Promise.resolve(false)
    const run = async (permit: Permit | undefined, until: AbortSignal): Promise<SourceEnd> => {
      const own = { ...parts, isGone, report, progress: it.progress, ...(permit && { permit }) }
      for (;;) {
        const { reopen } = it
        const end = await runSource(own, source, AbortSignal.any([until, reopen.signal]))
        if (until.aborted) await release(source)
        if (end !== 'stopped' || until.aborted || !reopen.signal.aborted) return end
        it.reopen = new AbortController()
      }
    }
    if (!parts.leases) return run(undefined, signal)
    try {
      return await parts.leases.run(source, withPosition(it, report, signal), signal, run)
    } catch (error) {
      if (signal.aborted) return 'stopped'
      throw error
    }
  }

  /** A process that stands by, or takes over what this source knew, needs not find out that this one has stopped. */
  async function release(source: PlannedSource): Promise<void> {
    try {
      await store.release(source, AbortSignal.timeout(RELEASE_LIMIT_MS))
    } catch (error) {
      log.debug({ watch: source.title, error }, 'the watch was not left to other processes; they wait for it')
    }
  }

  /** Standing by is being ready once there is a position: what comes before the first one is told by nobody. */
  function withPosition(
    { source, status }: Running,
    report: (news: Partial<WatchStatus>) => void,
    signal: AbortSignal,
  ): (news: Partial<WatchStatus>) => void {
    let positioned = false
    let asking = false
    return (news) => {
      const waits = news.phase === 'standby'
      // Also by the work of this process, which it has just left to another.
      positioned ||= status.ready
      report(waits ? { ...news, ready: positioned } : news)
      if (!waits || positioned || asking) return
      asking = true
      void store
        .peek(source, signal)
        .then((checkpoint) => {
          positioned = isPositioned(checkpoint)
        })
        .catch(() => {})
        .finally(() => {
          asking = false
        })
    }
  }

  return {
    start,
    has: (key: string) => running.has(key),
    entries: () => running.entries(),
    /** Has sources of such resources open their stored state anew. */
    reopen(which: (resource: Resource) => boolean): void {
      for (const { source, reopen } of running.values()) if (which(source.resource)) reopen.abort()
    },
    statuses: () =>
      [...running.values()].map(({ status, progress: { behind } }) => ({
        ...status,
        ...(behind && { behind, current: false }),
      })),
    async ended(): Promise<void> {
      await Promise.all([...running.values()].map(({ done }) => done))
    },
  }
}
