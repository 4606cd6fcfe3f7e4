import { setTimeout as pause } from 'node:timers/promises'
import type { Change, ScannedObject, Source } from '../../model/change.ts'
import { controllersOf } from '../../model/controllers.ts'
import type { ObjectRef } from '../../model/event.ts'
import type { MetadataCache } from './cache.ts'
import type { CacheStore, PartState } from './cache-store.ts'
import type { MetadataRequirements } from './metadata-requirements.ts'
import { findObject, findOwner, MOST_OWNERS } from './related-metadata.ts'
import type { Remembered, Table } from './table.ts'

/** Maximum time to wait for an object, where no object was lately awaited in vain. */
export const PATIENCE_MS = 2_000
/** Minimum time to wait for an object: a watch of metadata lags this much behind at any time. */
const LEAST_MS = 50
/** Wait budgets: at most `mostMs` of waiting; each second restores `perSecondMs`. */
const NAMESPACE = { mostMs: PATIENCE_MS, perSecondMs: 30 }
const WATCH = { mostMs: 2 * PATIENCE_MS, perSecondMs: 60 }
const MOST_NAMESPACES = 10_000

interface WaitBudget {
  spentMs: number
  atMs: number
}

/**
 * How long the changes of a namespace may hold up a watch with objects that never come: who may create Events makes up what
 * they are about. What comes costs nothing.
 */
export class WaitBudgets {
  readonly #budgets = new Map<string, WaitBudget>()

  /** For how long an object may be waited for now. */
  leftMs(watch: string, namespace: string, nowMs: number): number {
    const left = Math.min(
      NAMESPACE.mostMs - this.#spentMs(keyOf(watch, namespace), NAMESPACE.perSecondMs, nowMs),
      WATCH.mostMs - this.#spentMs(watch, WATCH.perSecondMs, nowMs),
    )
    return Math.max(LEAST_MS, Math.min(PATIENCE_MS, left))
  }

  /** Records that a watch was delayed by `ms` for objects that changes of these namespaces named. */
  spend(watch: string, namespaces: Iterable<string>, ms: number, nowMs: number): void {
    for (const namespace of namespaces) this.#add(keyOf(watch, namespace), NAMESPACE.perSecondMs, ms, nowMs)
    this.#add(watch, WATCH.perSecondMs, ms, nowMs)
  }

  #add(key: string, perSecondMs: number, ms: number, nowMs: number): void {
    const spentMs = this.#spentMs(key, perSecondMs, nowMs) + ms
    this.#budgets.delete(key)
    const [oldest] = this.#budgets.keys()
    if (oldest !== undefined && this.#budgets.size >= MOST_NAMESPACES) this.#budgets.delete(oldest)
    this.#budgets.set(key, { spentMs: Math.min(spentMs, WATCH.mostMs), atMs: nowMs })
  }

  #spentMs(key: string, perSecondMs: number, nowMs: number): number {
    const budget = this.#budgets.get(key)
    if (!budget) return 0
    // A clock that went back gives nothing back.
    const backMs = (Math.max(0, nowMs - budget.atMs) * perSecondMs) / 1_000
    return Math.max(0, budget.spentMs - backMs)
  }
}

function keyOf(watch: string, namespace: string): string {
  return `${watch}\n${namespace}`
}

/** How far a source of metadata is: it follows the cluster, it will, or nobody knows whether it ever will. */
export type Progress = 'follows' | 'behind' | 'fails'

interface BarrierParts {
  cache: MetadataCache
  store: Pick<CacheStore, 'stateOf' | 'states'>
  /** Monotonic. */
  clock: { now(): number }
  /** Returns the progress of a source. Undefined asks about kinds that were not looked up in the cluster yet. */
  progressOf(source: Source | undefined): Progress
  /** Whether a source has synced or failed, or its kind is absent. Undefined asks whether all sources are known. */
  isSettled(source: Source | undefined): boolean
  /** The object that an Event is about, read from its bytes. */
  regardingIn(object: ScannedObject): ObjectRef | undefined
  isEvent(source: Source): boolean
  /** It is decided without the object, because its source is behind, fails, or does not have it. */
  onMiss(source: Source | undefined, why: Progress): void
  onWaited(ms: number): void
}

