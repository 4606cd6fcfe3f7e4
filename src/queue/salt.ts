import { randomBytes } from 'node:crypto'
import type { Redis } from 'ioredis'
import type { Keys } from './keys.ts'
import { readOrCreate } from './read-or-create.ts'

/** The salt of Secret hashes: made once for an installation, the same in all of its processes. */
export async function readSalt(redis: Redis, keys: Keys): Promise<Buffer> {
  return Buffer.from(await readOrCreate(redis, keys.salt, randomBytes(32).toString('hex')), 'hex')
}
