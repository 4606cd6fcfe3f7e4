import type { Decide, Decision, PendingLimits, Source, Transition } from './change.ts'
import type { Delivery } from './delivery.ts'
import { type ClusterEvent, headerOf } from './event.ts'
import type { Limited, Limits, RuleCounts } from './limit.ts'
import type { MatchResult } from './rules/compile.ts'
import type { ChangeTrace, LineTracer } from './trace.ts'

/** What a decision goes through; hops of the line. */
export interface DecidingHops {
  /** raw object → ClusterEvent */
  normalise(source: Source, transition: Transition): ClusterEvent
  match(event: ClusterEvent): MatchResult
  limits: Limits
  /** An object that cannot be read: counted and skipped. */
  onMalformed(source: Source, transition: Transition, error: unknown): void
  /** Undefined where traces are off. */
  trace?: LineTracer['commit'] | undefined
}

/** normalise ─▶ match, for the transitions of one commit, and what limits have to decide yet; pure but for what its hops count. */
export function decideWith(hops: DecidingHops): Decide {
  return (source, transitions) => {
    const tally: Tally = {
      deliveries: [],
      unmatched: 0,
      dropped: 0,
      matched: 0,
      rules: new Map(),
      limited: [],
      transitions: [],
      counted: [],
      places: new Map(),
    }
    const trace = transitions.length > 0 ? hops.trace?.(source) : undefined
    for (const transition of transitions) {
      const change = transition.left ? undefined : trace?.change(transition)
      try {
        if (route(tally, hops, hops.normalise(source, transition), change)) tally.transitions.push(transition)
      } catch (error) {
        if (!transition.left) tally.unmatched++
        change?.malformed()
        hops.onMalformed(source, transition, error)
      }
    }
    const { limited, transitions: limitedOnes, counted, places, ...rest } = tally
    const onMalformed = (place: number, error: unknown) =>
      hops.onMalformed(source, limitedOnes[place] as Transition, error)
    return {
      ...rest,
      ...(limited.length > 0 && {
        limits: { ...pending(hops.limits, limited, onMalformed), counted, places },
      }),
      ...(trace && { trace }),
    } satisfies Decision
  }
}

/** Limits read an event when they tell it, or keep it: one that cannot be read is passed over then, as if no rule had matched. */
function pending(
  limits: Limits,
  limited: readonly Limited[],
  onMalformed: (place: number, error: unknown) => void,
): Pick<PendingLimits, 'keys' | 'apply'> {
  const passedOver = new Set<number>()
  return {
    keys: limits.keysOf(limited),
    apply(states, nowMs) {
      try {
        return limits.apply(limited, states, nowMs)
      } catch (error) {
        const faults = limited.map(({ event }) => faultOf(event))
        if (faults.every((fault) => fault === undefined)) throw error
        for (const [place, fault] of faults.entries()) {
          if (fault === undefined || passedOver.has(place)) continue
          passedOver.add(place)
          onMalformed(place, fault.error)
        }
        const outcome = limits.apply(
          limited.filter((_, place) => !faults[place]),
          states,
          nowMs,
        )
        const told = outcome.told[Symbol.iterator]()
        return { ...outcome, told: faults.map((fault) => !fault && told.next().value === true) }
      }
    },
  }
}

/** Why an event cannot be told. */
function faultOf(event: ClusterEvent): { error: unknown } | undefined {
  try {
    contentsOf(event)
    return undefined
  } catch (error) {
    return { error }
  }
}

function contentsOf(event: ClusterEvent): Pick<Delivery, 'event' | 'objectJson'> {
  return { event: headerOf(event), objectJson: event.objectJson }
}

interface Tally {
  deliveries: Delivery[]
  unmatched: number
  dropped: number
  matched: number
  rules: Map<string, RuleCounts>
  limited: Limited[]
  /** For each of `limited`: what it was made of. */
  transitions: Transition[]
  /** For each of `limited`: is it counted already? */
  counted: boolean[]
  places: Map<string, number>
}

/** A rule without limits sends what it matches, or drops it. */
function countRule(rules: Map<string, RuleCounts>, rule: string, became: 'sent' | 'drop'): void {
  const before = rules.get(rule)
  const drop = (before?.suppressed.drop ?? 0) + (became === 'drop' ? 1 : 0)
  rules.set(rule, {
    matched: (before?.matched ?? 0) + 1,
    sent: (before?.sent ?? 0) + (became === 'sent' ? 1 : 0),
    digested: 0,
    waiting: 0,
    suppressed: drop > 0 ? { drop } : {},
    notices: 0,
  })
}

/** Gives whether limits have to decide about it, too. */
function route(
  tally: Tally,
  hops: { match(event: ClusterEvent): MatchResult },
  event: ClusterEvent,
  change: ChangeTrace | undefined,
): boolean {
  const result = hops.match(event)
  const { sends, dropped } = result
  // Nothing happened, so nothing is counted.
  if (event.left) {
    if (result.limited.length === 0) return false
    tally.limited.push({ event, matches: result.limited })
    tally.counted.push(true)
    return true
  }
  // Before anything is counted: one that cannot be read is sent by no rule.
  const contents = sends.length > 0 ? contentsOf(event) : undefined
  for (const rule of new Set(sends.map((send) => send.rule))) countRule(tally.rules, rule, 'sent')
  if (result.droppedBy !== undefined) countRule(tally.rules, result.droppedBy, 'drop')
  const traces = change?.matched(event, result)
  const isLimited = result.limited.length > 0
  const isOpen = sends.length === 0 && result.limited.some(({ entered }) => entered)
  if (isLimited) {
    tally.limited.push({ event, matches: result.limited })
    tally.counted.push(!isOpen)
    tally.places.set(event.id, tally.deliveries.length + sends.length)
  }
  if (isOpen) return true
  if (!contents) {
    if (dropped) tally.dropped++
    else tally.unmatched++
    return isLimited
  }
  let place = 0
  for (const { sink, rule } of sends) {
    const delivery: Delivery = { sink, rule, event: contents.event, objectJson: contents.objectJson }
    const trace = traces?.[place++]
    if (trace) delivery.trace = trace
    tally.deliveries.push(delivery)
  }
  tally.matched++
  return isLimited
}
