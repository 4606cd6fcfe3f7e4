import type { Decide, Decision, PendingLimits, Routing, Source, SourceStore, Transition } from './change.ts'
import type { Delivery } from './delivery.ts'
import { type Enrich, enrichBeforeCommit } from './enriched-store.ts'
import { type ClusterEvent, headerOf } from './event.ts'
import type { Limited, Limits } from './limit.ts'
import type { MatchResult } from './rules/compile.ts'
import type { ChangeTrace, LineTracer } from './trace.ts'

/** The hops of the straight line; `src/app.ts` hands them in. */
export interface Hops<Watches, Lanes extends { wake(lanes: readonly string[]): void }> {
  /** list and watch → changes and positions */
  watch(store: SourceStore): Watches
  /** changes → the same, once what rules ask of their surroundings is known */
  enrich: Enrich
  /** raw object → ClusterEvent */
  normalise(source: Source, transition: Transition): ClusterEvent
  /** ClusterEvent → the sinks that the rules name, and their lanes; a reload gives the commits that follow others */
  routing(): { match(event: ClusterEvent): MatchResult; limits: Limits; laneOf: Routing['laneOf'] }
  /** changes, deliveries, index, position and ledger → durable, in one transaction */
  commit(routing: () => Routing, wake: (lanes: readonly string[]) => void): SourceStore
  /** lane → render → deliver → settle, one worker per lane at a time */
  deliver(): Lanes
  /** An object that cannot be read: counted and skipped. */
  onMalformed(source: Source, transition: Transition, error: unknown): void
  /** Undefined where traces are off. */
  trace?: LineTracer['commit'] | undefined
}

/**
 * The order of the work:
 *
 *   watch ─▶ enrich ─▶ normalise ─▶ match ─▶ limit ─▶ commit ═══▶ lane ─▶ render ─▶ deliver ─▶ settle
 *                                                        Redis
 *
 * Everything before the commit can be repeated from the stored position, everything after it from the lane.
 */
export function connectHops<Watches, Lanes extends { wake(lanes: readonly string[]): void }>(
  hops: Hops<Watches, Lanes>,
): { watches: Watches; lanes: Lanes } {
  const lanes = hops.deliver()
  const routing = () => {
    const { match, limits, laneOf } = hops.routing()
    return { decide: decideWith({ ...hops, match, limits }), expire: limits.expire, laneOf }
  }
  const store = hops.commit(routing, (touched) => lanes.wake(touched))
  const watches = hops.watch(enrichBeforeCommit(store, hops.enrich))
  return { watches, lanes }
}

/** normalise ─▶ match, for the transitions of one commit, and what limits have to decide yet; pure but for what its hops count. */
export function decideWith(
  hops: Pick<Hops<never, never>, 'normalise' | 'onMalformed' | 'trace'> & {
    match(event: ClusterEvent): MatchResult
    limits: Limits
  },
): Decide {
  return (source, transitions) => {
    const tally: Tally = { deliveries: [], unmatched: 0, dropped: 0, matched: 0, limited: [], counted: [] }
    const trace = transitions.length > 0 ? hops.trace?.(source) : undefined
    for (const transition of transitions) {
      const change = trace?.change(transition)
      try {
        route(tally, hops, hops.normalise(source, transition), change)
      } catch (error) {
        tally.unmatched++
        change?.malformed()
        hops.onMalformed(source, transition, error)
      }
    }
    const { limited, counted, ...rest } = tally
    return {
      ...rest,
      ...(limited.length > 0 && { limits: pending(hops.limits, limited, counted) }),
      ...(trace && { trace }),
    } satisfies Decision
  }
}

function pending(limits: Limits, limited: readonly Limited[], counted: readonly boolean[]): PendingLimits {
  return {
    keys: limits.keysOf(limited),
    apply: (states, nowMs) => limits.apply(limited, states, nowMs),
    counted,
  }
}

interface Tally {
  deliveries: Delivery[]
  unmatched: number
  dropped: number
  matched: number
  limited: Limited[]
  /** For each of `limited`: is it counted already? */
  counted: boolean[]
}

function route(
  tally: Tally,
  hops: { match(event: ClusterEvent): MatchResult },
  event: ClusterEvent,
  change: ChangeTrace | undefined,
): void {
  const result = hops.match(event)
  const { sends, dropped } = result
  const traces = change?.matched(event, result)
  const isOpen = sends.length === 0 && result.limited.some(({ entered }) => entered)
  if (result.limited.length > 0) {
    tally.limited.push({ event, matches: result.limited })
    tally.counted.push(!isOpen)
  }
  if (isOpen) return
  if (sends.length === 0) {
    if (dropped) tally.dropped++
    else tally.unmatched++
    return
  }
  const header = headerOf(event)
  const objectJson = event.objectJson
  let place = 0
  for (const { sink, rule } of sends) {
    const delivery: Delivery = { sink, rule, event: header, objectJson }
    const trace = traces?.[place++]
    if (trace) delivery.trace = trace
    tally.deliveries.push(delivery)
  }
  tally.matched++
}
