import type { Checkpoint } from '../change.ts'

/** True when both are comparable resourceVersions (KEP-5504) and `a` is the older one. */
export function isOlder(a: string, b: string): boolean {
  if (!COMPARABLE.test(a) || !COMPARABLE.test(b)) return false
  return a.length === b.length ? a < b : a.length < b.length
}

const COMPARABLE = /^[1-9][0-9]*$/

/** Whatever happens from now on will be told: a first list is complete, or the resource is known to be absent. */
export function isPositioned(checkpoint: Checkpoint | undefined): boolean {
  return checkpoint !== undefined && (checkpoint.phase === 'absent' || checkpoint.resourceVersion !== '')
}
