import type { Redis } from 'ioredis'
import type { ClusterEvent } from '../event.ts'
import { replay } from '../journal/replay.ts'
import { readJournal } from '../queue/journal.ts'
import type { Keys } from '../queue/keys.ts'
import { normalise } from '../watch/normalise.ts'
import { scanObject } from '../watch/scan.ts'

export interface ReplayOptions {
  sinceMs: number
  cluster: string
  salt: Buffer
  signal?: AbortSignal
}

/** The events of the journal from a time on. */
export function replayOf(
  { redis, keys }: { redis: Redis; keys: Keys },
  { sinceMs, cluster, salt, signal }: ReplayOptions,
): AsyncGenerator<ClusterEvent> {
  return replay(readJournal(redis, keys, { sinceMs, ...(signal && { signal }) }), {
    scan: scanObject,
    normalise: (source, transition, surroundings) =>
      normalise(source, transition, { cluster, salt, surroundings }),
  })
}
