import type { Redis } from 'ioredis'

/** How many fields one step of a scan asks for. */
const PAGE = 1_000

/** Pages of a hash, whatever its size. A field that is there all the time comes at least once. */
export async function* scanHash(redis: Redis, key: string): AsyncGenerator<[field: string, value: string][]> {
  let cursor = '0'
  do {
    const { next, pairs } = await scanStep(redis, key, cursor)
    yield pairs
    cursor = next
  } while (cursor !== '0')
}

export async function scanStep(redis: Redis, key: string, cursor: string) {
  const [next, flat] = await redis.hscan(key, cursor, 'COUNT', PAGE)
  const pairs: [field: string, value: string][] = []
  for (let i = 0; i < flat.length; i += 2) pairs.push([flat[i] as string, flat[i + 1] as string])
  return { next, pairs }
}

/** More of one kind is nobody's configuration: what another program wrote must not take all memory. */
const MOST_FIELDS = 20_000

/** The fields of a hash, of a very large one some of them. */
export async function readHash(redis: Redis, key: string): Promise<Map<string, string>> {
  const fields = new Map<string, string>()
  for await (const page of scanHash(redis, key)) {
    for (const [field, value] of page) fields.set(field, value)
    if (fields.size >= MOST_FIELDS) break
  }
  return fields
}
