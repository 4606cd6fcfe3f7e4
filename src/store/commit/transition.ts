import { type Change, type Comparison, isOlder, type Transition } from '../../model/change.ts'
import type { Plan } from './commit-plan.ts'

/**
 * Returns the transition of a change, given its object's entry in the index; undefined when it was processed already. The index decides,
 * not the type from the server: a MODIFIED of an unknown object is an ADDED, an ADDED of a known one is a MODIFIED or a repeat.
 */
export function transitionOf(
  change: Change,
  known: IndexEntry | undefined,
  comparison: Comparison,
  synthesized: boolean,
): Transition | undefined {
  const { object, observedAtMs } = change
  const base = {
    uid: object.uid,
    resourceVersion: object.resourceVersion,
    namespace: object.namespace,
    name: object.name,
    labelsJson: object.labelsJson,
    observedAtMs,
    synthesized,
    object,
  }
  if (change.type === 'DELETED')
    return known && !isStale(object.resourceVersion, known, comparison)
      ? { ...base, type: 'DELETED' }
      : undefined
  if (!known) return { ...base, type: 'ADDED' }
  return isNews(object.resourceVersion, known, comparison) ? { ...base, type: 'MODIFIED' } : undefined
}

/** Returns the transition of an unchanged object that the watch no longer selects. */
export function deselectionOf(uid: string, known: IndexEntry, observedAtMs: number): Transition {
  return { ...deletionOf(uid, known, observedAtMs), type: 'MODIFIED', deselected: true }
}

/** Returns a deletion that a list found: only the index entry of the object is left. */
export function deletionOf(uid: string, known: IndexEntry, observedAtMs: number): Transition {
  return {
    type: 'DELETED',
    uid,
    resourceVersion: known.resourceVersion,
    namespace: known.namespace,
    name: known.name,
    labelsJson: known.labelsJson,
    observedAtMs,
    synthesized: true,
  }
}

function isNews(resourceVersion: string, known: IndexEntry, comparison: Comparison): boolean {
  if (resourceVersion === known.resourceVersion) return false
  return comparison === 'different' || !isOlder(resourceVersion, known.resourceVersion)
}

/** Whether a deletion is older than the indexed version. A deletion with the indexed version itself is not stale. */
function isStale(resourceVersion: string, known: IndexEntry, comparison: Comparison): boolean {
  return comparison === 'newer' && isOlder(resourceVersion, known.resourceVersion)
}

/** An entry of the object index: enough to detect old versions, and to synthesize a missed deletion. */
export interface IndexEntry {
  resourceVersion: string
  namespace: string
  name: string
  /** Raw JSON. */
  labelsJson: string
}

/**
 * Encodes an entry as `<namespace>/<name>/<labels>\n<resourceVersion>`. Path segments cannot contain a slash. The version follows
 * the last line break, because the version of an extension API server may contain any other character.
 */
export function encodeIndexEntry(entry: IndexEntry): string {
  const labels = entry.labelsJson === '{}' ? '' : entry.labelsJson
  return `${entry.namespace}/${entry.name}/${labels}\n${entry.resourceVersion}`
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
      this.#entries.delete(uid)
      this.#entries.set(uid, indexSet[i + 1] as string)
    }
    for (const uid of indexDelete) this.#entries.delete(uid)
    for (const uid of this.#entries.keys()) {
      if (this.#entries.size <= MOST_KNOWN) break
      this.#entries.delete(uid)
    }
  }
}
