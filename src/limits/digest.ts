import type { Digest, DigestItem } from '../delivery.ts'
import type { EventHeader } from '../event.ts'
import { shorten } from '../sink/template/filters/shorten.ts'
import { boundedText, boundedTexts } from './bounded-texts.ts'
import type { Common, GroupBatch } from './states.ts'

/** Digests tell the first so many one by one; the others are counted. */
export const MAX_ITEMS = 100
const MAX_MESSAGE = 200

/** An event as a digest tells it. */
export function itemOf({ id, type, kind, namespace, name, time, event }: EventHeader): DigestItem {
  return {
    id,
    type,
    kind: boundedText(kind),
    ...(namespace !== undefined && { namespace }),
    name: boundedText(name),
    time,
    ...(event && {
      eventType: boundedText(event.type),
      reason: boundedText(event.reason),
      message: shorten(event.message, MAX_MESSAGE),
      regarding: boundedTexts(event.regarding),
    }),
  }
}

export function digestOf({ items, fromMs, toMs }: GroupBatch, count: number, by: Common): Digest {
  const [from, to] = [fromMs, toMs].map((ms) => new Date(ms).toISOString()) as [string, string]
  return { kind: 'digest', count, by, from, to, items }
}
