import type { ScannedObject } from '../change.ts'
import type { Resource } from '../event.ts'
import { walkMembers } from './json-bytes.ts'
import { hashSecret, isSecretResource } from './secret.ts'

/** An object as JSON that may leave: without managedFields and last-applied-configuration, Secret values hashed. */
export function objectJsonOf(
  resource: Resource,
  { bytes, managedFields, annotations }: ScannedObject,
  salt: Buffer,
): Buffer {
  const trimmed = cut(bytes, [managedFields, lastApplied(bytes, annotations)])
  if (!isSecretResource(resource)) return trimmed
  const parsed = JSON.parse(trimmed.toString()) as Record<string, unknown>
  return Buffer.from(JSON.stringify(hashSecret(parsed, salt)))
}

type Range = readonly [start: number, end: number]

const LAST_APPLIED = 'kubectl.kubernetes.io/last-applied-configuration'

/** It repeats the whole object, and for a Secret its values. */
function lastApplied(bytes: Buffer, annotations: Range | undefined): Range | undefined {
  if (!annotations || bytes.indexOf(LAST_APPLIED, annotations[0]) === -1) return undefined
  let found: Range | undefined
  walkMembers(bytes, annotations[0], (key, _value, _end, range) => {
    if (key === LAST_APPLIED) found = range
    return found !== undefined
  })
  return found
}

/** Leaves ranges of JSON bytes out. */
function cut(bytes: Buffer, ranges: readonly (Range | undefined)[]): Buffer {
  const sorted = ranges.filter((range) => range !== undefined).sort((a, b) => a[0] - b[0])
  if (sorted.length === 0) return bytes
  const kept: Buffer[] = []
  let from = 0
  for (const [start, end] of sorted) {
    kept.push(bytes.subarray(from, start))
    from = end
  }
  kept.push(bytes.subarray(from))
  return Buffer.concat(kept)
}
