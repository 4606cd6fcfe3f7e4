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

export const OUTCOMES = ['delivered', 'suppressed', 'failed', 'dead'] as const

const TYPES: Record<string, string> = { ADDED: 'added', MODIFIED: 'changed', DELETED: 'deleted' }

/** `added`, `changed`, `deleted`. */
export function changeText(type: string): string {
  return TYPES[type] ?? type
}
