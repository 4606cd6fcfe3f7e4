import type { Redis } from 'ioredis'
import type { Delivery } from '../../model/delivery.ts'
import { type ClusterEvent, headerOf, type Resource } from '../../model/event.ts'
import { eventIdOf } from '../../store/history/history-target.ts'
import { readHistory } from '../../store/history/read-history.ts'
import type { Keys } from '../../store/keys.ts'

/** What a sink got, by the history. */
export interface Delivered {
  /** Event id → the rule that sent it, and the id of the message, which is another one if the event waited for a limit. */
  rules: Map<string, { rule: string; id: string }>
  /** Digests and resolve notifications: no event of the journal is one. */
  notices: number
}

interface Choice {
  sink: string
  rule?: string | undefined
  /** Unix milliseconds. */
  sinceMs: number
}

/** Reads the deliveries of a sink since a time, each event once. A replay is a delivery, too. */
export async function readDelivered(
  redis: Redis,
  keys: Keys,
  { sink, rule, sinceMs }: Choice,
): Promise<Delivered> {
  const rules: Delivered['rules'] = new Map()
  const notices = new Set<string>()
  for await (const record of readHistory(redis, keys, { sinceMs })) {
    if (record.outcome !== 'delivered' || !record.sinks.includes(sink)) continue
    if (rule !== undefined && record.rule !== rule) continue
    if (record.notice) notices.add(record.event.id)
    else rules.set(eventIdOf(record.event.id), { rule: record.rule, id: record.event.id })
  }
  return { rules, notices: notices.size }
}

interface RepeatOptions {
  sink: string
  untilMs: number
  /** Whether previous objects of this resource are stored: else the first delivery had no changes either. */
  keepsPrevious(resource: Resource): boolean
}

/**
 * Returns the deliveries of the events that were delivered, in the order of the events, up to `untilMs`. Removes each event from
 * `rules`: in the end it has those that did not come.
 */
export async function* deliveriesAgain(
  events: AsyncIterable<ClusterEvent>,
  { rules }: Pick<Delivered, 'rules'>,
  { sink, untilMs, keepsPrevious }: RepeatOptions,
): AsyncGenerator<Delivery> {
  for await (const event of events) {
    const sent = rules.get(event.id)
    if (!sent) continue
    rules.delete(event.id)
    if (Date.parse(event.time) > untilMs) continue
    const releasedAt = new Date().toISOString()
    const { changes, ...header } = headerOf(event)
    const own = { ...header, id: sent.id }
    const shown = changes && keepsPrevious(event.resource) ? { ...own, changes } : own
    yield { sink, rule: sent.rule, event: shown, objectJson: event.objectJson, replayed: true, releasedAt }
  }
}
