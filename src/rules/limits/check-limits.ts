import { writtenDuration } from '../../sink/duration.ts'
import { areDeletions } from '../change-values.ts'
import type { When } from '../when.ts'
import { mutesAlways } from './mute.ts'
import { DEFAULT_INTERVAL_MS, DEFAULT_WAIT_MS, forOf, type LimitedRule } from './rule-plan.ts'
import { LimitKeysShape } from './schema.ts'

/** A fault in the limits of a rule; `path` starts at the rule. */
interface LimitFault {
  path: readonly (string | number)[]
  message: string
  hint?: string
  severity: 'error' | 'warning'
  /** The fault is in the key, not in its value. */
  atKey?: boolean
}

/** The readable part of a rule. The checks read only whether the keys from `if` on exist. */
export type CheckedRule = Partial<LimitedRule> & {
  drop?: boolean | undefined
  when?: Pick<When, 'type'>
  if?: unknown
  changed?: unknown
  from?: unknown
  'to-state'?: unknown
}

/** What a rule can match: Events, objects of other kinds, or both. */
interface MatchedKinds {
  events: boolean
  others: boolean
}

/** Returns limits that exclude each other, or that the matched kinds exclude, where these are known. */
export function checkLimits(rule: CheckedRule, kinds: MatchedKinds | undefined): LimitFault[] {
  if (rule.drop) return checkDrop(rule)
  return [
    ...(kinds ? [...checkCount(rule, kinds), ...checkStates(rule, kinds)] : []),
    ...checkDeletions(rule, kinds),
    ...checkFor(rule),
    ...checkResolveAfter(rule, kinds),
    ...checkDebounce(rule),
    ...checkGroup(rule),
    ...checkMute(rule),
  ]
}

function checkDrop(rule: CheckedRule): LimitFault[] {
  const key = Object.keys(LimitKeysShape).find((it) => isSet(rule[it as keyof CheckedRule]))
  if (key === undefined) return []
  return [error([key], 'this rule drops what it matches: there is nothing to limit', `leave "${key}" out`)]
}

function checkCount({ count }: CheckedRule, { events }: MatchedKinds): LimitFault[] {
  if (!count || events) return []
  const message = '"count" reads the count of an Event, and this rule matches no Events'
  return [error(['count'], message, 'to count matches write after: { count: 3, within: 10m }')]
}

const NAME_A_KIND = 'name the kinds whose state it tracks: when: { kind: … }'

/** `for` and `resolve: true` track the state of objects; an Event has none. */
function checkStates(rule: CheckedRule, { events, others }: MatchedKinds): LimitFault[] {
  const faults: LimitFault[] = []
  const hold = forPath(rule)
  if (hold && events) {
    const hint = others
      ? NAME_A_KIND
      : 'for several Events within a time write after: { count: 3, within: 10m }'
    faults.push(error(hold, '"for" is how long an object stays in a state, and Events have none', hint))
  }
  if (rule.resolve === true && events) {
    const hint = others
      ? NAME_A_KIND
      : 'write resolve: { after: 15m }: resolved 15 minutes after the last Event'
    const message = '"resolve: true" does not work for Events: they have no state that can end'
    faults.push({ ...error(['resolve'], message, hint), atKey: false })
  }
  const isMoment = isSet(rule.changed) || isSet(rule.from)
  const hasState = isSet(rule.if) || isSet(rule['to-state']) || isSet(rule.condition)
  const key = hold ?? (rule.resolve === true ? ['resolve'] : undefined)
  if (key && !events && isMoment && !hasState) {
    const hint = `name the state with "if", "to-state" or "condition", or leave "${key.at(-1)}" out`
    faults.push(error(key, 'a change has no duration: only a state lasts and ends', hint))
  }
  return faults
}

