import type { Digest, DigestItem } from '../delivery.ts'
import type { EventHeader, ObjectRef } from '../event.ts'
import { shorten } from '../sink/template/filters/shorten.ts'
import type { Common, GroupBatch } from './states.ts'

/** Digests tell the first so many one by one; the others are counted. */
export const MAX_ITEMS = 100
const MAX_MESSAGE = 200
const MAX_TEXT = 253

/** An event as a digest tells it. */
export function itemOf({ id, type, kind, namespace, name, time, event }: EventHeader): DigestItem {
  return {
    id,
    type,
    kind: shorten(kind, MAX_TEXT),
    ...(namespace !== undefined && { namespace }),
    name: shorten(name, MAX_TEXT),
    time,
    ...(event && {
      eventType: shorten(event.type, MAX_TEXT),
      reason: shorten(event.reason, MAX_TEXT),
      message: shorten(event.message, MAX_MESSAGE),
      regarding: boundedRef(event.regarding),
    }),
  }
}

export function digestOf({ items, fromMs, toMs }: GroupBatch, count: number, by: Common): Digest {
  const [from, to] = [fromMs, toMs].map((ms) => new Date(ms).toISOString()) as [string, string]
  return { kind: 'digest', count, by, from, to, items }
}

function boundedRef(ref: ObjectRef): ObjectRef {
  return Object.fromEntries(
    Object.entries(ref).map(([key, value]) => [
      key,
      typeof value === 'string' ? shorten(value, MAX_TEXT) : value,
    ]),
  )
}
