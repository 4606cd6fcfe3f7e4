import type { Redis } from 'ioredis'
import type { ClusterEvent, Resource } from '../../model/event.ts'
import type { JournalRecord } from '../../model/journal-record.ts'
import { journalExtent, readJournal } from '../../store/commit/journal.ts'
import { replay } from '../../store/commit/journal-replay.ts'
import type { Keys } from '../../store/keys.ts'
import { type NormaliseContext, normalise } from '../../watch/decode/normalise.ts'
import { scanObject } from '../../watch/decode/scan.ts'
import type { ConfigSnapshot } from '../config-snapshot.ts'

interface ReplayOptions extends Pick<NormaliseContext, 'cluster' | 'salt' | 'inTemplates' | 'named'> {
  sinceMs: number
  /** Called for a change whose previous object is unknown. */
  onUnknown?(resource: Resource): void
}

/** A smaller journal is read from its beginning, so that the first events have their previous objects. */
const MAX_LOOK_BACK_BYTES = 256 * 1024 * 1024

/** Yields the events of the journal since a time. */
export async function* replayOf(
  { redis, keys }: { redis: Redis; keys: Keys },
  options: ReplayOptions,
): AsyncGenerator<ClusterEvent> {
  const { bytes } = await journalExtent(redis, keys)
  const sinceMs = bytes > MAX_LOOK_BACK_BYTES ? options.sinceMs : 0
  yield* eventsOf(readJournal(redis, keys, { sinceMs }), options)
}

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
  { named, needs: { inTemplates } }: Pick<ConfigSnapshot, 'named' | 'needs'>,
  signal: AbortSignal,
): Promise<ClusterEvent | undefined> {
  const [, uid = ''] = id.split('/')
  const records = recordsOf(redis, keys, uid, signal)
  for await (const event of eventsOf(records, { cluster, salt, named, inTemplates }))
    if (event.id === id) return event
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

/** Makes the events of records as a commit made them. */
function eventsOf(
  records: AsyncIterable<JournalRecord>,
  { sinceMs, onUnknown, ...context }: Omit<ReplayOptions, 'sinceMs'> & { sinceMs?: number },
): AsyncGenerator<ClusterEvent> {
  return replay(records, {
    ...(sinceMs !== undefined && { sinceMs }),
    ...(onUnknown && { onUnknown }),
    scan: scanObject,
    normalise: (source, transition, surroundings) =>
      normalise(source, transition, { ...context, surroundings }),
  })
}
