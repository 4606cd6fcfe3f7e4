import { setTimeout as pause } from 'node:timers/promises'
import type { AwaitMetadata, Source } from '../model/change.ts'
import type { ObjectRef, RelatedMetadata } from '../model/event.ts'
import type { WatchStatus } from '../model/status.ts'
import type { Logger } from '../observe/log.ts'
import type { Metrics } from '../observe/metrics.ts'
import { compilePattern } from '../rules/pattern.ts'
import { matcherOfSelector } from '../rules/selector.ts'
import { type ClusterClient, countRequests } from '../watch/client/cluster-client.ts'
import { titleOf } from '../watch/client/discovery.ts'
import { isEventResource, regardingIn } from '../watch/decode/kube-event.ts'
import { MetadataCache } from '../watch/metadata/cache.ts'
import { createCacheStore } from '../watch/metadata/cache-store.ts'
import { MetadataBarrier, type Progress } from '../watch/metadata/metadata-barrier.ts'
import { type MetadataRequirements, NO_REQUIREMENTS } from '../watch/metadata/metadata-requirements.ts'
import { surroundingsOf } from '../watch/metadata/related-metadata.ts'
import { type MetadataEntry, planMetadata } from '../watch/plan/plan.ts'
import { createWatchManager } from '../watch/reflector/manager.ts'
import { DEFAULT_TIMING, type Timing } from '../watch/reflector/timing.ts'
import { MAX_OBJECTS, type WatchEntry } from '../watch/schema.ts'

interface EnrichmentParts {
  client: ClusterClient
  metrics: Metrics
  log: Logger
  clock: { now(): number }
  timing?: Timing
  /** Whether the commits of all watches wait; default: never. */
  isHeldUp?(): boolean
}

/** The related metadata that rules use. */
export interface Enrichment {
  readonly surroundings: RelatedMetadata
  readonly awaitMetadata: AwaitMetadata
  /** Starts the additional informers of other requirements; resolves when they have synced, or failed to. */
  prepare(needs: MetadataRequirements): Promise<void>
  /** Applies requirements; informers that are no longer needed stop. */
  use(needs: MetadataRequirements, maxObjects?: number): void
  statuses(): WatchStatus[]
  close(): Promise<void>
}

/** How long a reload waits for metadata. */
const PREPARE_MS = 30_000

/** A watch that is behind lists while events still wait for it. */
const TIMING: Timing = { ...DEFAULT_TIMING, stalledMs: 20_000 }

