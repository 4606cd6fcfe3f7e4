import { createHmac } from 'node:crypto'
import type { Resource } from '../event.ts'

export function isSecretResource({ group, plural }: Resource): boolean {
  return group === '' && plural === 'secrets'
}

/**
 * A Secret that may leave: keys stay, values become salted hashes, so that a change shows and a value does not. The salt
 * belongs to one installation: without it short values could be guessed from their hashes.
 */
export function hashSecret(object: Record<string, unknown>, salt: Buffer): Record<string, unknown> {
  const hashed = { ...object }
  for (const field of ['data', 'stringData']) {
    if (field in hashed) hashed[field] = hashValues(hashed[field], salt)
  }
  return hashed
}

function hashValues(values: unknown, salt: Buffer): Record<string, string> {
  if (typeof values !== 'object' || values === null) return {}
  return Object.fromEntries(Object.entries(values).map(([key, value]) => [key, hashOf(value, salt)]))
}

function hashOf(value: unknown, salt: Buffer): string {
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  return `sha256:${createHmac('sha256', salt)
    .update(text ?? '')
    .digest('hex')
    .slice(0, 16)}`
}
