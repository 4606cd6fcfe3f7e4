import { hash } from 'node:crypto'
import type { ScannedObject } from '../../model/change.ts'
import type { Resource } from '../../model/event.ts'
import { walkMembers } from './json-bytes.ts'

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

export function isSecretResource({ group, plural }: Resource): boolean {
  return group === '' && plural === 'secrets'
}

/**
 * A Secret that may leave: keys stay, values become salted hashes, so that a change shows and a value does not; so do
 * annotations that may hold a copy. The salt belongs to one installation: without it short values could be guessed from
 * their hashes.
 */
export function hashSecret(object: Record<string, unknown>, salt: Buffer): Record<string, unknown> {
  const hashed = { ...object }
  const hashOf = hasher(salt)
  for (const field of ['data', 'stringData']) {
    if (field in hashed) hashed[field] = hashValues(hashed[field], hashOf)
  }
  const { metadata } = object as { metadata?: { annotations?: unknown } }
  if (metadata?.annotations)
    hashed['metadata'] = { ...metadata, annotations: hashValues(metadata.annotations, hashOf, mayBeCopy) }
  return hashed
}

/** Tools keep what they applied in annotations: as JSON, or packed. Other annotations are shorter. */
function mayBeCopy(key: string, value: unknown): boolean {
  if (typeof value !== 'string') return true
  return value.length > 256 || /^\s*[{[]/.test(value) || /(applied|original|configuration)$/i.test(key)
}

function hashValues(
  values: unknown,
  hashOf: (value: unknown) => string,
  isSecret: (key: string, value: unknown) => boolean = () => true,
): Record<string, unknown> {
  if (typeof values !== 'object' || values === null) return {}
  const entries = Object.entries(values)
  return Object.fromEntries(
    entries.map(([key, value]) => [key, isSecret(key, value) ? hashOf(value) : value]),
  )
}

const BLOCK_BYTES = 64
const DIGEST_BYTES = 32
const MAX_SHORT_BYTES = 3_000

/** HMAC-SHA-256 in two calls without a key object: a Secret may have tens of thousands of values. */
function hasher(salt: Buffer): (value: unknown) => string {
  const key = Buffer.alloc(BLOCK_BYTES)
  const secret = salt.length > BLOCK_BYTES ? hash('sha256', salt, 'buffer') : salt
  secret.copy(key)
  const ofText = Buffer.alloc(
    BLOCK_BYTES + MAX_SHORT_BYTES,
    key.map((byte) => byte ^ 0x36),
  )
  const ofDigest = Buffer.alloc(
    BLOCK_BYTES + DIGEST_BYTES,
    key.map((byte) => byte ^ 0x5c),
  )
  return (value) => {
    const text = (typeof value === 'string' ? value : JSON.stringify(value)) ?? ''
    ofDigest.write(hash('sha256', keyed(ofText, text), 'binary'), BLOCK_BYTES, 'binary')
    return `sha256:${hash('sha256', ofDigest, 'hex').slice(0, 16)}`
  }
}

/** The text behind the key's block: in the same bytes where it is short. */
function keyed(block: Buffer, text: string): Buffer {
  if (3 * text.length > MAX_SHORT_BYTES)
    return Buffer.concat([block.subarray(0, BLOCK_BYTES), Buffer.from(text)])
  return block.subarray(0, BLOCK_BYTES + block.write(text, BLOCK_BYTES))
}