/** How long a source may make no progress, at the start or after its connection broke. */
const STANDSTILL_MS = 30_000
const LOOK_MS = 100
/** What was waited for in vain is not waited for again. */
const FORGOTTEN_AFTER_MS = 600_000
const MOST_IN_VAIN = 10_000

interface Missing {
  key: string
  state: PartState | undefined
  isKnown(): boolean
  /** Namespaces of the changes that ask for the object. */
  namespaces: Set<string>
  /** How long its source may take to deliver it, when it follows the cluster. */
  patienceMs: number
  /** Since when its source follows the cluster without delivering it. */
  followsSinceMs?: number
}

/**
 * Holds the changes of a source back until what rules ask of their surroundings is known: a watch of metadata may lag a
 * moment behind. Never for long, and never by a request for one object.
 */
export class MetadataBarrier {
  readonly #parts: BarrierParts
  readonly #inVain = new Map<string, number>()
  readonly #patience = new WaitBudgets()
  /** Sources that were waited for as long as one may. */
  readonly #givenUp = new Set<string>()

  constructor(parts: BarrierParts) {
    this.#parts = parts
  }

  /** Resolves when all is known, or has been waited for long enough. Rejects with the signal. */
  async awaitMetadata(
    source: Source,
    changes: readonly Change[],
    needs: MetadataRequirements,
    signal: AbortSignal,
  ): Promise<void> {
    await this.#await(source, this.#missingOf(source, changes, needs), signal)
  }

  /** Resolves when all sources have settled, or make no progress. Rejects with the signal. */
  async awaitSources(source: Source, signal: AbortSignal): Promise<void> {
    await this.#await(source, [this.#unsettled(undefined)], signal)
    const states = this.#parts.store.states()
    await this.#await(
      source,
      states.map((it) => this.#unsettled(it)),
      signal,
    )
  }

  async #await(source: Source, all: readonly Missing[], signal: AbortSignal): Promise<void> {
    const { cache, clock } = this.#parts
    const startedMs = clock.now()
    let missing = all
    for (const it of missing) {
      const left = [...it.namespaces].map((namespace) =>
        this.#patience.leftMs(source.key, namespace, startedMs),
      )
      it.patienceMs = Math.max(LEAST_MS, ...left)
    }
    const inVain = new Set<string>()
    let inVainMs = 0
    for (let waited = false; ; waited = true) {
      missing = missing.filter((it) => {
        if (this.#isWorthWaiting(it, startedMs)) return true
        const { followsSinceMs } = it
        if (it.isKnown() || followsSinceMs === undefined) return false
        for (const namespace of it.namespaces) inVain.add(namespace)
        inVainMs = Math.max(inVainMs, clock.now() - followsSinceMs)
        return false
      })
      if (missing.length === 0 && inVain.size > 0)
        this.#patience.spend(source.key, inVain, inVainMs, clock.now())
      if (missing.length === 0 && waited) this.#parts.onWaited(clock.now() - startedMs)
      if (missing.length === 0) return
      const timer = new AbortController()
      const until = AbortSignal.any([signal, timer.signal])
      const lookMs = Math.min(LOOK_MS, ...missing.map(({ patienceMs }) => patienceMs))
      const look = pause(lookMs, undefined, { signal: until }).catch(() => {})
      await Promise.race([cache.changed, look])
      timer.abort()
      signal.throwIfAborted()
    }
  }

