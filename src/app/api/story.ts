import type { Redis } from 'ioredis'
import type { Delivery } from '../../model/delivery.ts'
import type { EventHeader } from '../../model/event.ts'
import type { HistoryRecord } from '../../model/history-record.ts'
import type { Caller } from '../../observe/server/access.ts'
import {
  type FoundLetter,
  findDeliveries,
  type WaitingDelivery,
} from '../../store/history/find-deliveries.ts'
import { eventIdOf, objectTarget } from '../../store/history/history-target.ts'
import { readHistoryPage } from '../../store/history/read-history.ts'
import type { Keys } from '../../store/keys.ts'
import { TimeSlice } from '../../text/yielding.ts'
import type { Story, StoryItem, StoryOutcome } from './contract.ts'
import { HISTORY_BOUNDS, requireCursor } from './history.ts'
import { mayRead, mayReadAll, visibleDetail, visibleRecord } from './scope.ts'

/** Limits of one page: of the history that is read, and of the waiting deliveries and dead letters. */
const STORY_BOUNDS = { ...HISTORY_BOUNDS, records: 5_000 }
export const BOUNDS = { most: 20_000, letters: 2_000, withinMs: 500 }

/**
 * Returns events of an object, the newest first, and what became of each. Waiting deliveries and dead letters come with the first page: those
 * of the newest events, as many as it may have. The records of one event may be on two pages.
 */
export async function storyOf(
  queue: { redis: Redis; keys: Keys },
  object: { kind: string; namespace?: string | undefined; name: string },
  page: { limit: number; cursor?: string | undefined },
  caller: Pick<Caller, 'namespaces'>,
  signal: AbortSignal,
  bounds = STORY_BOUNDS,
): Promise<Omit<Story, 'historyFromMs'>> {
  requireCursor(page.cursor)
  const target = objectTarget(object.kind, object.namespace, object.name)
  const story = new Map<string, StoryItem>()
  let isComplete = true
  if (page.cursor === undefined) {
    const found = await findDeliveries(queue, target, () => true, { ...BOUNDS, records: 0 })
    isComplete = found.isComplete
    for (const it of found.waiting) if (mayRead(caller, it.delivery.event)) addWaiting(story, it)
    for (const it of found.letters) if (mayRead(caller, it.delivery.event)) addLetter(story, it, caller)
    // One object can have thousands of deliveries that wait.
    const surplus = inOrder([...story.values()]).slice(page.limit)
    for (const { id } of surplus) story.delete(id)
    if (surplus.length > 0) isComplete = false
  }
  const timeSlice = new TimeSlice()
  let end: Pick<Story, 'next' | 'stoppedAtMs'> = {}
  for await (const placed of readHistoryPage(queue.redis, queue.keys, {
    target,
    cursor: page.cursor,
    signal,
    bounds,
  })) {
    const next = placed.cursor
    if (!placed.record) {
      end = { next, stoppedAtMs: placed.stoppedAtMs }
      break
    }
    const record = visibleRecord(caller, placed.record)
    if (record) addRecord(story, record)
    // The page ends with the record that makes it full: other records of this event may be on the next one.
    if (story.size >= page.limit) {
      end = { next }
      break
    }
    if (timeSlice.isDue()) await timeSlice.take()
  }
  const items = inOrder([...story.values()])
  for (const item of items) item.outcomes.sort((a, b) => b.atMs - a.atMs)
  return { items, isComplete, ...end }
}

/**
 * The newest first. What limits suppress is recorded before what is delivered: events of one object are in the order of their
 * resourceVersions, in the places that their times give all of them.
 */
function inOrder(items: readonly StoryItem[]): StoryItem[] {
  const byTime = items.toSorted((a, b) => b.atMs - a.atMs)
  const queues = new Map(
    [...Map.groupBy(byTime, ({ id }) => id.split('/')[1])].map(([uid, own]) => [
      uid,
      own.toSorted((a, b) => versionOf(b) - versionOf(a)),
    ]),
  )
  return byTime.map((item) => queues.get(item.id.split('/')[1])?.shift() ?? item)
}

