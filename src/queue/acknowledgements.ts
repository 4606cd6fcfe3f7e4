import { redactMessage } from '../redact.ts'
import type { DeadLetter, DeadReason, FailureNote, Move } from './ack-script.ts'
import { encodeEntries, type LaneEntry } from './entry.ts'
import type { Item, UnreadableItem } from './lane-reader.ts'

/** The dead letter of one delivery; `atMs` is Unix time. */
export function deadLetterOf(
  { delivery }: Item,
  { reason, detail, atMs }: { reason: DeadReason; detail: string; atMs: number },
): DeadLetter {
  const { payload } = encoded(delivery)
  return { rule: delivery.rule, reason, detail: redactMessage(detail), atMs, payload, count: 1 }
}

/** The dead letter of what cannot be read: its bytes as they are; `atMs` is Unix time. */
export function unreadableLetterOf({ detail, payload, places }: UnreadableItem, atMs: number): DeadLetter {
  const about = { rule: '', reason: 'unreadable' as const, detail: detail.slice(0, 2_048) }
  return { ...about, atMs, payload, count: places.length }
}

/** The way of one delivery into the lane of its chain. */
export function moveOf({ delivery }: Item, to: string, note?: FailureNote): Move {
  const { observedAtMs, payload } = encoded(delivery)
  return { to, observedAtMs, payload, note }
}

function encoded(delivery: Item['delivery']): LaneEntry {
  return encodeEntries([delivery])[0] as LaneEntry
}
