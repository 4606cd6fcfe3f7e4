import type { Redis } from 'ioredis'
import type { ClusterEvent } from '../../model/event.ts'
import type { JournalRecord } from '../../model/journal-record.ts'
import { readJournal } from '../../store/commit/journal.ts'
import { replay } from '../../store/commit/journal-replay.ts'
import type { Keys } from '../../store/keys.ts'
import { normalise } from '../../watch/decode/normalise.ts'
import { scanObject } from '../../watch/decode/scan.ts'
import type { ConfigSnapshot } from '../config-snapshot.ts'

interface JournalParts {
  redis: Redis
  keys: Keys
  cluster: string
  salt: Buffer
}

/** A journal of the default size is read in less. */
const WITHIN_MS = 3_000

/** Returns an event as rules saw it, with its previous object; undefined where the journal does not have it, or is too long to look through. */
export async function eventInJournal(
  { redis, keys, cluster, salt }: JournalParts,
  id: string,
  { named, needs }: Pick<ConfigSnapshot, 'named' | 'needs'>,
  signal: AbortSignal,
): Promise<ClusterEvent | undefined> {
  const [, uid = ''] = id.split('/')
  const { inTemplates } = needs
  const events = replay(recordsOf(redis, keys, uid, signal), {
    scan: scanObject,
    normalise: (source, transition, surroundings) =>
      normalise(source, transition, {
        cluster,
        salt,
        surroundings,
        named,
        ...(inTemplates && { inTemplates }),
      }),
  })
  for await (const event of events) if (event.id === id) return event
  return undefined
}

async function* recordsOf(
  redis: Redis,
  keys: Keys,
  uid: string,
  signal: AbortSignal,
): AsyncGenerator<JournalRecord> {
  const endMs = performance.now() + WITHIN_MS
  for await (const record of readJournal(redis, keys, { signal })) {
    if (record.uid === uid) yield record
    if (performance.now() > endMs) return
  }
}
