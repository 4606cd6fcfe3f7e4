import { setTimeout as pause } from 'node:timers/promises'
import type { WatchStatus } from '../status.ts'
import type { ClusterClient } from './cluster-client.ts'
import { type Catalogue, discover } from './discovery.ts'
import { readClusterUid } from './identity.ts'
import { type PlannedSource, planSources, type WatchPlan } from './plan.ts'
import type { WatchEntry } from './schema.ts'
import { runSource, type SourceParts } from './source.ts'
import { backoffMs } from './timing.ts'

export interface ManagerParts extends Omit<SourceParts, 'offers' | 'clusterUid' | 'isGone' | 'report'> {
  /** Makes a predicate of namespace patterns. */
  matcherOf(patterns: readonly string[]): (namespace: string) => boolean
}

export interface WatchManager {
  /** Replaces what is watched; sources that stay are not disturbed. */
  apply(entries: readonly WatchEntry[]): void
  statuses(): WatchStatus[]
  /** Stops all sources; resolves when the last commit is done. */
  close(): Promise<void>
}

interface Running {
  source: PlannedSource
  status: WatchStatus
  stop: AbortController
  done: Promise<void>
}

const UID_FRESH_MS = 5_000

/** Runs any number of sources side by side. One that fails never takes others with it. */
export function createWatchManager(parts: ManagerParts): WatchManager {
  const { client, store, clock, log, timing, random } = parts
  const stop = new AbortController()
  const running = new Map<string, Running>()
  const offers = { watchList: true }
  const custom = new Set<string>()
  const told = new Set<string>()
  const awaited = new Set<string>()
  let entries: readonly WatchEntry[] = []
  let plan: WatchPlan = { sources: [], waiting: [], problems: [] }
  let lastError: string | undefined
  let resolved = false
  let change = Promise.withResolvers<void>()
  let uid: { value: string; atMs: number } | undefined

  /** All sources ask after a connection broke: one request answers them. */
  async function clusterUid(signal: AbortSignal): Promise<string> {
    if (!uid || clock.now() - uid.atMs > UID_FRESH_MS) {
      uid = { value: await readClusterUid(client, log, signal), atMs: clock.now() }
    }
    return uid.value
  }

  async function keepResolving(): Promise<void> {
    if (entries.length === 0) await change.promise
    for (let failures = 0; !stop.signal.aborted; ) {
      const changed = change.promise
      try {
        await resolve()
        failures = 0
        lastError = undefined
      } catch (error) {
        stop.signal.throwIfAborted()
        failures++
        const message = (error as Error).message
        if (lastError !== message)
          log.warn(
            { error: message, cluster: client.url },
            'cannot ask the cluster what it has; trying again',
          )
        lastError = message
        if (failures % 3 === 0) await client.refresh().catch(() => {})
      }
      const settled = lastError === undefined && plan.waiting.length === 0
      const delayMs = lastError
        ? backoffMs(failures, timing, random) + 100
        : timing.discoveryMs * (0.8 + random() * 0.4)
      const timer = new AbortController()
      const signal = AbortSignal.any([stop.signal, timer.signal])
      const wait = settled
        ? new Promise<void>(() => {})
        : pause(delayMs, undefined, { signal }).catch(() => {})
      await Promise.race([changed, wait])
      timer.abort()
    }
  }

  async function resolve(): Promise<void> {
    const { signal } = stop
    const catalogue = await discover(client, signal)
    const current = await clusterUid(signal)
    plan = planSources(entries, catalogue, current, parts.matcherOf)
    for (const { kind } of plan.waiting) {
      // Only what was never seen: a kind that was watched before keeps its position.
      if (awaited.has(kind)) continue
      await store.absentKinds.add(kind, signal)
      awaited.add(kind)
      log.info({ kind }, 'the cluster does not have this kind yet; waiting for it')
    }
    for (const { entry, message } of plan.problems) {
      if (!told.has(message)) log.error({ kind: entry.kind }, message)
      told.add(message)
    }
    await retire(catalogue)
    for (const source of plan.sources) if (!running.has(source.key)) await start(source)
    resolved = true
  }

  /** Stops what is not asked for any more. What discovery misses for a moment goes on. */
  async function retire(catalogue: Catalogue): Promise<void> {
    const wanted = new Set(plan.sources.map(({ key }) => key))
    const spellings = new Set(entries.map(({ kind }) => kind))
    for (const [key, it] of running) {
      const missing = spellings.has(it.source.spelling) && !knows(catalogue, it.source)
      if (wanted.has(key) || missing) continue
      it.stop.abort()
      await it.done
    }
  }

  async function start(planned: PlannedSource): Promise<void> {
    const { spelling } = planned
    const wasAbsent = await store.absentKinds.has(spelling, stop.signal)
    const source = wasAbsent ? { ...planned, initial: 'emit' as const } : planned
    if (await definedByCrd(client, source, stop.signal).catch(() => false)) custom.add(source.key)
    const own = new AbortController()
    const it: Running = {
      source,
      stop: own,
      status: initialStatus(source, clock.now()),
      done: Promise.resolve(),
    }
    running.set(source.key, it)
    const report = (status: Partial<WatchStatus>) => {
      const becameReady = status.ready === true && !it.status.ready
      Object.assign(it.status, status)
      if (status.ready) delete it.status.lastError
      if (!becameReady) return
      log.info({ watch: source.title, position: it.status.resourceVersion }, 'watching')
      awaited.delete(spelling)
      if (wasAbsent) void store.absentKinds.remove(spelling, stop.signal).catch(() => {})
    }
    const isGone = (asked: PlannedSource, signal: AbortSignal) =>
      custom.has(asked.key)
        ? definedByCrd(client, asked, signal).then((there) => !there)
        : Promise.resolve(false)
    const signal = AbortSignal.any([stop.signal, own.signal])
    it.done = runSource({ ...parts, offers, clusterUid, isGone, report }, source, signal)
      .then((end) => {
        if (end === 'missing')
          log.warn({ watch: source.title }, 'the kind is not served any more; waiting for it')
        if (end === 'other-cluster')
          log.warn({ watch: source.title }, 'another cluster answers at this address; starting anew there')
      })
      .catch((error) => log.error({ watch: source.title, error }, 'the watch failed'))
      .finally(() => {
        running.delete(source.key)
        if (!signal.aborted) again()
      })
  }

  /** Has the kinds resolved anew. */
  function again(): void {
    change.resolve()
    change = Promise.withResolvers<void>()
  }

  const resolving = keepResolving().catch(() => {})
  return {
    apply(wanted) {
      entries = wanted
      again()
    },
    statuses: () => [
      ...[...running.values()].map(({ status }) => status),
      ...unresolved(plan, entries, resolved, lastError, clock.now()),
    ],
    async close() {
      stop.abort()
      again()
      await resolving
      await Promise.all([...running.values()].map(({ done }) => done))
    },
  }
}