/** Caches of metadata, fed by metadata-only watches with the same reflector as the configured watches. */
export function startEnrichment(parts: EnrichmentParts): Enrichment {
  const { metrics, log, clock, timing = TIMING } = parts
  const stop = new AbortController()
  /** Keys of conditions that were logged and still last. */
  const logged = new Set<string>()
  let needs = NO_REQUIREMENTS
  let entries: readonly WatchEntry[] = []
  let planned: readonly WatchEntry[] = []
  let latest: WatchStatus[] = []
  let latestMs = Number.NEGATIVE_INFINITY

  const memory = clockUnless(parts.isHeldUp)
  const cache = new MetadataCache({
    maxObjects: MAX_OBJECTS,
    clock: memory,
    onEvict({ plural, group }, count, texts) {
      const resource = titleOf({ plural, group })
      metrics.enrichEvictions.inc({ resource }, count)
      if (texts)
        return logOnce(`evict long ${resource}`, () =>
          log.warn(
            { resource, ...texts },
            'labels, annotations and owners of related objects need too much memory, because there are many or very long ones: objects with the longest are evicted, and rules that need them may not match; a higher memory limit gives them more',
          ),
        )
      logOnce(`evict ${resource}`, () =>
        log.warn(
          { resource },
          'there are more objects than "enrich.maxObjects": the oldest of the largest kind are evicted, and rules that need them may not match',
        ),
      )
    },
    onExclude(it, object) {
      const resource = titleOf(it)
      logOnce(`exclude ${resource}`, () =>
        log.warn(
          { resource, object },
          'the labels and the owner of an object are too long to be kept: rules that need them do not match',
        ),
      )
    },
  })
  const store = createCacheStore(cache, performance)
  metrics.enrichObjects.collectFrom(() =>
    cache.sizes().map(({ resource, objects }) => [titleOf(resource), objects] as const),
  )
  const manager = createWatchManager({
    client: countRequests(parts.client, metrics),
    store,
    metrics,
    log,
    clock,
    random: Math.random,
    timing,
    matcherOf: compilePattern,
    selectorOf: matcherOfSelector,
    plan(asked, catalogue, clusterUid, matcherOf) {
      const plan = planMetadata(asked, catalogue, clusterUid, matcherOf)
      store.expect(plan.sources)
      planned = asked
      for (const { resource: it } of plan.sources) {
        const resource = titleOf(it)
        metrics.enrichMisses.inc({ resource }, 0)
        metrics.enrichEvictions.inc({ resource }, 0)
      }
      const keys = new Set(plan.sources.map(({ key }) => key))
      const found = new Set(plan.sources.map(({ spelling }) => spelling))
      const spelled = new Set(asked.map(({ kind }) => kind))
      // A kind that discovery lacks temporarily stays.
      store.retain(({ key, spelling }) => keys.has(key) || (spelled.has(spelling) && !found.has(spelling)))
      return plan
    },
  })

  /** Called for each change with unknown metadata: cached for a moment. */
  function statuses(): WatchStatus[] {
    if (performance.now() - latestMs >= 50) {
      latest = manager.statuses()
      latestMs = performance.now()
    }
    return latest
  }

  /** Once the sources of all entries are known: a kind without one is not there, or in a part of the API that does not answer. */
  function isPlanned(): boolean {
    return entries.every((it) => planned.some((known) => isSame(known, it)))
  }

  function progressOf(source: Source | undefined): Progress {
    if (!source) return isPlanned() ? 'follows' : 'behind'
    const status = statuses().find(({ key }) => key === source.key)
    if (!status) return 'behind'
    if (status.phase === 'failing') return 'fails'
    if (status.phase !== 'watching' || !status.ready || isFarBehind(status)) return 'behind'
    logged.delete(source.key)
    return 'follows'
  }

  /** Each reconnect leaves a quiet watch behind until it has settled. */
  function isFarBehind({ behind }: WatchStatus): boolean {
    return behind !== undefined && behind.ms > 2 * timing.settleMs
  }

  /** A source whose kind went has no status: its kind has. */
  function isAbsent({ spelling }: Source): boolean {
    return statuses().some(({ key, phase }) => key === spelling && phase !== 'resolving')
  }

  /** True also for kinds that are not resolved yet. */
  function isWatched(ref: ObjectRef, namespace: string): boolean {
    const table = cache.tableOf(ref)
    if (!table) return progressOf(undefined) !== 'follows'
    return store.stateOf(table, table.resource.namespaced ? namespace : '', ref.name ?? '') !== undefined
  }

  function logOnce(key: string, write: () => void): void {
    if (logged.has(key)) return
    logged.add(key)
    write()
  }

  function rulesOf(source: Source): string {
    const { spelling } = source
    return [
      ...new Set(needs.metadata.filter(({ kind }) => kind === spelling).flatMap((it) => it.rules)),
    ].join(', ')
  }

  const barrier = new MetadataBarrier({
    cache,
    store,
    clock: performance,
    progressOf,
    isSettled: (source) =>
      source
        ? statuses().some((it) => it.key === source.key && hasSettled(it)) || isAbsent(source)
        : isPlanned(),
    regardingIn,
    isEvent: ({ resource }) => isEventResource(resource),
    onMiss(source, why) {
      metrics.enrichMisses.inc({ resource: source ? titleOf(source.resource) : 'unknown' })
      if (!source || why === 'follows') return
      logOnce(source.key, () =>
        log.warn(
          { watch: source.title, rules: rulesOf(source), error: errorOf(source) },
          why === 'fails'
            ? 'this metadata cannot be read: events are decided without it, and rules that ask for it do not match'
            : 'this metadata does not come: events are decided with what is known',
        ),
      )
    },
    onWaited: (ms) => metrics.enrichWaitSeconds.observe(ms / 1_000),
  })

  function errorOf(source: Source): string | undefined {
    return statuses().find(({ key }) => key === source.key)?.lastError
  }

  function apply(next: readonly WatchEntry[]): void {
    entries = next
    manager.apply(next)
    latestMs = -1
  }

  return {
    surroundings: surroundingsOf(cache, isWatched),
    awaitMetadata: (source, changes, signal) =>
      changes === 'all'
        ? barrier.awaitSources(source, signal)
        : barrier.awaitMetadata(source, changes, needs, signal),
    async prepare(next) {
      const added = entriesOf(next).filter((it) => !entries.some((known) => isSame(known, it)))
      if (added.length === 0) return
      apply([...entries, ...added])
      const deadlineMs = performance.now() + PREPARE_MS
      while (!manager.statuses().every(hasSettled) && performance.now() < deadlineMs && !stop.signal.aborted)
        await Promise.race([cache.changed, pause(100, undefined, { signal: stop.signal }).catch(() => {})])
    },
    use(next, maxObjects = MAX_OBJECTS) {
      needs = next
      cache.maxObjects = maxObjects
      const wanted = entriesOf(next)
      const isAsBefore = wanted.length === entries.length && wanted.every((it, i) => isSame(it, entries[i]!))
      if (!isAsBefore) apply(wanted)
    },
    statuses: () => manager.statuses(),
    async close() {
      stop.abort()
      memory.stop()
      await manager.close()
    },
  }
}

/**
 * A clock that stops while commits wait: the changes that wait are evaluated later, with the metadata of objects that
 * are deleted meanwhile. Exact to a second.
 */
export function clockUnless(isHeldUp: () => boolean = () => false): { now(): number; stop(): void } {
  let nowMs = performance.now()
  const timer = setInterval(() => {
    if (!isHeldUp()) nowMs += 1_000
  }, 1_000)
  timer.unref()
  return { now: () => nowMs, stop: () => clearInterval(timer) }
}

/** Whether a source has synced or failed, or its kind is absent. */
function hasSettled({ phase, ready }: WatchStatus): boolean {
  return phase === 'failing' || phase === 'waiting-for-kind' || (phase === 'watching' && ready)
}

function entriesOf({ metadata }: MetadataRequirements): MetadataEntry[] {
  return metadata.map(({ kind, namespaces, name, annotations }) => ({
    kind,
    ...(annotations && { annotations }),
    ...(namespaces && { namespaces: [...namespaces] }),
    ...(name !== undefined && { fields: `metadata.name=${name}` }),
  }))
}

function isSame(a: WatchEntry, b: WatchEntry): boolean {
  return JSON.stringify(a) === JSON.stringify(b)
}
