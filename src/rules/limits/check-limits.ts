import { writtenDuration } from '../sink/duration.ts'
import { mutesAlways } from './muted.ts'
import { DEFAULT_INTERVAL_MS, DEFAULT_WAIT_MS, forOf, type LimitedRule } from './rule-plan.ts'
import { LimitKeysShape } from './schema.ts'

/** What is wrong with the limits of a rule, and where; `path` leads from the rule to it. */
export interface LimitFault {
  path: readonly (string | number)[]
  message: string
  hint?: string
  severity: 'error' | 'warning'
  /** The key is wrong, and not its value. */
  atKey?: boolean
}

/** A rule as far as it was understood. */
export type CheckedRule = Partial<LimitedRule> & {
  drop?: boolean | undefined
  /** Is there a key that asks for the state of an object? Their contents are of no concern here. */
  if?: unknown
  changed?: unknown
  from?: unknown
  'to-state'?: unknown
}

/** What a rule may match: Events, objects of other kinds, or both. */
export interface MatchedKinds {
  events: boolean
  others: boolean
}

/** Limits that do not go together, with each other or with what the rule matches, where that is known. */
export function checkLimits(rule: CheckedRule, kinds: MatchedKinds | undefined): LimitFault[] {
  if (rule.drop) return checkDrop(rule)
  return [
    ...(kinds ? [...checkCount(rule, kinds), ...checkStates(rule, kinds)] : []),
    ...checkFor(rule),
    ...checkQuiet(rule, kinds),
    ...checkGroup(rule),
    ...checkMute(rule),
  ]
}

function checkDrop(rule: CheckedRule): LimitFault[] {
  const key = Object.keys(LimitKeysShape).find((it) => isSaid(rule[it as keyof CheckedRule]))
  if (key === undefined) return []
  return [error([key], 'this rule drops what it matches: there is nothing to limit', `leave "${key}" out`)]
}

function checkCount({ count }: CheckedRule, { events }: MatchedKinds): LimitFault[] {
  if (!count || events) return []
  const wanted = Math.max(...count.at, count.every ?? 0)
  const isKept = wanted >= 2 && wanted <= 1_000
  const least = isKept ? wanted : 3
  const hint = `for how often a rule matches write in its place after: { count: ${least}, within: 10m } (${isKept ? '10m: choose the time' : 'choose number and time'})`
  return [
    error(['count'], '"count" is how often an Event says it occurred, and this rule matches none', hint),
  ]
}

const NAME_A_KIND = 'name the kinds whose state it follows: when: { kind: … }'

/** `for` and `resolve: true` follow objects, and an Event is none: it only comes and expires. */
function checkStates(rule: CheckedRule, { events, others }: MatchedKinds): LimitFault[] {
  const faults: LimitFault[] = []
  const hold = forPath(rule)
  if (hold && events) {
    const span = writtenDuration(forOf(rule as LimitedRule) ?? 600_000)
    const hint = others
      ? NAME_A_KIND
      : `for several Events in a time write${hold.length === 1 ? ' in its place' : ''} after: { count: 3, within: ${span} } (3: choose the number)`
    faults.push(error(hold, '"for" is how long an object stays in a state, and Events have none', hint))
  }
  if (rule.resolve === true && events) {
    const hint = others
      ? NAME_A_KIND
      : 'write resolve: { after: 15m } to tell when none came for 15m (choose the time)'
    const message = '"resolve: true" does not work for Events: they have no state that can end'
    faults.push({ ...error(['resolve'], message, hint), atKey: false })
  }
  const isMoment = isSaid(rule.changed) || isSaid(rule.from)
  const hasState = isSaid(rule.if) || isSaid(rule['to-state']) || isSaid(rule.condition)
  const key = hold ?? (rule.resolve === true ? ['resolve'] : undefined)
  if (key && !events && isMoment && !hasState) {
    const hint = `say what state it follows with "if", "to-state" or "condition", or leave "${key.at(-1)}" out`
    faults.push(error(key, 'a change is of one moment: only a state lasts, and is over', hint))
  }
  return faults
}

function checkFor({ for: own, condition }: CheckedRule): LimitFault[] {
  if (own === undefined || condition?.for === undefined) return []
  const [here, there] = [writtenDuration(own), writtenDuration(condition.for)]
  const message = `"for" is ${here} here and ${there} in "condition", and both mean the same`
  const hint =
    here === there
      ? 'leave this one out'
      : `leave this one out for ${there}, or the one in "condition" for ${here}`
  return [error(['for'], message, hint)]
}

function checkQuiet(rule: CheckedRule, kinds: MatchedKinds | undefined): LimitFault[] {
  const { resolve, group } = rule
  if (typeof resolve !== 'object') return []
  const path = ['resolve', 'after']
  const hint = 'write resolve: true, which tells it as soon as it is over'
  if (forOf(rule as LimitedRule) !== undefined)
    return [error(path, 'a rule with "for" knows when it is over', hint)]
  const faults =
    kinds?.events !== false
      ? []
      : [warning(path, 'this rule matches objects, which have a state that can be over', hint)]
  const longest = group && Math.max(group.wait ?? DEFAULT_WAIT_MS, group.interval ?? DEFAULT_INTERVAL_MS)
  if (longest !== undefined && resolve.after <= longest) {
    const message = `"after" must be longer than what "group" waits, ${writtenDuration(longest)}: else it is over before it is told`
    faults.push(error(path, message))
  }
  return faults
}

/** What throttle holds back stands in no digest. */
function checkGroup({ throttle, group }: CheckedRule): LimitFault[] {
  if (!throttle || !group) return []
  const per = throttle.per ?? ['regarding']
  const isSame = per.length === group.by?.length && per.every((word) => group.by?.includes(word))
  if (!isSame) return []
  const { burst = 1, every } = throttle
  const interval = group.interval ?? DEFAULT_INTERVAL_MS
  if (every < interval && burst > 1) return []
  const hint = 'leave "throttle" out: a group is told once in an interval, with all that came'
  const count = burst === 1 ? 'one event' : `${burst} events`
  return [
    warning(
      ['throttle'],
      `of what "group" collects "throttle" lets ${count} pass in ${writtenDuration(every)}`,
      hint,
    ),
  ]
}

function checkMute({ mute }: CheckedRule): LimitFault[] {
  if (!mute || !mutesAlways(mute)) return []
  return [warning(['mute'], 'this rule is muted always: it sends nothing')]
}

function forPath({ for: own, condition }: CheckedRule): string[] | undefined {
  if (own !== undefined) return ['for']
  return condition?.for === undefined ? undefined : ['condition', 'for']
}

function isSaid(value: unknown): boolean {
  return value !== undefined && value !== false
}

function error(path: LimitFault['path'], message: string, hint?: string): LimitFault {
  return { path, message, severity: 'error', atKey: true, ...(hint !== undefined && { hint }) }
}

function warning(path: LimitFault['path'], message: string, hint?: string): LimitFault {
  return { ...error(path, message, hint), severity: 'warning' }
}
