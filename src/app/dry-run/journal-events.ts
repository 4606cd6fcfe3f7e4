import type { Redis } from 'ioredis'
import type { ClusterEvent, RelatedKeys } from '../../model/event.ts'
import type { JournalRecord } from '../../model/journal-record.ts'
import { versionInId } from '../../model/transition.ts'
import { isEventKind } from '../../rules/kind.ts'
import { journalExtent, journalOfObject, MARGIN_MS, readJournal } from '../../store/commit/journal.ts'
import { type ReplayParts, replay } from '../../store/commit/journal-replay.ts'
import type { Keys } from '../../store/keys.ts'
import { type NormaliseContext, normalise } from '../../watch/decode/normalise.ts'
import { scanObject } from '../../watch/decode/scan.ts'
import type { ConfigSnapshot } from '../config-snapshot.ts'

interface ReplayOptions
  extends Pick<NormaliseContext, 'cluster' | 'salt' | 'named'>,
    Pick<ReplayParts, 'onUnknown' | 'onRelated'> {
  sinceMs: number
  /** Related metadata that templates of the configurations read. */
  inTemplates: RelatedKeys
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

const WITHIN_MS = 3_000

interface JournalSearch {
  /** When the event was observed, if that is known: it was committed soon after, unless Redis was away or full. */
  aboutMs?: number | undefined
  /** It was committed before. */
  untilMs?: number | undefined
  signal: AbortSignal
  withinMs?: number
}

/**
 * Returns an event as rules saw it, with its previous object where that is found. `isComplete` is false if one of them was not found for
 * want of time.
 */
export async function eventInJournal(
  { redis, keys, cluster, salt }: JournalParts,
  id: string,
  { named, needs: { inTemplates } }: Pick<ConfigSnapshot, 'named' | 'needs'>,
  { aboutMs, untilMs, signal, withinMs = WITHIN_MS }: JournalSearch,
): Promise<{ event: ClusterEvent | undefined; isComplete: boolean }> {
  const [, uid = '', version, type] = id.split('/')
  const endMs = performance.now() + withinMs
  let own: JournalRecord | undefined
  let previous: JournalRecord | undefined
  let isComplete = true
  for (const startMs of aboutMs === undefined ? [untilMs] : [aboutMs, untilMs]) {
    const pages = journalOfObject(redis, keys, { uid, aboutMs: startMs, signal })
    for await (const { records, fromMs } of pages) {
      for (const record of records) {
        const isOwn = versionInId(record) === version && record.type === type
        if (isOwn) own = record
        else if (own) previous ??= record
      }
      if (previous || (own && !hasPrevious(own))) break
      isComplete = performance.now() <= endMs
      if (!isComplete || (!own && aboutMs !== undefined && fromMs < aboutMs - MARGIN_MS)) break
    }
    if (own || !isComplete) break
  }
  const found = [previous, own].filter((it) => it !== undefined)
  const events = eventsOf(found, { cluster, salt, named, inTemplates })
  return { event: (await Array.fromAsync(events)).find((it) => it.id === id), isComplete }
}

function hasPrevious({ type, source: { resource } }: JournalRecord): boolean {
  return type !== 'ADDED' && !isEventKind(resource)
}

/** Makes the events of records as a commit made them. */
function eventsOf(
  records: AsyncIterable<JournalRecord> | Iterable<JournalRecord>,
  { sinceMs, onUnknown, onRelated, ...context }: Omit<ReplayOptions, 'sinceMs'> & { sinceMs?: number },
): AsyncGenerator<ClusterEvent> {
  return replay(records, {
    ...(sinceMs !== undefined && { sinceMs }),
    ...(onUnknown && { onUnknown }),
    ...(onRelated && { onRelated }),
    scan: scanObject,
    normalise: (source, transition, surroundings) =>
      normalise(source, transition, { ...context, surroundings }),
  })
}
