import type { Change } from '../change.ts'

/** How much one transaction takes at most; more is split, but never a single object. */
const MAX_CHANGES = 1_000
const MAX_BYTES = 8 * 1024 * 1024
/** Each large object costs tens of milliseconds, and a transaction is decided in one go. */
const LARGE_BYTES = 128 * 1024
const MAX_LARGE_BYTES = 1024 * 1024

/** Parts of at most so many changes and bytes. Changes of one position stay together: it is durable for all or none. */
export function chunks(changes: readonly Change[]): (readonly Change[])[] {
  if (changes.length === 0) return []
  const parts: (readonly Change[])[] = []
  let start = 0
  let bytes = 0
  let largeBytes = 0
  let position = ''
  for (const [i, { object }] of changes.entries()) {
    const { length } = object.bytes
    const large = length > LARGE_BYTES ? length : 0
    const isTooLarge = bytes + length > MAX_BYTES || (large > 0 && largeBytes + large > MAX_LARGE_BYTES)
    const full = i - start >= MAX_CHANGES || isTooLarge
    if (i > start && full && object.resourceVersion !== position) {
      parts.push(changes.slice(start, i))
      start = i
      bytes = 0
      largeBytes = 0
    }
    bytes += length
    largeBytes += large
    position = object.resourceVersion
  }
  return [...parts, changes.slice(start)]
}
