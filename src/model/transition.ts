import { type Change, type Comparison, isOlder, type Transition } from './change.ts'

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
  const { object, observedAtMs, isCatchUp } = change
  const base = {
    uid: object.uid,
    resourceVersion: object.resourceVersion,
    namespace: object.namespace,
    name: object.name,
    labelsJson: object.labelsJson,
    observedAtMs,
    ...(isCatchUp && { isCatchUp }),
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

/** Notes in a transition that it goes back behind a version that was known. */
export function goingBack(transition: Transition, known: string): Transition {
  return isOlder(transition.resourceVersion, known) ? { ...transition, after: known } : transition
}

/** The resourceVersion in an event's id: a version that etcd went back to was sent before, and needs an id of its own. */
export function versionInId({
  resourceVersion,
  after,
}: Pick<Transition, 'resourceVersion' | 'after'>): string {
  return after === undefined ? resourceVersion : `${resourceVersion}~${after}`
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
