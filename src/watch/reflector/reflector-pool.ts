import { once } from 'node:events'
import { setTimeout as pause } from 'node:timers/promises'
import { type IndexReader, isOlder, unsureOf } from '../../model/change.ts'
import type { Resource } from '../../model/event.ts'
import type { WatchStatus } from '../../model/status.ts'
import { crdStateOf } from '../client/crd.ts'
import type { LeaseGuard } from '../leases/held-lease.ts'
import type { SourceLeases } from '../leases/source-leases.ts'
import type { PlannedSource } from '../plan/plan.ts'
import { hasPosition, WatchProgress } from './progress.ts'
import { type ReflectorEnd, type ReflectorParts, runReflector } from './reflector.ts'
import { initialStatus } from './reflector-status.ts'
import { backoffMs } from './timing.ts'
import { verifyIndex } from './verification.ts'

export interface PoolParts extends Omit<ReflectorParts, 'isGone' | 'report' | 'guard' | 'progress'> {
  /** The indexes of sources, to compare them with the cluster; without it nothing is verified. */
  indexOf?(source: string): IndexReader
  /** With leases a source runs only while this process holds its lease. */
  leases?: SourceLeases
  /** A source watches; `wasAbsent`: its kind was recorded as absent. */
  onReady(source: PlannedSource, wasAbsent: boolean): void
  /** A source ended by itself. */
  onEnd(): void
}

interface Running {
  source: PlannedSource
  status: WatchStatus
  progress: WatchProgress
  stop: AbortController
  /** Ends the current work, to start over from the stored position. */
  reopen: AbortController
  /** Ends the comparisons of its index, to begin again as often as its entry asks. */
  rescheduled: AbortController
  done: Promise<void>
}

/** How long a stop waits for Redis, per source. */
const RELEASE_LIMIT_MS = 1_000
/** How long Redis may take to answer who works on a source. */
const PEEK_LIMIT_MS = 5_000

