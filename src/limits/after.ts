import type { RulePlan } from './rule-plan.ts'
import { heldBackTogether, type Told } from './told.ts'
import { LATE_MS, type Work } from './work.ts'

/** The event that makes up the number, which says how many came before it; undefined for one that does not. */
export function afterSome(
  work: Work,
  { name, after }: RulePlan & { after: NonNullable<RulePlan['after']> },
  key: string,
  told: Told,
  atMs: number,
): Told | undefined {
  const { count, withinMs } = after
  const before = work.read('shared', key, 'after')?.timesMs ?? []
  const times = before.map((ms) => Math.min(ms, work.nowMs))
  // One that comes late counts with the newest.
  const newest = Math.max(atMs, ...times)
  const recent = times.filter((ms) => ms + withinMs > newest)
  if (recent.length + 1 >= count) {
    work.forget('shared', key)
    const [first = atMs] = recent
    const heldBack = { count: recent.length, sinceMs: first }
    return { ...told, heldBack: heldBackTogether(told.heldBack, heldBack) }
  }
  const timesMs = [...recent, newest]
  const useful = newest + withinMs - work.nowMs + LATE_MS
  work.write('shared', key, { v: 1, limit: 'after', rule: name, waiting: 0, timesMs }, useful)
  return undefined
}
