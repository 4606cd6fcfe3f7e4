import { setTimeout as pause } from 'node:timers/promises'
import { unsureOf } from '../../model/change.ts'
import type { Resource } from '../../model/event.ts'
import type { WatchStatus } from '../../model/status.ts'
import { forgetSeries } from '../../observe/forget-series.ts'
import { redactMessage } from '../../text/redact.ts'
import { crdStateOf, findDefined } from '../client/crd.ts'
import {
  type Catalogue,
  discover,
  namesSource,
  otherVersionOf,
  resolveKind,
  titleOf,
} from '../client/discovery.ts'
import { isCovered, type PlannedSource, planSources, type WatchPlan } from '../plan/plan.ts'
import { createSplitter } from '../plan/split.ts'
import type { WatchEntry } from '../schema.ts'
import { createClusterIdentity } from './cluster-identity.ts'
import { hasPosition } from './progress.ts'
import { createReflectorPool, type PoolParts } from './reflector-pool.ts'
import { notServedMessage, otherVersionMessage, UNSURE, unresolved } from './reflector-status.ts'
import { createRemovedWatches } from './removed-watches.ts'
import type { SelectionParts } from './takeover.ts'
import { backoffMs } from './timing.ts'

interface ManagerParts
  extends SelectionParts,
    Omit<PoolParts, 'offers' | 'clusterUid' | 'onEnd' | 'onReady'> {
  /** Turns entries into sources; by default those of events. */
  plan?: typeof planSources
}

export interface WatchManager {
  /** Replaces what is watched; sources that stay are not disturbed. */
  apply(entries: readonly WatchEntry[]): void
  /** Resolves when the sources of the entries that were applied last are started, and all others have ended. */
  readonly applied: Promise<void>
  /** Makes sources of such resources open their stored state again: from then on it is known whether it keeps old objects. */
  reopen(which: (resource: Resource) => boolean): void
  statuses(): WatchStatus[]
  /** Stops all sources; resolves when the last commit is done and every lease is released. */
  close(): Promise<void>
}

