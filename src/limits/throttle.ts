import type { RulePlan } from './rule-plan.ts'
import type { ThrottleState } from './states.ts'
import { heldBackTogether, type Told } from './told.ts'
import { DAY_MS, LATE_MS, type Work } from './work.ts'

/** What was held back is told with the next one sent, if that comes within a day. */
const HELD_MS = DAY_MS

/** The event with what was held back before it; undefined when it is held back itself. */
export function throttled(
  work: Work,
  { name, throttle }: RulePlan & { throttle: NonNullable<RulePlan['throttle']> },
  key: string,
  told: Told,
  atMs: number,
): Told | undefined {
  const { everyMs, burst } = throttle
  const state = work.read('shared', key, 'throttle')
  const sent = (state?.sentMs ?? []).map((ms) => Math.min(ms, work.nowMs)).filter((ms) => ms + everyMs > atMs)
  const before = state?.held && state.held.lastMs + HELD_MS > atMs ? state.held : undefined
  const mayPass = sent.length < burst
  const sentMs = mayPass ? [...sent, atMs].sort((a, b) => a - b) : sent
  const held = mayPass ? undefined : heldWith(before, told, atMs)
  const useful = Math.max(...sentMs.map((ms) => ms + everyMs), held ? held.lastMs + HELD_MS : 0)
  work.write(
    'shared',
    key,
    { v: 1, limit: 'throttle', rule: name, waiting: 0, sentMs, ...(held && { held }) },
    useful - work.nowMs + LATE_MS,
  )
  if (!mayPass) return undefined
  const heldBack = before && { count: before.count, sinceMs: before.sinceMs }
  return { ...told, heldBack: heldBackTogether(told.heldBack, heldBack) }
}

/** One more; an event that stands for others brings them along. */
function heldWith(
  before: ThrottleState['held'],
  { heldBack }: Told,
  atMs: number,
): NonNullable<ThrottleState['held']> {
  return {
    count: (before?.count ?? 0) + 1 + (heldBack?.count ?? 0),
    sinceMs: Math.min(before?.sinceMs ?? atMs, heldBack?.sinceMs ?? atMs),
    lastMs: Math.max(before?.lastMs ?? atMs, atMs),
  }
}
