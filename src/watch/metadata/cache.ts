import { getHeapStatistics } from 'node:v8'
import type { ObjectRef, Resource } from '../../model/event.ts'
import { type Part, type Remembered, rememberLast, SharedTexts, Table } from './table.ts'

/** Average length of the labels, annotations and owners of an object: a few large objects must not fill the memory. */
const TEXT_PER_OBJECT = 2_000
/** All texts may take this part of the heap; twice of it where they are not Latin. */
const HEAP_SHARE = 1 / 8
/** Texts are evicted down to this part of the bound, so that not every change has to look for the longest. */
const ENOUGH_TEXT = 7 / 8

/** Events about an object come after its deletion, too. */
const REMEMBERS_DELETED_MS = 600_000

/** Objects were forgotten because the texts of all were too long together: many, or long ones. */
export interface EvictedTexts {
  /** `namespace/name` of one of those that had the longest. */
  longest: string
  /** Size of the whole cache before the eviction. */
  objects: number
  characters: number
}

interface CacheOptions {
  /** Maximum number of objects of all tables together, deleted ones included. */
  maxObjects: number
  /** For how long deleted objects are remembered; monotonic. */
  clock: { now(): number }
  /** Called when `count` objects of a resource were evicted: for `maxObjects`, or with `texts` for the length of their texts. */
  onEvict(resource: Resource, count: number, texts?: EvictedTexts): void
  /** The labels or the owner of an object, `namespace/name`, are too long to keep. */
  onExclude(resource: Resource, key: string): void
}

/** Metadata of objects, a table for each resource; bounded. */
export class MetadataCache {
  readonly #options: CacheOptions
  #maxObjects: number
  readonly #texts = new SharedTexts()
  readonly #tables: Table[] = []
  readonly #byKind = new Map<string, Table[]>()
  readonly #referenceIn = rememberLast((json) => JSON.parse(json) as ObjectRef)
  #changed = Promise.withResolvers<void>()

  constructor(options: CacheOptions) {
    this.#options = options
    this.#maxObjects = options.maxObjects
  }

  set maxObjects(most: number) {
    this.#maxObjects = most
    this.#makeRoom()
  }

  /** Resolves when something was put or deleted, or `touch` was called. */
  get changed(): Promise<void> {
    return this.#changed.promise
  }

  /** The time of what is put or deleted now. */
  get nowMs(): number {
    return this.#options.clock.now()
  }

  /** Makes the table at first use. */
  table(resource: Resource): Table {
    const { kind, group } = resource
    const same = this.#byKind.get(kind) ?? []
    const known = same.find((it) => it.resource.group === group)
    if (known) return known
    const table = new Table(resource, this.#texts)
    this.#byKind.set(kind, [...same, table])
    this.#tables.push(table)
    return table
  }

  /** The table of what a reference names; undefined when nobody watches such objects. */
  tableOf({ kind, apiVersion }: ObjectRef): Table | undefined {
    const same = kind === undefined ? undefined : this.#byKind.get(kind)
    if (!same || apiVersion === undefined) return same?.[0]
    return same.find(({ resource }) => isOfGroup(apiVersion, resource.group))
  }

  /** The controller of an object. */
  ownerOf({ owner }: Remembered): ObjectRef | undefined {
    return owner && this.#referenceIn(owner.text)
  }

  /** By its uid, else by its name; also what was deleted a while ago. */
  find(table: Table, namespace: string, { name, uid }: ObjectRef): Remembered | undefined {
    return table.find(`${namespace}/${name}`, uid, this.#deletedSinceMs())
  }

  /** A page or a batch of a table was taken: forgets what is too old, evicts, and wakes those that wait. */
  settle(table: Table): void {
    table.forgetDeletedBefore(this.#deletedSinceMs())
    this.#makeRoom()
    this.touch()
  }

  /** What is to be noted of an object is too long: it is unknown from now on. */
  exclude(table: Table, key: string, uid: string): void {
    table.exclude(key, uid, this.nowMs)
    this.#options.onExclude(table.resource, key)
  }

  /** What is known of watches may have changed. */
  touch(): void {
    this.#changed.resolve()
    this.#changed = Promise.withResolvers()
  }

  /** Forgets the objects of a removed watch. */
  drop(resource: Resource, part: Part): void {
    this.table(resource).drop(part)
  }

  /** How many objects there are of each resource. */
  sizes(): { resource: Resource; objects: number }[] {
    return this.#tables.map(({ resource, size }) => ({ resource, objects: size }))
  }

  #deletedSinceMs(): number {
    return this.nowMs - REMEMBERS_DELETED_MS
  }

  #makeRoom(): void {
    const { heap_size_limit: heap } = getHeapStatistics()
    const mostText = Math.min(this.#maxObjects * TEXT_PER_OBJECT, heap * HEAP_SHARE)
    if (this.#texts.length > mostText) this.#shorten(mostText * ENOUGH_TEXT)
    const tables = this.#tables
    let total = tables.reduce((sum, it) => sum + weightOf(it), 0)
    const evicted = new Map<Table, number>()
    const most = this.#maxObjects
    for (; total > most; total--) {
      // The kind with the most objects gives way, so that namespaces and controllers stay.
      const largest = tables.reduce((a, b) => (weightOf(b) > weightOf(a) ? b : a))
      if (largest.deletedSize === 0) evicted.set(largest, (evicted.get(largest) ?? 0) + 1)
      largest.evict()
    }
    for (const [{ resource }, count] of evicted) this.#options.onEvict(resource, count)
  }

  /** Evicts the objects with the longest texts; those of the cluster last, which nobody can create who has a namespace alone. */
  #shorten(enough: number): void {
    const characters = this.#texts.length
    const objects = this.#tables.reduce((sum, it) => sum + weightOf(it), 0)
    for (const namespaced of [true, false]) {
      const tables = this.#tables.filter(({ resource }) => resource.namespaced === namespaced)
      while (this.#texts.length > enough) {
        const longest = Math.max(0, ...tables.map((it) => it.longest))
        if (longest === 0) break
        for (const table of tables) {
          const [first, ...others] = table.evictLong(longest / 2, enough)
          if (first === undefined) continue
          const texts = { longest: first, objects, characters }
          this.#options.onEvict(table.resource, 1 + others.length, texts)
        }
      }
    }
  }
}

function weightOf({ size, deletedSize }: Table): number {
  return size + deletedSize
}

/** Returns true if `group` is that of the apiVersion: `apps` of `apps/v1`, '' of `v1`. */
function isOfGroup(apiVersion: string, group: string): boolean {
  if (group === '') return !apiVersion.includes('/')
  return apiVersion[group.length] === '/' && apiVersion.startsWith(group)
}
