import type { Change, Comparison, Transition } from '../change.ts'
import type { IndexEntry } from './index-entry.ts'

/**
 * What a change means, given what the index knows of its object; undefined when it was seen already. The index decides,
 * not the server's word: a MODIFIED of an unknown object is an ADDED, an ADDED of a known one is a MODIFIED or old news.
 */
export function decideTransition(
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

/** An object that is as it was, and that the watch does not select any more. */
export function leavingOf(uid: string, known: IndexEntry, observedAtMs: number): Transition {
  return { ...deletionOf(uid, known, observedAtMs), type: 'MODIFIED', left: true }
}

/** A deletion that a list found: only what the index knew is left of the object. */
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
  return comparison === 'different' || compareVersions(resourceVersion, known.resourceVersion) !== -1
}

/** A replayed deletion that is older than what the index knows; one of the same version is news. */
function isStale(resourceVersion: string, known: IndexEntry, comparison: Comparison): boolean {
  return comparison === 'newer' && compareVersions(resourceVersion, known.resourceVersion) === -1
}

/**
 * Compares resourceVersions: -1 older, 0 same, 1 newer; undefined when they are no comparable integers (KEP-5504:
 * decimal without leading zeros; the longer is the newer, else the lexically greater).
 */
export function compareVersions(a: string, b: string): -1 | 0 | 1 | undefined {
  if (a === b) return 0
  if (!COMPARABLE.test(a) || !COMPARABLE.test(b)) return undefined
  if (a.length !== b.length) return a.length < b.length ? -1 : 1
  return a < b ? -1 : 1
}

const COMPARABLE = /^[1-9][0-9]*$/
