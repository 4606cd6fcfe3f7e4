import type { Status } from './parts/mark.tsx'

/** What is shown of how a delivery ended, or where it is. */
interface Ended {
  outcome: 'delivered' | 'dead' | 'failed' | 'suppressed' | 'waiting'
  limit?: string | undefined
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

/** `delivered`, `suppressed by throttle`, `retrying`, `dead letter (rejected)`, `waiting`. */
export function outcomeText({ outcome, limit, reason, isReplay }: Ended): string {
  const again = isReplay ? ' again' : ''
  switch (outcome) {
    case 'delivered':
      return `delivered${again}`
    case 'suppressed':
      return `suppressed by ${limit ?? 'a limit'}`
    case 'failed':
      return 'retrying'
    case 'dead':
      return `dead letter${reason ? ` (${reason})` : ''}`
    case 'waiting':
      return `waiting${again}`
  }
}

export const OUTCOMES = ['delivered', 'suppressed', 'failed', 'dead'] as const

const TYPES: Record<string, string> = { ADDED: 'added', MODIFIED: 'changed', DELETED: 'deleted' }

/** `added`, `changed`, `deleted`. */
export function changeText(type: string): string {
  return TYPES[type] ?? type
}