/** The sources that run, each with its status. */
export function createReflectorPool(parts: PoolParts) {
  const { client, store, clock, log, metrics, timing, random } = parts
  const running = new Map<string, Running>()
  /** How often in a row a source found its kind not served. */
  const notServed = new Map<string, number>()

  async function start(planned: PlannedSource, stopped: AbortSignal): Promise<void> {
    const { spelling } = planned
    const isRecorded = await store.absentKinds.has(spelling, stopped)
    // Whether metadata is gone for good matters to nobody.
    const custom = !planned.metadataOnly && (await crdStateOf(client, planned, stopped)) === 'there'
    const isNew = custom || !(isRecorded && (await store.absentKinds.has(unsureOf(spelling), stopped)))
    const wasAbsent = isRecorded && isNew
    const isAllNew = wasAbsent && !planned.adoption?.hasBegun
    const source = { ...planned, custom, wasAbsent, ...(isAllNew && { initial: 'emit' as const }) }
    const own = new AbortController()
    const status = initialStatus(source)
    const signal = AbortSignal.any([stopped, own.signal])
    const onWatching = () => {
      if (!status.verified) compared(it.source, 0, 0)
      notServed.delete(source.key)
      log.info({ watch: source.title, position: status.resourceVersion }, 'watching')
      parts.onReady(source, isRecorded)
    }
    const report = reporter(source, status, onWatching)
    const progress = new WatchProgress(timing, random)
    const reopen = new AbortController()
    const rescheduled = new AbortController()
    const it: Running = { source, status, progress, stop: own, reopen, rescheduled, done: Promise.resolve() }
    running.set(source.key, it)
    it.done = follow(it, report, signal)
      .then(async (end) => {
        if (end === 'missing') await untilServed(source, signal)
        if (end === 'other-cluster')
          log.warn({ watch: source.title }, 'another cluster answers at this address; starting over there')
      })
      .catch(async (error) => {
        log.error({ watch: source.title, error }, 'the watch failed')
        // Only a defect ends it so, and it starts again: not in a busy loop.
        await pause(timing.backoffMaxMs, undefined, { signal }).catch(() => {})
      })
      .finally(() => {
        running.delete(source.key)
        if (!signal.aborted) parts.onEnd()
      })
  }

  /** Discovery may name what the API server answers 404 to: then it is asked ever more slowly. */
  async function untilServed({ key, title }: PlannedSource, signal: AbortSignal): Promise<void> {
    const times = (notServed.get(key) ?? 0) + 1
    notServed.set(key, times)
    const message = 'the kind is not served any more; waiting for it'
    if (times === 1) return log.warn({ watch: title }, message)
    log.debug({ watch: title }, message)
    await pause(backoffMs(times, timing, random), undefined, { signal }).catch(() => {})
  }

  /** Exposes the last comparison of a source; 0 before the first one. */
  function compared({ title: watch, verifyMs }: PlannedSource, differences: number, atMs: number): void {
    if (verifyMs === undefined || !parts.indexOf) return
    metrics.watchDifferences.set({ watch }, differences)
    metrics.watchVerified.set({ watch }, atMs / 1_000)
  }

  /** Another process may work on the source by now, and has results of its own. */
  function forgetComparison(source: PlannedSource, status: WatchStatus): void {
    const { title: watch } = source
    delete status.verified
    metrics.watchDifferences.remove({ watch })
    metrics.watchVerified.remove({ watch })
  }

  /** Compares the index of a source with the cluster as often as its entry asks, while its watch goes on, until the signal. */
  async function keepVerifying(it: Running, signal: AbortSignal): Promise<void> {
    while (!signal.aborted) await verifyUntil(it, AbortSignal.any([signal, it.rescheduled.signal]))
  }

  async function verifyUntil({ source, status }: Running, signal: AbortSignal): Promise<void> {
    const { verifyMs } = source
    const index = parts.indexOf?.(source.key)
    if (verifyMs === undefined || !index) return void (await once(signal, 'abort'))
    const { title: watch } = source
    const position = async () => {
      if (status.phase !== 'watching' || !status.ready) return undefined
      const checkpoint = await store.peek(source, signal)
      if (checkpoint?.phase !== 'watching') return undefined
      // After a deletion a watch continues before what the index contains.
      const { resourceVersion } = status
      return isOlder(checkpoint.resourceVersion, resourceVersion)
        ? resourceVersion
        : checkpoint.resourceVersion
    }
    const wait = (ms: number) => pause(ms, undefined, { signal })
    while (!signal.aborted) {
      try {
        await wait(verifyMs)
        const differences = await verifyIndex({ client, clock, index, position }, source, wait, signal)
        if (!differences || signal.aborted || status.phase === 'standby') continue
        const atMs = clock.now()
        status.verified = { atMs, differences: differences.count }
        compared(source, differences.count, atMs)
        const examples = differences.examples.map(({ what, name }) => `${what}: ${name}`)
        if (differences.count > 0)
          log.error({ watch, differences: differences.count, examples }, 'the index differs from the cluster')
      } catch (error) {
        if (!signal.aborted) log.warn({ watch, error }, 'the index could not be compared with the cluster')
      }
    }
  }

  function reporter(
    source: PlannedSource,
    status: WatchStatus,
    onWatching: () => void,
  ): (news: Partial<WatchStatus>) => void {
    let reported = false
    return (news) => {
      Object.assign(status, news)
      if (status.phase === 'standby') forgetComparison(source, status)
      if (news.ready) delete status.lastError
      const watching = status.phase === 'watching' && status.ready
      if (watching && !reported) onWatching()
      // Standing by, or having taken the lease again, is being ready too, but not watching.
      const isLeft = status.phase === 'standby' || news.holder !== undefined
      reported = watching || (reported && status.ready && !isLeft)
    }
  }

  async function follow(
    it: Running,
    report: (news: Partial<WatchStatus>) => void,
    signal: AbortSignal,
  ): Promise<ReflectorEnd> {
    const { source } = it
    const isGone = (asked: PlannedSource, asking: AbortSignal) =>
      asked.custom
        ? crdStateOf(client, asked, asking).then((state) => state === 'none')
        : Promise.resolve(false)
    const run = async (guard: LeaseGuard | undefined, until: AbortSignal): Promise<ReflectorEnd> => {
      const own = { ...parts, isGone, report, progress: it.progress, ...(guard && { guard }) }
      const ended = new AbortController()
      void keepVerifying(it, AbortSignal.any([until, ended.signal]))
      try {
        for (;;) {
          const { reopen } = it
          const end = await runReflector(own, source, AbortSignal.any([until, reopen.signal]))
          if (until.aborted) await release(source)
          if (end !== 'stopped' || until.aborted || !reopen.signal.aborted) return end
          it.reopen = new AbortController()
        }
      } finally {
        ended.abort()
        forgetComparison(source, it.status)
        report({ current: false })
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

  /** A process on standby, or one that takes over this source, does not have to detect that this one has stopped. */
  async function release(source: PlannedSource): Promise<void> {
    try {
      await store.release(source, AbortSignal.timeout(RELEASE_LIMIT_MS))
    } catch (error) {
      log.debug({ watch: source.title, error }, 'the watch was not left to other processes; they wait for it')
    }
  }

  /**
   * Standing by is being ready once there is a position: changes before the first one are never emitted. While no other process
   * is known to work on the watch, as the holder of its lease or, for a process without the API server, as its owner, it is behind.
   */
  function withPosition(
    { source, status, progress }: Running,
    report: (news: Partial<WatchStatus>) => void,
    signal: AbortSignal,
  ): (news: Partial<WatchStatus>) => void {
    let positioned = false
    let asking = false
    let isCutOff = false
    const peek = async () => {
      const limited = AbortSignal.any([signal, AbortSignal.timeout(PEEK_LIMIT_MS)])
      const checkpoint = await store.peek(source, limited).catch(() => undefined)
      asking = false
      positioned ||= hasPosition(checkpoint)
      if (!isCutOff) return
      if (checkpoint?.ownerAlive) progress.rest()
      else progress.closed()
    }
    return (news) => {
      const waits = news.phase === 'standby'
      isCutOff = news.phase === 'reconnecting'
      // Also by the work of this process, which it has just left to another.
      positioned ||= status.ready
      report(waits ? { ...news, ready: positioned } : news)
      if (waits && news.holder) progress.rest()
      else if (waits) progress.closed()
      if (asking || !(isCutOff || (waits && !positioned))) return
      asking = true
      void peek()
    }
  }

  return {
    start,
    has: (key: string) => running.has(key),
    entries: () => running.entries(),
    /** Applies how often the index of a source that runs is compared with the cluster. */
    reschedule({ key, verifyMs }: PlannedSource): void {
      const it = running.get(key)
      if (!it || it.source.verifyMs === verifyMs) return
      forgetComparison(it.source, it.status)
      const { verifyMs: _, ...source } = it.source
      it.source = { ...source, ...(verifyMs !== undefined && { verifyMs }) }
      if (it.status.ready && it.status.phase !== 'standby') compared(it.source, 0, 0)
      const { rescheduled } = it
      it.rescheduled = new AbortController()
      rescheduled.abort()
    },
    /** Makes sources of such resources open their stored state again. */
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
