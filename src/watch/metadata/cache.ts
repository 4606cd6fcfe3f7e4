import { getHeapStatistics } from 'node:v8'
import type { ObjectRef, Resource } from '../../model/event.ts'
import { type Part, type Remembered, rememberLast, SharedTexts, Table } from './table.ts'

/** Average length of the labels, annotations and owners of an object: a few large objects must not fill the memory. */
const TEXT_PER_OBJECT = 2_000
/** A character takes one or two bytes: all texts together take at most half of the heap. */
const MAX_TEXT = getHeapStatistics().heap_size_limit / 4

/** Events about an object come after its deletion, too. */
const REMEMBERS_DELETED_MS = 600_000

interface CacheOptions {
  /** Of all tables together, what is deleted included. */
  maxObjects: number
  clock: { now(): number }
  /** There was no room: so many of a resource were forgotten. */
  onEvict(resource: Resource, count: number): void
}

/** Metadata of objects, a table for each resource; bounded. */
export class MetadataCache {
  readonly #options: CacheOptions
  #maxObjects: number
  readonly #texts = new SharedTexts()
  readonly #tables: Table[] = []
  readonly #byKind = new Map<string, Table[]>()
  readonly #referenceIn = rememberLast((json) => JSON.parse(json) as ObjectRef, 2_000)
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
    return this.#options.clock.now() - REMEMBERS_DELETED_MS
  }

  #makeRoom(): void {
    const tables = this.#tables
    const evicted = new Map<Table, number>()
    const most = this.#maxObjects
    const mostText = Math.min(most * TEXT_PER_OBJECT, MAX_TEXT)
    // Objects with long texts give way first: those of others would make no room.
    if (this.#texts.length > mostText)
      for (const table of tables) {
        const count = table.evictLong()
        if (count > 0) evicted.set(table, count)
      }
    let total = tables.reduce((sum, it) => sum + weightOf(it), 0)
    for (; total > most || (total > 0 && this.#texts.length > mostText); total--) {
      // The kind with the most objects gives way, so that namespaces and controllers stay.
      const largest = tables.reduce((a, b) => (weightOf(b) > weightOf(a) ? b : a))
      if (largest.deletedSize === 0) evicted.set(largest, (evicted.get(largest) ?? 0) + 1)
      largest.evict()
    }
    for (const [{ resource }, count] of evicted) this.#options.onEvict(resource, count)
  }
}

function weightOf({ size, deletedSize }: Table): number {
  return size + deletedSize
}

/** Is `apps` the group of `apps/v1`, or '' that of `v1`? */
function isOfGroup(apiVersion: string, group: string): boolean {
  if (group === '') return !apiVersion.includes('/')
  return apiVersion[group.length] === '/' && apiVersion.startsWith(group)
}
