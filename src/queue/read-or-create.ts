import type { Redis } from 'ioredis'

/** What is stored, or `initial` from now on. Reads first: a full Redis refuses writes, and must not stop a restart. */
export async function readOrCreate(redis: Redis, key: string, initial: string): Promise<string> {
  const stored = await redis.get(key)
  if (stored !== null) return stored
  await redis.setnx(key, initial)
  return (await redis.get(key)) ?? initial
}