function versionOf({ id }: StoryItem): number {
  // Of a version that etcd went back to, the one before it: `10~20`.
  return Number(id.split('/')[2]?.split('~').at(-1)) || 0
}

function itemOf(
  story: Map<string, StoryItem>,
  id: string,
  make: () => Omit<StoryItem, 'id' | 'outcomes'>,
): StoryItem {
  const known = story.get(id)
  if (known) return known
  const item: StoryItem = { id, ...make(), outcomes: [] }
  story.set(id, item)
  return item
}

function add(item: StoryItem, outcome: StoryOutcome): void {
  item.outcomes.push(outcome)
  item.atMs = Math.min(item.atMs, outcome.atMs)
}

function addRecord(story: Map<string, StoryItem>, record: HistoryRecord): void {
  const { event, atMs, title, notice } = record
  const item = itemOf(story, eventIdOf(event.id), () => {
    const { type, kind, namespace, name, reason } = event
    return {
      type,
      atMs,
      kind,
      name,
      ...(namespace !== undefined && { namespace }),
      ...(reason !== undefined && { reason }),
      ...(notice && {
        notice: notice.kind === 'digest' ? { ...notice, objects: [...notice.objects] } : notice,
      }),
    }
  })
  if (title !== undefined) item.title ??= title
  for (const sink of record.sinks) {
    const known = item.outcomes.find((it) => it.deadLetterId && it.sink === sink && it.rule === record.rule)
    const outcome = outcomeOf(record, sink)
    // The dead letter of this record has its reason, and its id.
    if (record.outcome === 'dead' && known && !known.attempts) Object.assign(known, outcome)
    else add(item, outcome)
  }
}

function outcomeOf(record: HistoryRecord, sink: string): StoryOutcome {
  const {
    outcome,
    atMs,
    rule,
    attempts,
    attemptCount = attempts.length,
    limit,
    untilMs,
    reason,
    detail,
    isReplay,
  } = record
  const lastError = attempts.findLast(({ error }) => error !== undefined)?.error
  const why = detail ?? (outcome === 'failed' ? lastError : undefined)
  return {
    sink,
    rule,
    outcome,
    atMs,
    attempts: attemptCount,
    ...(limit !== undefined && { limit }),
    ...(untilMs !== undefined && { untilMs }),
    ...(record.silence !== undefined && { silence: record.silence }),
    ...(reason !== undefined && { reason }),
    ...(why !== undefined && { detail: why }),
    ...(isReplay && { isReplay }),
  }
}

/** What an item needs to know of a stored event. */
function aboutHeader({ type, kind, namespace, name, event }: EventHeader, atMs: number) {
  return {
    type,
    atMs,
    kind,
    name,
    ...(namespace !== undefined && { namespace }),
    ...(event && { reason: event.reason }),
  }
}

export function waitingSinceMs({ event, releasedAt }: Pick<Delivery, 'event' | 'releasedAt'>): number {
  return Math.max(0, Date.parse(releasedAt ?? event.time))
}

function addWaiting(story: Map<string, StoryItem>, { sink, delivery, isQuarantined }: WaitingDelivery): void {
  const atMs = waitingSinceMs(delivery)
  const item = itemOf(story, eventIdOf(delivery.event.id), () => aboutHeader(delivery.event, atMs))
  const quarantined = isQuarantined && { detail: 'in quarantine: its object fails while others succeed' }
  add(item, { sink, rule: delivery.rule, outcome: 'waiting', atMs, attempts: 0, ...quarantined })
}

function addLetter(
  story: Map<string, StoryItem>,
  letter: FoundLetter,
  caller: Pick<Caller, 'namespaces'>,
): void {
  const { id, sink, rule, reason, detail, atMs, delivery } = letter
  const item = itemOf(story, eventIdOf(delivery.event.id), () => aboutHeader(delivery.event, atMs))
  add(item, {
    sink,
    rule,
    outcome: 'dead',
    atMs,
    attempts: 0,
    reason,
    ...(mayReadAll(caller, delivery) && { detail: visibleDetail(caller, detail) }),
    deadLetterId: id,
  })
}
