import type { ObjectRef, Resource } from '../event.ts'
import { SharedTexts } from './shared-texts.ts'
import { type Part, type Remembered, Table } from './table.ts'

/** What the labels and owners of objects may be long on average: nobody fills the memory with a few of them. */
const TEXT_PER_OBJECT = 2_000

/** Events about an object come after its deletion, too. */
const REMEMBERS_DELETED_MS = 600_000

export interface CacheOptions {
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
  readonly #tables = new Map<string, Table>()
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
    const title = `${resource.kind}.${resource.group}`
    const known = this.#tables.get(title)
    if (known) return known
    const table = new Table(resource, this.#texts)
    this.#tables.set(title, table)
    return table
  }

  /** The table of what a reference names; undefined when nobody watches such objects. */
  tableOf({ kind, apiVersion }: ObjectRef): Table | undefined {
    if (apiVersion !== undefined) return this.#tables.get(`${kind}.${groupOf(apiVersion)}`)
    for (const table of this.#tables.values()) if (table.resource.kind === kind) return table
    return undefined
  }

  find(ref: ObjectRef): Remembered | undefined {
    return this.tableOf(ref)?.find(keyOf(ref), ref.uid, this.#deletedSinceMs())
  }

  /** A page or a batch of a table was taken: forgets what is too old, makes room, and tells who waits. */
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

  /** Forgets what a watch told that is no more. */
  drop(resource: Resource, part: Part): void {
    this.table(resource).drop(part)
  }

  /** How many objects there are of each resource. */
  sizes(): { resource: Resource; objects: number }[] {
    return [...this.#tables.values()].map(({ resource, size }) => ({ resource, objects: size }))
  }

  #deletedSinceMs(): number {
    return this.#options.clock.now() - REMEMBERS_DELETED_MS
  }

  #makeRoom(): void {
    const tables = [...this.#tables.values()]
    let total = tables.reduce((sum, it) => sum + weightOf(it), 0)
    const evicted = new Map<Table, number>()
    const most = this.#maxObjects
    for (; total > most || (total > 0 && this.#texts.length > most * TEXT_PER_OBJECT); total--) {
      // The kind with the most objects gives way, so that namespaces and controllers stay.
      const largest = tables.reduce((a, b) => (weightOf(b) > weightOf(a) ? b : a))
      if (largest.deletedSize === 0) evicted.set(largest, (evicted.get(largest) ?? 0) + 1)
      largest.evict()
    }
    for (const [{ resource }, count] of evicted) this.#options.onEvict(resource, count)
  }
}

/** What an object is called inside its table. */
export function keyOf({ namespace = '', name = '' }: ObjectRef): string {
  return `${namespace}/${name}`
}

function weightOf({ size, deletedSize }: Table): number {
  return size + deletedSize
}

/** `apps` of `apps/v1`, '' of `v1`. */
function groupOf(apiVersion: string): string {
  const slash = apiVersion.indexOf('/')
  return slash === -1 ? '' : apiVersion.slice(0, slash)
}
