import { setTimeout as pause } from 'node:timers/promises'
import type { Change, Source } from './change.ts'
import { AwaitKnown, type Progress } from './enrich/await-known.ts'
import { MetadataCache } from './enrich/cache.ts'
import { createCacheStore } from './enrich/cache-store.ts'
import { type Needs, NO_NEEDS } from './enrich/needs.ts'
import { MAX_OBJECTS } from './enrich/schema.ts'
import { surroundingsOf } from './enrich/surroundings.ts'
import type { ObjectRef } from './event.ts'
import type { Logger } from './log.ts'
import type { Metrics } from './metrics.ts'
import { compilePattern } from './rules/pattern.ts'
import { matcherOfSelector } from './rules/selector.ts'
import type { WatchStatus } from './status.ts'
import type { Surroundings } from './surroundings.ts'
import type { ClusterClient } from './watch/cluster-client.ts'
import { countRequests } from './watch/counted-client.ts'
import { isEventResource } from './watch/kube-event.ts'
import { createWatchManager } from './watch/manager.ts'
import { planMetadata } from './watch/metadata-plan.ts'
import { regardingIn } from './watch/references.ts'
import { titleOf } from './watch/resolve.ts'
import type { WatchEntry } from './watch/schema.ts'
import { DEFAULT_TIMING, type Timing } from './watch/timing.ts'

export interface EnrichmentParts {
  client: ClusterClient
  metrics: Metrics
  log: Logger
  clock: { now(): number }
  timing?: Timing
}

/** What is known of the surroundings of events, as far as rules ask for it. */
export interface Enrichment {
  readonly surroundings: Surroundings
  /** Resolves when what the needs in force ask of these changes is known, or was waited for long enough. */
  known(source: Source, changes: readonly Change[], signal: AbortSignal): Promise<void>
  /** Begins to read what other needs ask for besides; resolves when it is there, or does not come. */
  prepare(needs: Needs): Promise<void>
  /** Puts needs in force; what only others needed is read no longer. */
  use(needs: Needs, maxObjects?: number): void
  statuses(): WatchStatus[]
  close(): Promise<void>
}

/** How long a change of the configuration waits for metadata that does not come. */
const PREPARE_MS = 30_000

/** Caches of metadata, which watches of their own feed: the same machinery as for the watches of the configuration. */
export function startEnrichment(parts: EnrichmentParts): Enrichment {
  const { metrics, log, clock } = parts
  const stop = new AbortController()
  const told = new Set<string>()
  let needs = NO_NEEDS
  let entries: readonly WatchEntry[] = []
  let latest: WatchStatus[] = []
  let latestMs = -1

  const cache = new MetadataCache({
    maxObjects: MAX_OBJECTS,
    clock,
    onEvict({ plural, group }, count) {
      const resource = titleOf({ plural, group })
      metrics.enrichEvictions.inc({ resource }, count)
      tell(`evict ${resource}`, () =>
        log.warn(
          { resource },
          'there are more objects than "enrich.maxObjects": the oldest are forgotten, and rules that ask for them may miss events',
        ),
      )
    },
  })
  const store = createCacheStore(cache, clock)
  metrics.enrichObjects.collectFrom(() =>
    cache.sizes().map(({ resource, objects }) => ({ resource: titleOf(resource), objects })),
  )
  const manager = createWatchManager({
    client: countRequests(parts.client, metrics),
    store,
    metrics,
    log,
    clock,
    random: Math.random,
    timing: parts.timing ?? DEFAULT_TIMING,
    matcherOf: compilePattern,
    selectorOf: matcherOfSelector,
    plan(asked, catalogue, clusterUid, matcherOf) {
      const plan = planMetadata(asked, catalogue, clusterUid, matcherOf)
      store.expect(plan.sources)
      for (const { resource: it } of plan.sources) {
        const resource = titleOf(it)
        metrics.enrichMisses.inc({ resource }, 0)
        metrics.enrichEvictions.inc({ resource }, 0)
      }
      const keys = new Set(plan.sources.map(({ key }) => key))
      const found = new Set(plan.sources.map(({ spelling }) => spelling))
      const spelled = new Set(asked.map(({ kind }) => kind))
      // What discovery misses for a moment stays.
      store.retain(({ key, spelling }) => keys.has(key) || (spelled.has(spelling) && !found.has(spelling)))
      return plan
    },
  })

  /** Asked for each change that is not known: not older than a moment. */
  function statuses(): WatchStatus[] {
    if (clock.now() - latestMs >= 50 || clock.now() < latestMs) {
      latest = manager.statuses()
      latestMs = clock.now()
    }
    return latest
  }

  function progressOf(source: Source | undefined): Progress {
    if (!source) return statuses().some(({ phase }) => phase === 'resolving') ? 'behind' : 'follows'
    const status = statuses().find(({ key }) => key === source.key)
    if (!status) return 'behind'
    if (status.phase === 'failing') return 'fails'
    if (status.phase !== 'watching' || !status.ready) return 'behind'
    told.delete(source.key)
    return 'follows'
  }

  /** Of kinds that the cluster was not asked for yet it may be. */
  function isTold(ref: ObjectRef, namespace: string): boolean {
    const table = cache.tableOf(ref)
    if (!table) return progressOf(undefined) !== 'follows'
    return store.stateOf(table, table.resource.namespaced ? namespace : '', ref.name ?? '') !== undefined
  }

  function tell(key: string, say: () => void): void {
    if (told.has(key)) return
    told.add(key)
    say()
  }

  function rulesOf(source: Source): string {
    const { spelling } = source
    return [
      ...new Set(needs.metadata.filter(({ kind }) => kind === spelling).flatMap((it) => it.rules)),
    ].join(', ')
  }

  const awaiting = new AwaitKnown({
    cache,
    store,
    clock,
    progressOf,
    regardingIn,
    isEvent: ({ resource }) => isEventResource(resource),
    onMiss(source, why) {
      metrics.enrichMisses.inc({ resource: source ? titleOf(source.resource) : 'unknown' })
      if (!source || why === 'follows') return
      tell(source.key, () =>
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

  /** Has every source of these needs begun to follow the cluster, or failed? */
  function isSettled(): boolean {
    return manager
      .statuses()
      .every(
        ({ phase, ready }) =>
          phase === 'failing' || phase === 'waiting-for-kind' || (phase === 'watching' && ready),
      )
  }

  function apply(next: readonly WatchEntry[]): void {
    entries = next
    manager.apply(next)
    latestMs = -1
  }

  return {
    surroundings: surroundingsOf(cache, isTold),
    known: (source, changes, signal) => awaiting.known(source, changes, needs, signal),
    async prepare(next) {
      const added = entriesOf(next).filter((it) => !entries.some((known) => isSame(known, it)))
      if (added.length === 0) return
      apply([...entries, ...added])
      const deadlineMs = clock.now() + PREPARE_MS
      while (!isSettled() && clock.now() < deadlineMs && !stop.signal.aborted)
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
      await manager.close()
    },
  }
}

function entriesOf({ metadata }: Needs): WatchEntry[] {
  return metadata.map(({ kind, namespaces, name }) => ({
    kind,
    ...(namespaces && { namespaces: [...namespaces] }),
    ...(name !== undefined && { fields: `metadata.name=${name}` }),
  }))
}

function isSame(a: WatchEntry, b: WatchEntry): boolean {
  return JSON.stringify(a) === JSON.stringify(b)
}
