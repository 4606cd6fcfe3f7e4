import { createHash, randomBytes } from 'node:crypto'
import type { Redis } from 'ioredis'
import type { Keys } from './keys.ts'
import { readOrCreate } from './read-or-create.ts'

/** The salt of Secret hashes: made once for an installation, the same in all of its processes. */
export async function readSalt(redis: Redis, keys: Keys): Promise<Buffer> {
  return Buffer.from(await readOrCreate(redis, keys.salt, randomBytes(32).toString('hex')), 'hex')
}

const KEEP_MS = 2_000

/** Stores it again where Redis lost it: what starts later makes none of its own. */
export function keepSalt(redis: Redis, keys: Keys, salt: Buffer): { close(): void } {
  const keep = () => void readOrCreate(redis, keys.salt, salt.toString('hex')).catch(() => {})
  const timer = setInterval(keep, KEEP_MS)
  return { close: () => clearInterval(timer) }
}

/** A name for what is stored under a cluster's name in this Redis, wherever it moves; says nothing of the salt. */
export function storeOf(salt: Buffer): string {
  return createHash('sha256').update('store').update(salt).digest('hex').slice(0, 10)
}
