import type { LimitName } from '../limit.ts'
import { afterSome } from './after.ts'
import { joinGroup } from './group.ts'
import { openQuiet } from './quiet.ts'
import type { RulePlan } from './rule-plan.ts'
import type { Places } from './states.ts'
import { throttled } from './throttle.ts'
import type { Told } from './told.ts'
import type { Work } from './work.ts'

/** What became of an event: held back, told at once, or to be told with its group at `fromMs`. */
export type Fate = { held: LimitName } | { isTold: boolean; fromMs: number }

/** after ─▶ throttle ─▶ group ─▶ sinks. A limit that the rule did not have when the event came lets it pass. */
export function onward(work: Work, plan: RulePlan, places: Places, event: Told, atMs: number): Fate {
  const { name, after, throttle, group, quiet } = plan
  let told = event
  if (after && places.after !== undefined) {
    const last = afterSome(work, { ...plan, after }, places.after, told, atMs)
    if (!last) return held(work, name, 'after')
    told = last
  }
  if (throttle && places.throttle !== undefined) {
    const passed = throttled(work, { ...plan, throttle }, places.throttle, told, atMs)
    if (!passed) return held(work, name, 'throttle')
    told = passed
  }
  const fate =
    group && places.group
      ? joinGroup(work, { ...plan, group }, places.group, told, atMs)
      : send(work, name, told, atMs)
  if (quiet && places.quiet !== undefined) openQuiet(work, { ...plan, quiet }, places.quiet, told, atMs)
  return fate
}

function held(work: Work, rule: string, limit: LimitName): Fate {
  work.book.suppress(rule, limit)
  return { held: limit }
}

function send(work: Work, rule: string, told: Told, atMs: number): Fate {
  work.book.count(rule, 'sent')
  work.tell(rule, told)
  return { isTold: true, fromMs: atMs }
}