/** A deleted object has no state: `for` and `resolve: true` suppress it. */
function checkDeletions(rule: CheckedRule, kinds: MatchedKinds | undefined): LimitFault[] {
  if (!areDeletions(rule.when?.type) || kinds?.events) return []
  const keys = [...(isSet(rule.for) ? ['for'] : []), ...(rule.resolve === true ? ['resolve'] : [])]
  const message = 'this rule sends nothing: a deleted object has no state that lasts or ends'
  return keys.map((key) => warning([key], message, `leave "${key}" out`))
}

function checkFor({ for: own, condition }: CheckedRule): LimitFault[] {
  if (own === undefined || condition?.for === undefined) return []
  const [here, there] = [writtenDuration(own), writtenDuration(condition.for)]
  const message = `"for" is ${here} here and ${there} in "condition", and both mean the same`
  return [error(['for'], message, 'leave one of them out')]
}

function checkResolveAfter(rule: CheckedRule, kinds: MatchedKinds | undefined): LimitFault[] {
  const { resolve, group } = rule
  if (typeof resolve !== 'object') return []
  const path = ['resolve', 'after']
  const hint = 'write resolve: true, which resolves as soon as the state ends'
  if (forOf(rule as LimitedRule) !== undefined)
    return [error(path, 'a rule with "for" knows when the state ends', hint)]
  const faults =
    kinds?.events !== false
      ? []
      : [warning(path, 'this rule matches objects, which have a state that can end', hint)]
  const longest = group && Math.max(group.wait ?? DEFAULT_WAIT_MS, group.interval ?? DEFAULT_INTERVAL_MS)
  if (longest !== undefined && resolve.after <= longest) {
    const message = `"after" must be longer than "group" waits (${writtenDuration(longest)}): else the incident ends before its digest`
    faults.push(error(path, message))
  }
  return faults
}

/** The newest event is the point of `debounce`: no other limit must keep back or suppress it. */
function checkDebounce(rule: CheckedRule): LimitFault[] {
  if (!rule.debounce) return []
  const state = forPath(rule) ?? (rule.resolve === true ? ['resolve'] : undefined)
  if (state) {
    const message = `"${state.at(-1)}" tracks the state of each object, so "debounce" has nothing to wait for`
    return [error(['debounce'], message, 'leave one of them out')]
  }
  return (['sample', 'after', 'throttle'] as const)
    .filter((key) => isSet(rule[key]))
    .map((key) =>
      warning(
        [key],
        `"${key}" can suppress the newest event, which "debounce" waits for`,
        `leave "${key}" out`,
      ),
    )
}

/** Events that throttle suppresses are missing in the digest. */
function checkGroup({ throttle, group }: CheckedRule): LimitFault[] {
  if (!throttle || !group) return []
  const per = throttle.per ?? ['regarding']
  const isSame = per.length === group.by?.length && per.every((property) => group.by?.includes(property))
  if (!isSame) return []
  const { burst = 1, every } = throttle
  if (every < (group.interval ?? DEFAULT_INTERVAL_MS) && burst > 1) return []
  const message = `"throttle" suppresses events that "group" collects: ${burst} in ${writtenDuration(every)} pass`
  return [warning(['throttle'], message, 'leave "throttle" out: a group sends one digest in an interval')]
}

function checkMute({ mute }: CheckedRule): LimitFault[] {
  if (!mute || !mutesAlways(mute)) return []
  return [warning(['mute'], 'this rule is always muted: it sends nothing')]
}

function forPath({ for: own, condition }: CheckedRule): string[] | undefined {
  if (own !== undefined) return ['for']
  return condition?.for === undefined ? undefined : ['condition', 'for']
}

function isSet(value: unknown): boolean {
  return value !== undefined && value !== false
}

function error(path: LimitFault['path'], message: string, hint?: string): LimitFault {
  return { path, message, severity: 'error', atKey: true, ...(hint !== undefined && { hint }) }
}

function warning(path: LimitFault['path'], message: string, hint?: string): LimitFault {
  return { ...error(path, message, hint), severity: 'warning' }
}
