import { randomBytes } from 'node:crypto'
import type { Redis } from 'ioredis'
import type { Keys } from './keys.ts'

/** The salt of Secret hashes: made once for an installation, the same in all of its processes. */
export async function readSalt(redis: Redis, keys: Keys): Promise<Buffer> {
  await redis.setnx(keys.salt, randomBytes(32).toString('hex'))
  return Buffer.from((await redis.get(keys.salt)) ?? '', 'hex')
}
