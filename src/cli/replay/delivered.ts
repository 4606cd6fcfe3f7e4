import type { Redis } from 'ioredis'
import type { Delivery } from '../../model/delivery.ts'
import { type ClusterEvent, headerOf, type Resource } from '../../model/event.ts'
import { eventIdOf } from '../../store/history/history-target.ts'
import { readHistory } from '../../store/history/read-history.ts'
import type { Keys } from '../../store/keys.ts'

/** What a sink got, by the history. */
export interface Delivered {
  /** Event id → message id → message: one event can also be the newest one of states that waited, one for each rule. */
  messages: Map<string, Map<string, Message>>
  /** Digests and resolve notifications: no event of the journal is one. */
  notices: number
}

interface Message {
  rule: string
  /** When it was delivered first, in Unix milliseconds. */
  atMs: number
}

interface Choice {
  sink: string
  rule?: string | undefined
  /** Unix milliseconds. */
  sinceMs: number
}

/** Reads the deliveries of a sink since a time, each message once. A replay is a delivery, too. */
export async function readDelivered(
  redis: Redis,
  keys: Keys,
  { sink, rule: wanted, sinceMs }: Choice,
): Promise<Delivered> {
  const messages: Delivered['messages'] = new Map()
  const notices = new Set<string>()
  // The newest come first.
  for await (const { outcome, sinks, rule, notice, event, atMs } of readHistory(redis, keys, { sinceMs })) {
    if (outcome !== 'delivered' || !sinks.includes(sink)) continue
    if (wanted !== undefined && rule !== wanted) continue
    if (notice) {
      notices.add(event.id)
      continue
    }
    const ofEvent = messages.get(eventIdOf(event.id)) ?? new Map<string, Message>()
    messages.set(eventIdOf(event.id), ofEvent.set(event.id, { rule, atMs }))
  }
  return { messages, notices: notices.size }
}

interface RepeatOptions {
  sink: string
  untilMs: number
  /** Whether previous objects of this resource are stored: else the first delivery had no changes either. */
  keepsPrevious(resource: Resource): boolean
}

/**
 * Returns the messages that were delivered, in the order of their events, up to `untilMs`. Removes each event from `messages`: in the
 * end it has those that did not come.
 */
export async function* deliveriesAgain(
  events: AsyncIterable<ClusterEvent>,
  { messages }: Pick<Delivered, 'messages'>,
  { sink, untilMs, keepsPrevious }: RepeatOptions,
): AsyncGenerator<Delivery> {
  for await (const event of events) {
    const sent = messages.get(event.id)
    if (!sent) continue
    messages.delete(event.id)
    if (Date.parse(event.time) > untilMs) continue
    const { changes, ...header } = headerOf(event)
    const shown = changes && keepsPrevious(event.resource) ? { ...header, changes } : header
    for (const [id, { rule, atMs }] of [...sent].toSorted(([, a], [, b]) => a.atMs - b.atMs)) {
      const own = id === event.id ? shown : { ...shown, id, heldAt: new Date(atMs).toISOString() }
      const releasedAt = new Date().toISOString()
      yield { sink, rule, event: own, objectJson: event.objectJson, replayed: true, releasedAt }
    }
  }
}
