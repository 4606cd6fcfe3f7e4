import type { ClusterEvent } from '../event.ts'
import type { RulePlan } from './rule-plan.ts'
import { DAY_MS, type Work } from './work.ts'

/** Events are gone sooner; each occurrence touches the state. */
const KEEP_EVENT_MS = 7 * DAY_MS

/** Has an Event's own count reached or passed one of those asked for since it was last seen? Other objects have none. */
export function reachesCount(
  work: Work,
  { name, count }: RulePlan & { count: NonNullable<RulePlan['count']> },
  event: ClusterEvent,
): boolean {
  if (!event.event) return true
  const key = `${event.uid}:${name}`
  const before = work.read('own', key, 'count')?.seen ?? 0
  if (event.type === 'DELETED') {
    work.forget('own', key)
    return false
  }
  const seen = event.event.count
  work.write('own', key, { v: 1, limit: 'count', rule: name, waiting: 0, seen }, KEEP_EVENT_MS)
  // A count that fell has begun anew.
  return isReached(count, seen < before ? 0 : before, seen)
}

function isReached({ at, every }: NonNullable<RulePlan['count']>, before: number, seen: number): boolean {
  if (at.some((count) => before < count && count <= seen)) return true
  return every !== undefined && Math.floor(before / every) < Math.floor(seen / every)
}
