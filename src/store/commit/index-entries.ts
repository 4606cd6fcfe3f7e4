import type { Redis } from 'ioredis'
import type { Change, IndexReader } from '../../model/change.ts'
import type { IndexEntry } from '../../model/transition.ts'
import type { Keys } from '../keys.ts'
import { scanHash } from '../redis/scan.ts'
import type { Plan } from './commit-plan.ts'

/**
 * Longer labels are not stored: Kubernetes bounds each label, and not their number. Who may create objects in a namespace could fill Redis
 * with them, and deleting the objects does not help while watches pause; nodes have more labels than other objects.
 */
const MOST_LABELS = 4_096
const MOST_LABELS_OF_CLUSTER = 16_384

/**
 * Encodes an entry as `<namespace>/<name>/<labels>\n<resourceVersion>`. Path segments cannot contain a slash. The version follows
 * the last line break, because the version of an extension API server may contain any other character. Labels
 * that are too long are left out.
 */
export function encodeIndexEntry(entry: IndexEntry): string {
  const { labelsJson, namespace, name, resourceVersion } = entry
  const most = namespace === '' ? MOST_LABELS_OF_CLUSTER : MOST_LABELS
  const labels = labelsJson === '{}' || labelsJson.length > most ? '' : labelsJson
  return `${namespace}/${name}/${labels}\n${resourceVersion}`
}

export function decodeIndexEntry(text: string): IndexEntry {
  const first = text.indexOf('/')
  const second = text.indexOf('/', first + 1)
  const end = text.lastIndexOf('\n')
  return {
    namespace: text.slice(0, first),
    name: text.slice(first + 1, second),
    labelsJson: text.slice(second + 1, end) || '{}',
    resourceVersion: text.slice(end + 1),
  }
}

/** Returns the name of an object within its resource. */
export function nameOf(object: { namespace: string; name: string }): string {
  return `${object.namespace}/${object.name}`
}

/** The number of entries that a session remembers, for objects that change often or soon again. */
const MOST_KNOWN = 2_000
/** Longer entries are read from the index. */
const MOST_KNOWN_LENGTH = 4_096

/**
 * The index entries that a session wrote recently. A commit assumes them instead of reading the index. The transaction compares
 * them with Redis; if one differs, the commit is evaluated again with entries that it reads.
 */
export class KnownEntries {
  readonly #entries = new Map<string, string>()

  /** Returns uid → entry, null for none; undefined if an entry must be read. An ADDED object is assumed to be new. */
  assume(changes: readonly Change[]): Map<string, string | null> | undefined {
    const assumed = new Map<string, string | null>()
    for (const { type, object } of changes) {
      if (assumed.has(object.uid)) continue
      const entry = this.#entries.get(object.uid) ?? (type === 'ADDED' ? null : undefined)
      if (entry === undefined) return undefined
      assumed.set(object.uid, entry)
    }
    return assumed
  }

  /** Call when the transaction is durable. */
  written({ forget, indexSet, indexDelete }: Plan): void {
    if (forget === 'all') this.#entries.clear()
    for (let i = 0; i < indexSet.length; i += 2) {
      const uid = indexSet[i] as string
      const entry = indexSet[i + 1] as string
      this.#entries.delete(uid)
      if (entry.length <= MOST_KNOWN_LENGTH) this.#entries.set(uid, entry)
    }
    for (const uid of indexDelete) this.#entries.delete(uid)
    for (const uid of this.#entries.keys()) {
      if (this.#entries.size <= MOST_KNOWN) break
      this.#entries.delete(uid)
    }
  }
}

/** Returns the index of a source, for reads. */
export function indexReader(redis: Redis, keys: Keys, source: string): IndexReader {
  const key = keys.index(source)
  return {
    async versions(uids) {
      if (uids.length === 0) return []
      const entries = await redis.hmget(key, ...uids)
      return entries.map((it) => (it === null ? undefined : decodeIndexEntry(it).resourceVersion))
    },
    async *all() {
      for await (const page of scanHash(redis, key))
        yield page.map(([uid, text]) => {
          const entry = decodeIndexEntry(text)
          return { uid, name: nameOf(entry), resourceVersion: entry.resourceVersion }
        })
    },
  }
}