function knows(catalogue: Catalogue, { resource }: PlannedSource): boolean {
  return catalogue.resources.some(
    ({ group, plural }) => group === resource.group && plural === resource.plural,
  )
}

function initialStatus({ key, title }: PlannedSource, nowMs: number): WatchStatus {
  return {
    key,
    title,
    phase: 'listing',
    resourceVersion: '',
    lastContactMs: 0,
    aliveUntilMs: nowMs + 600_000,
    ready: false,
  }
}

/** Entries that have no source: their kind is not there yet, or they contradict another. */
function unresolved(
  plan: WatchPlan,
  entries: readonly WatchEntry[],
  resolved: boolean,
  lastError: string | undefined,
  nowMs: number,
): WatchStatus[] {
  const status = (
    kind: string,
    phase: WatchStatus['phase'],
    ready: boolean,
    error?: string,
  ): WatchStatus => ({
    key: kind,
    title: kind,
    phase,
    resourceVersion: '',
    lastContactMs: 0,
    aliveUntilMs: nowMs + 600_000,
    ready,
    ...(error !== undefined && { lastError: error }),
  })
  if (!resolved) return entries.map(({ kind }) => status(kind, 'resolving', false, lastError))
  return [
    ...plan.waiting.map(({ kind }) => status(kind, 'waiting-for-kind', true)),
    ...plan.problems.map(({ entry, message }) => status(entry.kind, 'failing', false, message)),
  ]
}

/** Is there a CustomResourceDefinition of this resource? False also when we may not know. */
async function definedByCrd(
  client: ClusterClient,
  { resource }: PlannedSource,
  signal: AbortSignal,
): Promise<boolean> {
  if (!resource.group.includes('.')) return false
  const path = `/apis/apiextensions.k8s.io/v1/customresourcedefinitions/${resource.plural}.${resource.group}`
  const { status } = await client.get(path, {}, signal)
  if (status === 404) return false
  if (status !== 200) throw new Error(`the API server answered ${status} to a read of the CRD`)
  return true
}
