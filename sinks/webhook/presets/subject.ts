import { createHash } from 'node:crypto'
import type { Message } from '../../../src/sink/index.ts'

/** Cluster and object: for an Event the one that it regards, so that all that is said of an object belongs together. Of a digest the group. */
export function subjectKey({ event, rule, notice }: Pick<Message, 'event' | 'rule' | 'notice'>): string {
  if (notice?.kind === 'digest') return `${event.cluster}/${rule}/${JSON.stringify(notice.by)}`
  const about = event.event?.regarding.uid || event.uid
  return `${event.cluster}/${about}`
}

/** A key of at most `max` characters; a longer one keeps its beginning and gets a hash. */
export function boundedKey(key: string, max: number): string {
  if (key.length <= max) return key
  const hash = createHash('sha256').update(key).digest('hex').slice(0, 32)
  return `${key.slice(0, max - hash.length - 1).toWellFormed()}#${hash}`
}

/** The trouble is over: it says so, or what it was about is gone. An Event is gone when it did not happen again for long. */
export function isOver({ event, content, notice }: Pick<Message, 'event' | 'content' | 'notice'>): boolean {
  if (notice) return notice.kind === 'resolved' || content.severity === 'resolved'
  return content.severity === 'resolved' || event.type === 'DELETED'
}
