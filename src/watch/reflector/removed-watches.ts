import type { Checkpoint, Source, SourceStore } from '../../model/change.ts'
import type { Logger } from '../../observe/log.ts'
import type { ClusterClient } from '../client/cluster-client.ts'
import { crdStateOf } from '../client/crd.ts'
import { namesSource, titleOf } from '../client/discovery.ts'
import { type PlannedSource, planSources, storageOf, type WatchPlan } from '../plan/plan.ts'
import { shardsOf } from '../plan/split.ts'
import type { WatchEntry } from '../schema.ts'
import { hasPosition } from './progress.ts'
import { adoptionOf, type SelectionParts, watchedOf } from './takeover.ts'

interface RemovedWatchesParts extends SelectionParts {
  client: ClusterClient
  store: SourceStore
  log: Logger
  isRunning(key: string): boolean
}

const POSITION_GONE =
  'Redis has lost the position of this watch: it starts over, and changes since the last stop are not emitted'

/** What is stored of sources that an earlier start watched, and what became of them. */
export function createRemovedWatches(parts: RemovedWatchesParts) {
  const { client, store, log, isRunning, matcherOf } = parts
  const absent = new Set<string>()

  /** Kinds that are waited for may have been watched before, and have gone while nobody looked: with all their objects. */
  async function markAbsent(plan: WatchPlan, current: string, signal: AbortSignal): Promise<void> {
    if (plan.waiting.length === 0) return
    for (const source of await store.stored(signal)) {
      const lost = source.custom && source.clusterUid === current && wouldBe(plan, source, current)
      if (!lost || isRunning(source.key) || absent.has(source.key)) continue
      if ((await crdStateOf(client, source, signal)) !== 'none') continue
      const session = await store.open(source, signal)
      // Once more: a process that was frozen in between would mark absent what another one has begun to watch.
      const isGone = (await crdStateOf(client, source, signal)) === 'none'
      if (isGone && session.checkpoint && session.checkpoint.phase !== 'absent')
        await session.markAbsent(signal)
      // A watch that replaces it would wait for its owner, and start over.
      await store.release(source, signal)
      absent.add(source.key)
    }
  }

  /** Returns true if the entries that wait would make this very source once its resource is there. */
  function wouldBe(plan: WatchPlan, source: Source, current: string): boolean {
    const kind = titleOf(source.resource)
    const asked = plan.waiting.filter((entry) => namesSource(entry.kind, source))
    const resource = { ...source.resource, singular: '', shortNames: [], preferred: true }
    const named = asked.map((entry) => ({ ...entry, kind }))
    const { sources } = planSources(named, { resources: [resource], silentGroups: [] }, current, matcherOf)
    return sources.flatMap((it) => [it, ...shardsOf(it)]).some(({ key }) => key === source.key)
  }

  /** Returns the kinds of these entries that were watched before, and are not known to have gone: their objects may exist. */
  async function rememberedKinds(
    entries: readonly WatchEntry[],
    current: string,
    signal: AbortSignal,
  ): Promise<Set<string>> {
    const kinds = new Set<string>()
    const stored = entries.length === 0 ? [] : await store.stored(signal)
    for (const source of stored) {
      if (source.clusterUid !== current || isRunning(source.key)) continue
      const named = entries.flatMap(({ kind }) => (namesSource(kind, source) ? kind : []))
      if (named.every((kind) => kinds.has(kind))) continue
      const checkpoint = await store.peek(source, signal)
      if (!hasPosition(checkpoint) || checkpoint?.phase === 'absent') continue
      if (!(await hasGone(source, signal))) for (const kind of named) kinds.add(kind)
    }
    return kinds
  }

  async function hasGone(source: Source, signal: AbortSignal): Promise<boolean> {
    if (!source.custom) return false
    const state = await crdStateOf(client, source, signal).catch(() => 'hidden')
    signal.throwIfAborted()
    return state === 'none'
  }

  /**
   * Returns the sources that are to be started. Other selectors or namespaces make another source of a resource: it takes over
   * what the former ones knew.
   */
  async function begin(plan: WatchPlan, current: string, signal: AbortSignal): Promise<PlannedSource[]> {
    const fresh = plan.sources.filter(({ key }) => !isRunning(key))
    if (fresh.length === 0) return []
    const stored = await store.stored(signal)
    const unwanted = stored.filter((it) => isUnwanted(it, plan, current))
    const known = fresh.filter(({ key }) => stored.some((it) => it.key === key))
    const checkpoints = new Map<Source, Checkpoint | undefined>()
    // Before any of them begins: one that does takes the positions of those that it replaces.
    for (const source of [...known, ...unwanted]) checkpoints.set(source, await store.peek(source, signal))
    for (const source of known)
      if (!checkpoints.get(source)) log.error({ watch: source.title }, POSITION_GONE)
    return fresh.map((source) => {
      absent.delete(source.key)
      const isSame = ({ resource }: Source) => storageOf(resource) === storageOf(source.resource)
      const formers = async (asking: AbortSignal) =>
        (await store.stored(asking)).filter((it) => isSame(it) && isUnwanted(it, plan, current))
      const undecided = plan.undecided.map((it) => it.source).filter(isSame)
      const wanted = plan.sources.filter(isSame)
      const watched = [source, ...unwanted.filter(isSame)].flatMap((it) => watchedOf(it, checkpoints.get(it)))
      return { ...source, adoption: adoptionOf(parts, source, wanted, undecided, formers, watched) }
    })
  }

  function isUnwanted({ key, clusterUid }: Source, plan: WatchPlan, current: string): boolean {
    return clusterUid === current && !isRunning(key) && !plan.sources.some((it) => it.key === key)
  }

  return { markAbsent, rememberedKinds, begin }
}
