import { setTimeout as pause } from 'node:timers/promises'
import type { Source } from '../change.ts'
import type { Resource } from '../event.ts'
import { forgetSeries } from '../forget-series.ts'
import type { WatchStatus } from '../status.ts'
import { crdStateOf } from './crd.ts'
import { type Catalogue, discover } from './discovery.ts'
import { identify } from './identity.ts'
import { type PlannedSource, planSources, type WatchPlan } from './plan.ts'
import { titleOf } from './resolve.ts'
import type { WatchEntry } from './schema.ts'
import { runSource, type SourceEnd, type SourceParts } from './source.ts'
import { createSplitter, shardsOf } from './split.ts'
import { initialStatus, unresolved } from './statuses.ts'
import { backoffMs } from './timing.ts'

export interface ManagerParts extends Omit<SourceParts, 'offers' | 'clusterUid' | 'isGone' | 'report'> {
  /** Makes a predicate of namespace patterns. */
  matcherOf(patterns: readonly string[]): (namespace: string) => boolean
}

export interface WatchManager {
  /** Replaces what is watched; sources that stay are not disturbed. */
  apply(entries: readonly WatchEntry[]): void
  /** Has sources of such resources open their stored state anew: whether it keeps old objects is known from then on. */
  reopen(which: (resource: Resource) => boolean): void
  statuses(): WatchStatus[]
  /** Stops all sources; resolves when the last commit is done. */
  close(): Promise<void>
}

interface Running {
  source: PlannedSource
  status: WatchStatus
  stop: AbortController
  /** Ends what is under way, to begin anew from the stored position. */
  reopen: AbortController
  done: Promise<void>
}

