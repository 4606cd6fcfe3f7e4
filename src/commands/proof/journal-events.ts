import type { Redis } from 'ioredis'
import type { ClusterEvent, Resource } from '../../event.ts'
import { replay } from '../../journal/replay.ts'
import { journalExtent, readJournal } from '../../queue/journal.ts'
import type { Keys } from '../../queue/keys.ts'
import { type NormaliseContext, normalise } from '../../watch/normalise.ts'
import { scanObject } from '../../watch/scan.ts'

export interface ReplayOptions {
  sinceMs: number
  cluster: string
  salt: Buffer
  named?: NormaliseContext['named']
  /** An object changed, and what it was before is not known. */
  onUnknown?(resource: Resource): void
}

/** A journal up to this size is read from its beginning, so that the first events know what was before them. */
const MAX_LOOK_BACK_BYTES = 256 * 1024 * 1024

/** The events of the journal from a time on. */
export async function* replayOf(
  { redis, keys }: { redis: Redis; keys: Keys },
  { sinceMs, cluster, salt, named, onUnknown }: ReplayOptions,
): AsyncGenerator<ClusterEvent> {
  const { bytes } = await journalExtent(redis, keys)
  const records = readJournal(redis, keys, { sinceMs: bytes > MAX_LOOK_BACK_BYTES ? sinceMs : 0 })
  yield* replay(records, {
    sinceMs,
    ...(onUnknown && { onUnknown }),
    scan: scanObject,
    normalise: (source, transition, surroundings) =>
      normalise(source, transition, { cluster, salt, surroundings, named }),
  })
}
