import { createHash } from 'node:crypto'
import { type IndexReader, isComparable, isOlder } from '../../model/change.ts'
import type { ClusterClient } from '../client/cluster-client.ts'
import { listObjects } from '../list/list.ts'
import type { PlannedSource } from '../plan/plan.ts'
import { isInShard } from '../plan/shards.ts'

/** An object of which index and cluster disagree. */
interface Difference {
  name: string
  /** `missing` in the index, `outdated` there, or `extra`: only there. */
  what: 'missing' | 'outdated' | 'extra'
}

/** The number of objects that differ, and the first of them. */
export interface Differences {
  count: number
  examples: readonly Difference[]
}

export interface VerificationParts {
  client: ClusterClient
  clock: { now(): number }
  index: IndexReader
  /** The durable position of the watch; undefined while it does not follow the cluster. */
  position(): Promise<string | undefined>
}

const MOST_EXAMPLES = 10
/** The least time between the two comparisons: a deletion that was under way in the first one is durable in the second. */
const AGAIN_MS = 1_000

/**
 * Compares the index with the cluster while the watch goes on: the index of a position contains exactly the objects of a list at this
 * position, or newer. Returns the objects that differ in two comparisons, because in one an object that is being deleted seems to be
 * missing; undefined if the state of the position cannot be had. Memory: 8 bytes for each object, and for each that differs.
 */
export async function verifyIndex(
  parts: VerificationParts,
  source: PlannedSource,
  wait: (ms: number) => Promise<void>,
  signal: AbortSignal,
): Promise<Differences | undefined> {
  const first = new UidSet()
  if (!(await compareAt(parts, source, signal, (uid) => first.add(uid)))) return undefined
  if (first.settle() === 0) return { count: 0, examples: [] }
  await wait(AGAIN_MS)
  const both = new UidSet()
  const examples: Difference[] = []
  const isKnown = await compareAt(parts, source, signal, (uid, it) => {
    if (!first.has(uid)) return
    both.add(uid)
    if (examples.length < MOST_EXAMPLES) examples.push(it)
  })
  return isKnown ? { count: both.settle(), examples } : undefined
}

/** Calls `differs` for each object that differs at the position; returns false if there is none. A uid can come twice. */
async function compareAt(
  { client, clock, index, position }: VerificationParts,
  source: PlannedSource,
  signal: AbortSignal,
  differs: (uid: string, difference: Difference) => void,
): Promise<boolean> {
  const at = await position()
  if (at === undefined || !isComparable(at)) return false
  const { namespaceFilter: filter, shard } = source
  const listed = new UidSet()
  let unreadable = 0
  const options = { clock, metadataOnly: true, at, onUnreadable: () => void unreadable++ }
  for await (const page of listObjects(client, source, options, signal)) {
    const objects = page
      .map(({ object }) => object)
      .filter(({ uid, namespace }) => (filter?.(namespace) ?? true) && (!shard || isInShard(uid, shard)))
    const known = await index.versions(objects.map(({ uid }) => uid))
    for (const [i, { uid, namespace, name, resourceVersion }] of objects.entries()) {
      listed.add(uid)
      const version = known[i]
      if (version !== undefined && !isOlder(version, resourceVersion)) continue
      differs(uid, { name: `${namespace}/${name}`, what: version === undefined ? 'missing' : 'outdated' })
    }
  }
  listed.settle()
  for await (const entries of index.all())
    for (const { uid, name, resourceVersion } of entries) {
      const isNewer = isOlder(at, resourceVersion)
      if (unreadable === 0 && !isNewer && !listed.has(uid)) differs(uid, { name, what: 'extra' })
    }
  return true
}

/** Uids by 48 bits of a hash: among a million, one that is missing seems to be there with a probability of 4e-9. */
class UidSet {
  #hashes = new Float64Array(1_024)
  #size = 0

  add(uid: string): void {
    if (this.#size === this.#hashes.length) {
      const larger = new Float64Array(2 * this.#size)
      larger.set(this.#hashes)
      this.#hashes = larger
    }
    this.#hashes[this.#size++] = hashOf(uid)
  }

  /** Call it between the last `add` and the first `has`. Returns the number of different uids. */
  settle(): number {
    this.#hashes = this.#hashes.subarray(0, this.#size).sort()
    return this.#hashes.reduce((count, hash, i, all) => (hash === all[i - 1] ? count : count + 1), 0)
  }

  has(uid: string): boolean {
    const hash = hashOf(uid)
    let [low, high] = [0, this.#size]
    while (low < high) {
      const middle = (low + high) >>> 1
      if ((this.#hashes[middle] as number) < hash) low = middle + 1
      else high = middle
    }
    return this.#hashes[low] === hash && low < this.#size
  }
}

function hashOf(uid: string): number {
  return createHash('sha1').update(uid).digest().readUIntBE(0, 6)
}