/** Runs any number of sources side by side. One that fails never takes others with it. */
export function createWatchManager(parts: ManagerParts): WatchManager {
  const { client, store, clock, log, metrics, timing, random } = parts
  const stop = new AbortController()
  const running = new Map<string, Running>()
  const offers = { watchList: true }
  const told = new Set<string>()
  const awaited = new Set<string>()
  const buried = new Set<string>()
  let entries: readonly WatchEntry[] = []
  let plan: WatchPlan = { sources: [], waiting: [], unsure: [], undecided: [], problems: [] }
  const split = createSplitter(parts)
  let lastError: string | undefined
  let resolved = false
  let change = Promise.withResolvers<void>()
  let uid: { value: string; atMs: number } | undefined

  /** All sources ask after a connection broke: one request answers them. */
  async function clusterUid(signal: AbortSignal): Promise<string> {
    if (!uid || clock.now() - uid.atMs >= timing.identityFreshMs) {
      uid = { value: await identify(client, store.identities, log, signal), atMs: clock.now() }
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
      const open = plan.waiting.length + plan.unsure.length + plan.undecided.length
      const settled = lastError === undefined && open === 0
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
    plan = await split(planSources(entries, catalogue, current, parts.matcherOf), signal)
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
    await bury(current)
    await retire(catalogue)
    await tellChanged(current)
    const faults: unknown[] = []
    for (const source of plan.sources) {
      // One that cannot be started yet keeps no other from it.
      if (!running.has(source.key)) await start(source).catch((error: unknown) => void faults.push(error))
    }
    if (faults.length > 0) throw faults[0]
    resolved = true
  }

  /** Kinds that are waited for may have been watched before, and have gone while nobody looked: with all their objects. */
  async function bury(current: string): Promise<void> {
    if (plan.waiting.length === 0) return
    for (const source of await store.stored(stop.signal)) {
      const lost = source.custom && source.clusterUid === current && wouldBe(source, current)
      if (!lost || running.has(source.key) || buried.has(source.key)) continue
      if ((await crdStateOf(client, source, stop.signal)) !== 'none') continue
      const session = await store.open(source, stop.signal)
      if (session.checkpoint && session.checkpoint.phase !== 'absent') await session.markAbsent(stop.signal)
      buried.add(source.key)
    }
  }

  /** Would the entries that wait make this very source, if its resource were there? */
  function wouldBe(source: Source, current: string): boolean {
    const kind = titleOf(source.resource)
    const asked = plan.waiting.filter((entry) => entry.kind === source.spelling)
    const resource = { ...source.resource, singular: '', shortNames: [], preferred: true }
    const named = asked.map((entry) => ({ ...entry, kind }))
    const { sources } = planSources(
      named,
      { resources: [resource], silentGroups: [] },
      current,
      parts.matcherOf,
    )
    return sources.flatMap((it) => [it, ...shardsOf(it)]).some(({ key }) => key === source.key)
  }

  /** Other selectors or namespaces make another source of a resource: it knows nothing of where the old one stood. */
  async function tellChanged(current: string): Promise<void> {
    const fresh = plan.sources.filter(({ key }) => !running.has(key))
    if (fresh.length === 0) return
    const stored = await store.stored(stop.signal)
    const wanted = new Set(plan.sources.map(({ key }) => key))
    for (const source of fresh) {
      if (stored.some(({ key }) => key === source.key)) continue
      const before = stored.filter(
        ({ key, clusterUid, resource }) =>
          !wanted.has(key) && clusterUid === current && titleOf(resource) === titleOf(source.resource),
      )
      if (before.length === 0) continue
      const fields = { watch: source.title, before: before.map(({ title }) => title).join('; ') }
      log.warn(
        fields,
        'selects otherwise than before: it begins anew, and what happened since the last stop is not told',
      )
    }
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
      const { title } = it.source
      const titles = [...running.values()].map(({ source }) => source.title)
      if (!titles.includes(title)) await forgetSeries(metrics.registry, 'watch', title)
    }
  }

  async function start(planned: PlannedSource): Promise<void> {
    const { spelling } = planned
    const wasAbsent = await store.absentKinds.has(spelling, stop.signal)
    const custom = (await crdStateOf(client, planned, stop.signal)) === 'there'
    const source = { ...planned, custom, ...(wasAbsent && { initial: 'emit' as const }) }
    buried.delete(source.key)
    const own = new AbortController()
    const it: Running = {
      source,
      stop: own,
      reopen: new AbortController(),
      status: initialStatus(source, clock.now()),
      done: Promise.resolve(),
    }
    running.set(source.key, it)
    const report = (status: Partial<WatchStatus>) => {
      const becameReady = status.ready === true && !it.status.ready
      Object.assign(it.status, status)
      metrics.watchReady.set({ watch: source.title }, it.status.ready ? 1 : 0)
      if (status.ready) delete it.status.lastError
      if (!becameReady) return
      log.info({ watch: source.title, position: it.status.resourceVersion }, 'watching')
      awaited.delete(spelling)
      if (wasAbsent) void store.absentKinds.remove(spelling, stop.signal).catch(() => {})
    }
    const isGone = (asked: PlannedSource, signal: AbortSignal) =>
      asked.custom
        ? crdStateOf(client, asked, signal).then((state) => state === 'none')
        : Promise.resolve(false)
    const signal = AbortSignal.any([stop.signal, own.signal])
    const run = (until: AbortSignal) =>
      runSource({ ...parts, offers, clusterUid, isGone, report }, source, until)
    it.done = runAndReopen(it, run, signal)
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
    reopen(which) {
      for (const { source, reopen } of running.values()) if (which(source.resource)) reopen.abort()
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

/** Runs a source until its signal, or its own end; anew whenever it is to be opened anew. */
async function runAndReopen(
  it: Running,
  run: (until: AbortSignal) => Promise<SourceEnd>,
  signal: AbortSignal,
): Promise<SourceEnd> {
  for (;;) {
    const { reopen } = it
    const end = await run(AbortSignal.any([signal, reopen.signal]))
    if (end !== 'stopped' || signal.aborted || !reopen.signal.aborted) return end
    it.reopen = new AbortController()
  }
}

function knows(catalogue: Catalogue, { resource }: PlannedSource): boolean {
  return catalogue.resources.some(
    ({ group, plural }) => group === resource.group && plural === resource.plural,
  )
}
