import type { Redis } from 'ioredis'
import type { IndexReader } from '../../model/change.ts'
import type { Keys } from '../keys.ts'
import { scanHash } from '../redis/scan.ts'
import { decodeIndexEntry, nameOf } from './index-entries.ts'

/** Returns the index of a source, for reads. */
export function indexReader(redis: Redis, keys: Keys, source: string): IndexReader {
  const key = keys.index(source)
  return {
    async versions(uids) {
      if (uids.length === 0) return []
      const entries = await redis.hmget(key, ...uids)
      return entries.map((it) => (it === null ? undefined : decodeIndexEntry(it).resourceVersion))
    },
    async *all() {
      for await (const page of scanHash(redis, key))
        yield page.map(([uid, text]) => {
          const entry = decodeIndexEntry(text)
          return { uid, name: nameOf(entry), resourceVersion: entry.resourceVersion }
        })
    },
  }
}
