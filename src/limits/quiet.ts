import type { RulePlan } from './rule-plan.ts'
import type { QuietState } from './states.ts'
import { packed, type Told, unpacked } from './told.ts'
import { KEEP_MS, type Work } from './work.ts'

type QuietPlan = NonNullable<RulePlan['quiet']>

/** A match, told or held back: it is not over yet. */
export function renewQuiet(work: Work, plan: QuietPlan, key: string, told: Told, atMs: number): void {
  const state = settleQuiet(work, key, atMs, plan)
  if (!state) return
  const last = atMs < state.lastMs ? state.last : { ...packed(told), sinks: state.last.sinks }
  keep(work, key, plan, { ...state, lastMs: Math.max(atMs, state.lastMs), last })
}

/** An event was told, or will be with its group: from now on there is something that can be over. */
export function openQuiet(
  work: Work,
  { name, quiet }: RulePlan & { quiet: QuietPlan },
  key: string,
  { told, atMs, order }: { told: Told; atMs: number; order: string | undefined },
): void {
  const state = settleQuiet(work, key, atMs, quiet)
  const sinks = [...new Set([...(state?.last.sinks ?? []), ...told.sinks])]
  const last = state?.last ?? packed({ ...told, heldBack: undefined })
  keep(work, key, quiet, {
    v: 1,
    limit: 'quiet',
    rule: name,
    waiting: 0,
    sinceMs: state?.sinceMs ?? atMs,
    lastMs: Math.max(atMs, state?.lastMs ?? atMs),
    last: { ...last, sinks },
    ...(order !== undefined && { order }),
  })
}

/** Tells that nothing has come for so long; without a plan, which is gone, nobody can tell. */
function settleQuiet(
  work: Work,
  key: string,
  toMs: number,
  plan: QuietPlan | undefined,
): QuietState | undefined {
  const before = work.read('shared', key, 'quiet')
  if (!before) return undefined
  const state = { ...before, lastMs: Math.min(before.lastMs, work.nowMs) }
  const atMs = state.lastMs + (plan?.afterMs ?? 0)
  if (plan && atMs > toMs) return state
  work.forget('shared', key)
  if (!plan) return undefined
  const [since, at] = [state.sinceMs, atMs].map((ms) => new Date(ms).toISOString()) as [string, string]
  work.book.count(state.rule, 'notices')
  const notice = { kind: 'resolved', since, at, why: 'quiet' } as const
  work.tell(state.rule, unpacked(state.last), { notice, order: state.order })
  return undefined
}

/** Decides what is due by now. A reload may have moved its time. */
export function expireQuiet(work: Work, key: string, plan: QuietPlan | undefined): void {
  const state = settleQuiet(work, key, work.nowMs, plan)
  if (state && plan) keep(work, key, plan, state)
}

function keep(work: Work, key: string, { afterMs }: QuietPlan, state: QuietState): void {
  const dueMs = state.lastMs + afterMs
  work.write('shared', key, state, Math.max(dueMs - work.nowMs, 0) + KEEP_MS, dueMs)
}
