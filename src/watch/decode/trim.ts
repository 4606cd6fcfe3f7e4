import { hash } from 'node:crypto'
import type { Resource } from '../event.ts'

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

/** Tools keep what they applied in annotations: as JSON, or packed. Words for people and programs are shorter. */
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
