import type { StoryItem, StoryOutcome } from './data/contract.ts'
import { endTime } from './shown.ts'

/** Each has a shape and a colour: `parts/mark.tsx`. */
export type Status = 'good' | 'warn' | 'bad' | 'wait' | 'off' | 'held'

/** What is shown of how a delivery ended, or where it is. */
interface Ended {
  outcome: 'delivered' | 'dead' | 'failed' | 'suppressed' | 'waiting'
  atMs?: number
  limit?: string | undefined
  untilMs?: number | undefined
  reason?: string | undefined
  isReplay?: true | undefined
}

const STATUS: Record<Ended['outcome'], Status> = {
  delivered: 'good',
  dead: 'bad',
  failed: 'warn',
  suppressed: 'held',
  waiting: 'wait',
}

export function statusOf({ outcome }: Ended): Status {
  return STATUS[outcome]
}

/** Returns an outcome as text: `delivered`, `suppressed by throttle until 14:05`, `retrying`, `dead letter (rejected)`, `waiting`. */
export function outcomeText({ outcome, atMs = 0, limit, untilMs, reason, isReplay }: Ended): string {
  const again = isReplay ? ' again' : ''
  switch (outcome) {
    case 'delivered':
      return `delivered${again}`
    case 'suppressed':
      return limit === 'acknowledged'
        ? `suppressed: acknowledged${untilText(untilMs, atMs)}`
        : `suppressed by ${limit ?? 'a limit'}${untilText(untilMs, atMs)}`
    case 'failed':
      return 'retrying'
    case 'dead':
      return `dead letter${reason ? ` (${reason})` : ''}`
    case 'waiting':
      return `waiting${again}`
  }
}

/** What is shown of an event without a title: only messages for readers have one. */
export function untitledText(outcomes: readonly Ended[]): string {
  const has = (...some: Ended['outcome'][]) => outcomes.some(({ outcome }) => some.includes(outcome))
  if (has('delivered')) return 'sent as data, which has no title'
  return has('waiting', 'failed') ? 'nothing was sent yet' : 'no message was sent'
}

/** ` until 14:05`; nothing where no end is known. */
export function untilText(untilMs: number | undefined, atMs: number): string {
  return untilMs === undefined ? '' : ` until ${endTime(untilMs, atMs)}`
}

/**
 * Returns a row for each event: the records of one event may be on two pages. `newest` is the first page, which has all that waits of its
 * events, and their dead letters; what an earlier first page, among `older`, has of these may be over.
 */
export function joinPages(newest: readonly StoryItem[], older: readonly StoryItem[]): StoryItem[] {
  const rows = new Map(newest.map((it) => [it.id, it]))
  for (const item of older) {
    const known = rows.get(item.id)
    rows.set(item.id, known ? joined(known, item) : item)
  }
  return [...rows.values()]
}

function joined(known: StoryItem, older: StoryItem): StoryItem {
  const outcomes = [...known.outcomes]
  for (const it of older.outcomes) {
    if (it.outcome === 'waiting' || isLetterAlone(it)) continue
    const { deadLetterId: _, ...record } = it
    const same = outcomes.filter((other) => other.sink === it.sink && other.rule === it.rule)
    const letter = it.outcome === 'dead' ? same.find(isLetterAlone) : undefined
    if (letter) outcomes[outcomes.indexOf(letter)] = { ...letter, ...record }
    else if (!same.some((other) => other.outcome === it.outcome && other.atMs === it.atMs))
      outcomes.push(record)
  }
  const title = known.title ?? older.title
  return {
    ...known,
    ...(title !== undefined && { title }),
    atMs: Math.min(known.atMs, older.atMs),
    outcomes: outcomes.toSorted((a, b) => b.atMs - a.atMs),
  }
}

/** A dead letter whose record is on another page. */
function isLetterAlone({ deadLetterId, attempts }: StoryOutcome): boolean {
  return deadLetterId !== undefined && attempts === 0
}

export const OUTCOMES = ['delivered', 'suppressed', 'failed', 'dead'] as const

const TYPES: Record<string, string> = { ADDED: 'added', MODIFIED: 'changed', DELETED: 'deleted' }

/** `added`, `changed`, `deleted`. */
export function changeText(type: string): string {
  return TYPES[type] ?? type
}
