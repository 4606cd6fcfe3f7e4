import type { LimitName } from '../limit.ts'
import { afterSome } from './after.ts'
import { joinGroup } from './group.ts'
import { openQuiet } from './quiet.ts'
import type { RulePlan } from './rule-plan.ts'
import type { GroupPlace, Places } from './states.ts'
import { throttled } from './throttle.ts'
import type { Told } from './told.ts'
import type { Work } from './work.ts'

/** What became of an event: held back, told at once, or to be told at `fromMs`, with this group. */
export type Fate = { held: LimitName } | { isTold: boolean; fromMs: number; group?: GroupPlace }

/**
 * after ─▶ throttle ─▶ group ─▶ sinks. A limit that the rule did not have when the event came lets it pass, and so does one
 * that has no room for its state: rather too much is told than too little.
 */
export function onward(work: Work, plan: RulePlan, places: Places, event: Told, atMs: number): Fate {
  const { name, after, throttle, group, quiet } = plan
  let told = event
  if (after && places.after !== undefined && work.hasRoom(name, places.after)) {
    const last = afterSome(work, { ...plan, after }, places.after, told, atMs)
    if (!last) return held(work, name, 'after')
    told = last
  }
  if (throttle && places.throttle !== undefined && work.hasRoom(name, places.throttle)) {
    const passed = throttled(work, { ...plan, throttle }, places.throttle, told, atMs)
    if (!passed) return held(work, name, 'throttle')
    told = passed
  }
  const fate =
    group && places.group
      ? joinGroup(work, { ...plan, group }, roomFor(work, name, places.group), told, atMs)
      : send(work, name, told, atMs)
  if (quiet && places.quiet !== undefined && work.hasRoom(name, places.quiet))
    openQuiet(work, { ...plan, quiet }, places.quiet, { told, atMs, order: orderOf(fate, quiet, group) })
  return fate
}

/** Groups that have no room for themselves are one. */
function roomFor(work: Work, rule: string, place: GroupPlace): GroupPlace {
  const { key, rest } = place
  return rest === undefined || work.hasRoom(rule, key) ? place : { key: rest, by: [], order: rest }
}

/** What counts by the same is of one group. */
function orderOf(
  fate: Fate,
  quiet: NonNullable<RulePlan['quiet']>,
  group: RulePlan['group'],
): string | undefined {
  const isSame = group !== undefined && String(quiet.per) === String(group.by)
  return isSame && 'group' in fate ? fate.group?.order : undefined
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