/** Runs any number of sources side by side. One that fails never takes others with it. */
export function createWatchManager(parts: ManagerParts): WatchManager {
  const { client, store, log, metrics, timing, random, plan: planOf = planSources } = parts
  const stop = new AbortController()
  /** Problems of the last plan that were logged. */
  let reported: Pick<ReadonlySet<string>, 'has'> = new Set()
  /** Kinds that are recorded as absent; "unsure" while a part of the API that does not answer may have them. */
  const awaited = new Map<string, 'absent' | 'unsure'>()
  /** Kinds that are defined, and not served as they are spelled. */
  const defined = new Map<string, Pick<PlannedSource, 'resource'>>()
  let entries: readonly WatchEntry[] = []
  let plan: WatchPlan = { sources: [], waiting: [], unsure: [], undecided: [], problems: [] }
  const split = createSplitter(parts)
  /** Kinds that are not served and may have objects, with the reason. */
  let notServed: ReadonlyMap<string, string> = new Map()
  let lastError: string | undefined
  /** Of these every source has begun, or is known not to. */
  let resolved: readonly WatchEntry[] = []
  let change = Promise.withResolvers<void>()
  let applied = Promise.withResolvers<void>()

  const clusterUid = createClusterIdentity(parts, stop.signal)
  const runs = createReflectorPool({
    ...parts,
    clusterUid,
    offers: { watchList: true },
    onEnd: again,
    onReady({ spelling }, wasAbsent) {
      awaited.delete(spelling)
      if (wasAbsent) void noteArrived(spelling).catch(() => {})
    },
  })
  const removed = createRemovedWatches({ ...parts, isRunning: runs.has })

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
        parts.observer?.fault(error)
        const message = redactMessage((error as Error).message)
        if (lastError !== message)
          log.warn(
            { error: message, cluster: client.url },
            'cannot ask the cluster what it has; trying again',
          )
        lastError = message
        if (failures % 3 === 0) await client.refresh().catch(() => {})
      }
      const open = plan.waiting.length + plan.unsure.length + plan.undecided.length
      // What the cluster serves may end a problem, too: a definition that came with another scope, or in two groups.
      const settled = lastError === undefined && open + plan.problems.length === 0
      const delayMs = lastError
        ? backoffMs(failures, timing, random) + 100
        : (open > 0 ? timing.discoveryMs : timing.slowRetryMs) * (0.8 + random() * 0.4)
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
    const asked = entries
    plan = await split(planOf(asked, catalogue, current, parts.matcherOf), signal)
    notServed = await findNotServed(asked, catalogue, current, signal)
    await noteAbsent(catalogue, signal)
    const problems = new Map(plan.problems.map(({ entry, message }) => [message, entry.kind]))
    for (const [kind, message] of notServed) if (message !== UNSURE) problems.set(message, kind)
    for (const [message, kind] of problems) if (!reported.has(message)) log.error({ kind }, message)
    reported = problems
    await removed.markAbsent(plan, current, signal)
    parts.observer?.resolved?.()
    await retire(catalogue)
    for (const source of plan.sources) runs.reschedule(source)
    const faults: unknown[] = []
    for (const source of await removed.begin(plan, current, signal)) {
      // One that cannot be started yet keeps no other from it.
      await runs.start(source, signal).catch((error: unknown) => void faults.push(error))
    }
    if (faults.length > 0) throw faults[0]
    resolved = asked
    if (asked === entries) applied.resolve()
  }

  /**
   * A kind that merely is not installed is waited for. Of one that is there in another version, or was, changes are missed: unless
   * another entry has its objects, as in a configuration for clusters of different versions.
   */
  async function findNotServed(
    asked: readonly WatchEntry[],
    catalogue: Catalogue,
    current: string,
    signal: AbortSignal,
  ): Promise<ReadonlyMap<string, string>> {
    const { unsure } = plan
    const waiting = plan.waiting.filter((entry) => {
      const other = otherVersionOf(entry.kind, catalogue)
      return !other || !isCovered({ ...entry, kind: titleOf(other) }, asked, catalogue, parts.matcherOf)
    })
    const remembered = await removed.rememberedKinds([...waiting, ...unsure], current, signal)
    for (const [, { source }] of runs.entries())
      if (unsure.some(({ kind }) => kind === source.spelling)) remembered.add(source.spelling)
    return new Map([
      ...waiting.flatMap(({ kind }): [string, string][] => {
        const other = otherVersionOf(kind, catalogue)
        if (other) return [[kind, otherVersionMessage(kind, other)]]
        return remembered.has(kind) ? [[kind, notServedMessage(kind)]] : []
      }),
      ...unsure.flatMap(({ kind }): [string, string][] => (remembered.has(kind) ? [[kind, UNSURE]] : [])),
    ])
  }

  /**
   * Records kinds that do not exist: once they come, everything in them is new. A kind that is defined and not served, as while
   * an API server starts, may have objects already.
   */
  async function noteAbsent(catalogue: Catalogue, signal: AbortSignal): Promise<void> {
    for (const kind of awaited.keys()) if (!entries.some((it) => it.kind === kind)) awaited.delete(kind)
    for (const { kind } of [...plan.waiting, ...plan.unsure]) {
      // Only what was never seen: a kind that was watched before keeps its position.
      const isUnsure = plan.unsure.some((it) => it.kind === kind)
      const known = awaited.get(kind)
      if (known === 'absent' || (known && isUnsure)) continue
      if (await mayExist(kind, catalogue, isUnsure, signal)) continue
      const { absentKinds } = store
      if (!isUnsure) await absentKinds.remove(unsureOf(kind), signal)
      else if (!(await absentKinds.has(kind, signal))) await absentKinds.add(unsureOf(kind), signal)
      await absentKinds.add(kind, signal)
      awaited.set(kind, isUnsure ? 'unsure' : 'absent')
      if (!known) log.info({ kind }, 'the cluster does not have this kind yet; waiting for it')
    }
  }

  /** Forgets that a kind was absent once each of its sources has begun: until then those to come must know it. */
  async function noteArrived(spelling: string): Promise<void> {
    const { sources, undecided } = plan
    if (undecided.some((it) => it.source.spelling === spelling)) return
    for (const source of sources) {
      if (source.spelling !== spelling || source.metadataOnly) continue
      if (!hasPosition(await store.peek(source, stop.signal))) return
    }
    const own = sources.filter((it) => it.spelling === spelling)
    const others = entries.map(({ kind }) => kind).filter((kind) => own.some((it) => namesSource(kind, it)))
    for (const it of new Set([spelling, ...others]))
      for (const recorded of [it, unsureOf(it)]) await store.absentKinds.remove(recorded, stop.signal)
  }

  /**
   * True also while the API server does not answer. Without permission to list definitions a kind counts as absent: then nothing
   * is lost, but what exists is sent as new; not while a part of the API does not answer.
   */
  async function mayExist(
    kind: string,
    catalogue: Catalogue,
    isUnsure: boolean,
    signal: AbortSignal,
  ): Promise<boolean> {
    try {
      const known = defined.get(kind)
      if (known && (await crdStateOf(client, known, signal)) === 'there') return true
      const found = await findDefined(client, kind, catalogue, signal)
      if (typeof found === 'string') return isUnsure && found === 'hidden'
      if (!known)
        log.info({ kind }, 'the cluster defines this kind and does not serve it yet; waiting for it')
      defined.set(kind, found)
      return true
    } catch (error) {
      signal.throwIfAborted()
      log.debug({ kind, error }, 'cannot ask whether this kind is defined; asking again')
      return true
    }
  }

  /** Stops what is not asked for any more. What discovery misses for a moment goes on, and what another group has by now, too. */
  async function retire(catalogue: Catalogue): Promise<void> {
    const wanted = new Map(plan.sources.map((source) => [source.key, source]))
    const spellings = new Set(entries.map(({ kind }) => kind))
    for (const [key, it] of runs.entries()) {
      const isAsked = spellings.has(it.source.spelling)
      const missing = isAsked && (!knows(catalogue, it.source) || isAmbiguous(catalogue, it.source))
      const planned = wanted.get(key)
      if (planned ? !namesOtherVersion(planned, it.source) : missing) continue
      it.stop.abort()
      await it.done
      const { title } = it.source
      const titles = [...runs.entries()].map(([, { source }]) => source.title)
      if (!titles.includes(title)) await forgetSeries(metrics.registry, 'watch', [title])
    }
  }

  /** Resolves the kinds again. */
  function again(): void {
    change.resolve()
    change = Promise.withResolvers<void>()
  }

  const resolving = keepResolving().catch(() => {})
  return {
    apply(wanted) {
      entries = wanted
      const { resolve } = applied
      applied = Promise.withResolvers()
      void applied.promise.then(resolve)
      again()
    },
    get applied() {
      return applied.promise
    },
    reopen: runs.reopen,
    statuses: () => [...runs.statuses(), ...unresolved(plan, entries, resolved, lastError, notServed)],
    async close() {
      const left = parts.leases?.leave()
      stop.abort()
      again()
      await resolving
      await runs.ended()
      await left
    },
  }
}

function isAmbiguous(catalogue: Catalogue, { spelling }: PlannedSource): boolean {
  return resolveKind(spelling, catalogue).kind === 'ambiguous'
}

/** The entry was edited: the key of a source has no version, because all versions have the same objects. */
function namesOtherVersion(planned: PlannedSource, running: PlannedSource): boolean {
  return planned.spelling !== running.spelling && planned.resource.version !== running.resource.version
}

function knows(catalogue: Catalogue, { resource }: PlannedSource): boolean {
  return catalogue.resources.some(
    ({ group, plural }) => group === resource.group && plural === resource.plural,
  )
}