  #isWorthWaiting(it: Missing, startedMs: number): boolean {
    if (it.isKnown()) return false
    const { clock, progressOf, onMiss } = this.#parts
    const nowMs = clock.now()
    const source = it.state?.source
    const name = source?.key ?? ''
    const progress = progressOf(source)
    if (progress === 'follows') {
      this.#givenUp.delete(name)
      it.followsSinceMs ??= nowMs
      if (nowMs - it.followsSinceMs < it.patienceMs) return true
      this.#remember(it.key, nowMs)
    } else if (progress === 'behind' && !this.#givenUp.has(name)) {
      delete it.followsSinceMs
      const movedMs = Math.max(startedMs, it.state?.progressMs ?? 0)
      if (nowMs - movedMs < STANDSTILL_MS) return true
      this.#givenUp.add(name)
    }
    onMiss(source, progress)
    return false
  }

  #remember(key: string, nowMs: number): void {
    const [oldest] = this.#inVain.keys()
    if (oldest !== undefined && this.#inVain.size >= MOST_IN_VAIN) this.#inVain.delete(oldest)
    this.#inVain.set(key, nowMs)
  }

  #missingOf(source: Source, changes: readonly Change[], needs: MetadataRequirements): Missing[] {
    const isEvent = this.#parts.isEvent(source)
    const chains = isEvent ? needs.regardingOwners : needs.owners
    const regards = isEvent && (needs.regardingMetadata || needs.regardingOwners)
    if (!chains && !regards && !needs.namespaceMetadata) return []
    const missing = new Map<string, Missing>()
    for (const { object } of changes) {
      const { namespace } = object
      const add = (it: Missing | undefined) => {
        if (!it || this.#wasInVain(it.key)) return
        const same = missing.get(it.key) ?? it
        same.namespaces.add(namespace)
        missing.set(it.key, same)
      }
      if (needs.namespaceMetadata && namespace !== '')
        add(this.#lookFor({ apiVersion: 'v1', kind: 'Namespace', name: namespace }, '', false))
      if (regards) {
        const ref = this.#parts.regardingIn(object)
        if (ref) add(this.#lookFor(ref, ref.namespace ?? namespace, chains))
      } else if (chains) {
        const [owner] = controllersOf(object)
        if (owner) add(this.#lookFor(owner, namespace, true))
      }
    }
    return [...missing.values()]
  }

  #unsettled(state: PartState | undefined): Missing {
    const isKnown = () => state?.dropped === true || this.#parts.isSettled(state?.source)
    return { key: `all of ${state?.source.key}`, state, isKnown, namespaces: new Set(), patienceMs: 0 }
  }

  #wasInVain(key: string): boolean {
    const sinceMs = this.#inVain.get(key)
    if (sinceMs === undefined) return false
    if (this.#parts.clock.now() - sinceMs < FORGOTTEN_AFTER_MS) return true
    this.#inVain.delete(key)
    return false
  }

  /** What is not known of an object, or of the chain above it; undefined when all is, or no source will ever deliver it. */
  #lookFor(ref: ObjectRef, namespace: string, chain: boolean): Missing | undefined {
    const { cache, store, progressOf } = this.#parts
    let at: ObjectRef | undefined = ref
    for (let depth = 0; at && depth < MOST_OWNERS; depth++) {
      const named: ObjectRef = at
      const table: Table | undefined = cache.tableOf(at)
      const state: PartState | undefined =
        table && store.stateOf(table, table.resource.namespaced ? namespace : '', named.name ?? '')
      if (!state && (table || progressOf(undefined) === 'follows')) return undefined
      const found: Remembered | undefined =
        state && (depth === 0 ? findObject : findOwner)(cache, at, namespace)
      if (!found || !isThe(found, at)) {
        const { kind, name, uid } = named
        const key = `${kind}/${namespace}/${name}/${uid}`
        const isKnown = () => this.#lookFor(ref, namespace, chain) === undefined
        return { key, state, isKnown, namespaces: new Set(), patienceMs: 0 }
      }
      at = chain ? cache.ownerOf(found) : undefined
    }
    return undefined
  }
}

/**
 * Returns true if the object is the one that the reference means. Kubelets make up uids for nodes and for pods of their own, where the
 * name has to do.
 */
function isThe({ uid, owner }: Remembered, ref: ObjectRef): boolean {
  if (uid === ref.uid || ref.uid === undefined || !UUID.test(ref.uid)) return true
  return owner?.text.includes('"kind":"Node"') ?? false
}

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/
