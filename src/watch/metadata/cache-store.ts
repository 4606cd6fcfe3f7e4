import type {
  Change,
  Checkpoint,
  ScannedObject,
  Source,
  SourceSession,
  SourceStore,
} from '../../model/change.ts'
import { clusterFacts } from '../../model/cluster-facts.ts'
import { controllersOf } from '../../model/controllers.ts'
import type { Resource } from '../../model/event.ts'
import { readMember } from '../decode/json-bytes.ts'
import type { MetadataCache } from './cache.ts'
import type { Part, Table } from './table.ts'

/** A source of metadata; it may read fewer namespaces than the API server sends, and reads no annotations but these. */
export type MetadataSource = Source & {
  namespaceFilter?: (namespace: string) => boolean
  annotations?: readonly string[]
}

/** How far the watch of a part of a table is. */
export interface PartState {
  readonly source: MetadataSource
  readonly part: Part
  checkpoint: Checkpoint | undefined
  /** When a page or a batch was taken last. */
  progressMs: number
  /** Nobody needs it any more. */
  dropped: boolean
}

export interface CacheStore extends SourceStore {
  /** There will be these sources. */
  expect(sources: readonly MetadataSource[]): void
  /** Returns the state of the source that covers a table's objects of this name; undefined when none does. */
  stateOf(table: Table, namespace: string, name: string): PartState | undefined
  /** Returns the states of all sources. */
  states(): readonly PartState[]
  /** Forgets the objects of sources that are removed. */
  retain(wanted: (source: Source) => boolean): void
}

/**
 * What a watch asks of durable storage, in memory: sources that commit here fill the cache, with the same state machine as
 * those of events. Nothing is fenced, because every process has its own.
 */
export function createCacheStore(cache: MetadataCache, clock: { now(): number }): CacheStore {
  const states = new Map<string, PartState>()

  function open(source: MetadataSource): PartState {
    const known = states.get(source.key)
    if (known) return known
    const part = { namespace: source.namespace, list: 0 }
    const fresh = { source, part, checkpoint: undefined, progressMs: clock.now(), dropped: false }
    states.set(source.key, fresh)
    cache.table(source.resource)
    return fresh
  }

  return {
    open: async (source) => new CacheSession(cache, clock, open(source)),
    peek: async () => undefined,
    stored: async () => [],
    ...clusterFacts(),
    splits: { get: async () => 'whole', settle: async () => 'whole' },
    expect: (sources) => sources.forEach(open),
    stateOf({ resource }, namespace, name) {
      for (const state of states.values())
        if (isSame(state.source.resource, resource) && covers(state.source, namespace, name)) return state
      return undefined
    },
    states: () => [...states.values()],
    retain(wanted) {
      for (const [key, state] of states) {
        if (wanted(state.source)) continue
        state.dropped = true
        states.delete(key)
        cache.drop(state.source.resource, state.part)
      }
    },
  }
}

function isSame(a: Resource, b: Resource): boolean {
  return a.kind === b.kind && a.group === b.group
}

function covers(source: MetadataSource, namespace: string, name: string): boolean {
  const { namespace: own, fieldSelector, namespaceFilter } = source
  if (own !== '' && own !== namespace) return false
  if (fieldSelector !== '' && fieldSelector !== `metadata.name=${name}`) return false
  return namespaceFilter?.(namespace) ?? true
}

/**
 * Labels, or owners, that are longer are an attack, or a mistake: their object stays unknown, because without them a rule could
 * match what it should not. Nodes with the labels of node-feature-discovery have several thousand characters.
 */
const MOST_TEXT = 16_384
/** Longer annotations count as absent: what rules compare and templates show is short. */
const MOST_ANNOTATION = 4_096

/** Returns these annotations of an object as JSON, without parsing the others. */
function annotationsJsonOf({ bytes, annotations }: ScannedObject, keys: readonly string[]): string {
  if (!annotations || keys.length === 0) return '{}'
  const found: [string, string][] = []
  for (const key of keys) {
    const value = readMember(bytes, annotations[0], key)
    if (typeof value === 'string' && value.length <= MOST_ANNOTATION) found.push([key, value])
  }
  return JSON.stringify(Object.fromEntries(found))
}

class CacheSession implements SourceSession {
  readonly keepsPrevious = false
  emitted = 0
  /** No rule is asked of metadata, so nothing waits. */
  readonly dueMs = undefined
  readonly #cache: MetadataCache
  readonly #clock: { now(): number }
  readonly #state: PartState
  readonly #table: Table

  constructor(cache: MetadataCache, clock: { now(): number }, state: PartState) {
    this.#cache = cache
    this.#clock = clock
    this.#state = state
    this.#table = cache.table(state.source.resource)
  }

  get checkpoint(): Checkpoint | undefined {
    return this.#state.checkpoint
  }

  async expire(): Promise<void> {}

  async forgetLimits(): Promise<void> {}

  async adopt(): Promise<void> {}

  async beginSeed(): Promise<void> {
    this.#state.part.list++
    this.#move('seeding', '')
  }

  async beginList(): Promise<void> {
    this.#state.part.list++
    this.#move('listing', this.#state.checkpoint?.resourceVersion ?? '')
  }

  async seed(page: readonly Change[]): Promise<void> {
    this.#take(page)
  }

  async list(page: readonly Change[]): Promise<void> {
    this.#take(page)
  }

  async endList(resourceVersion: string, _signal: AbortSignal, complete = true): Promise<void> {
    if (complete) this.emitted += this.#table.sweep(this.#state.part, this.#cache.nowMs)
    this.#move('watching', resourceVersion)
  }

  async commit(changes: readonly Change[], resourceVersion: string): Promise<void> {
    this.#take(changes)
    this.#move('watching', resourceVersion)
  }

  async markAbsent(): Promise<void> {
    this.#state.part.list++
    this.emitted += this.#table.sweep(this.#state.part, this.#cache.nowMs)
    this.#move('absent', '')
  }

  #take(changes: readonly Change[]): void {
    const { part, dropped } = this.#state
    if (dropped) return
    const { nowMs } = this.#cache
    for (const { type, object } of changes) {
      const { uid, labelsJson, namespace, name } = object
      const key = `${namespace}/${name}`
      if (type === 'DELETED') {
        this.#table.delete(key, uid, nowMs)
        continue
      }
      const [owner] = controllersOf(object)
      const ownerJson = owner ? JSON.stringify(owner) : ''
      if (labelsJson.length + ownerJson.length > MOST_TEXT) {
        this.#cache.exclude(this.#table, key, uid)
        continue
      }
      const annotationsJson = annotationsJsonOf(object, this.#state.source.annotations ?? [])
      if (this.#table.put(key, { uid, labelsJson, annotationsJson, ownerJson }, part, nowMs)) this.emitted++
    }
    this.#state.progressMs = this.#clock.now()
    this.#cache.settle(this.#table)
  }

  #move(phase: Checkpoint['phase'], resourceVersion: string): void {
    const sequence = (this.#state.checkpoint?.sequence ?? 0) + 1
    this.#state.checkpoint = { phase, resourceVersion, sequence, holder: '', atMs: this.#clock.now() }
    this.#cache.touch()
  }
}
