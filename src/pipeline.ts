import type { Routing, SourceStore } from './change.ts'
import { type DecidingHops, decideWith } from './decision.ts'
import { type Enrich, enrichBeforeCommit } from './enriched-store.ts'
import type { Enqueued } from './queue/lane-feed.ts'

/** What a commit needs of lanes: whether one keeps up, and where to hand over what was written. */
export interface EnqueuedLanes {
  enqueued(lanes: readonly Enqueued[]): void
  keepsUp(lane: string): boolean
}

/** The hops of the straight line; `src/app.ts` hands them in. */
export interface Hops<Watches, Lanes extends EnqueuedLanes, Timers = unknown> {
  /** list and watch → changes and positions */
  watch(store: SourceStore): Watches
  /** changes → the same, once what rules ask of their surroundings is known */
  enrich: Enrich
  /** raw object → ClusterEvent */
  normalise: DecidingHops['normalise']
  /** ClusterEvent → the sinks that the rules name, and their lanes; a reload gives the commits that follow others */
  routing(): Pick<DecidingHops, 'match' | 'limits'> &
    Pick<Routing, 'laneOf'> & { ruleNames: ReadonlySet<string> }
  /** changes, deliveries, index, position and ledger → durable, in one transaction */
  commit(routing: () => Routing, onEnqueued: (lanes: readonly Enqueued[]) => void): SourceStore
  /** states of limits whose time has come → deliveries and ledger, in one transaction */
  limit(
    watches: Watches,
    parts: { store: SourceStore; routing(): Routing; onEnqueued(lanes: readonly Enqueued[]): void },
  ): Timers
  /** lane → render → deliver → acknowledge, one owner per lane at a time */
  deliver(): Lanes
  onMalformed: DecidingHops['onMalformed']
  trace?: DecidingHops['trace']
}

/**
 * The order of the work:
 *
 *   watch ─▶ enrich ─▶ normalise ─▶ match ─▶ limit ─▶ commit ═══▶ lane ─▶ render ─▶ deliver ─▶ acknowledge
 *                                                        Redis
 *
 * Everything before the commit can be repeated from the stored position, everything after it from the lane.
 */
export function connectHops<Watches, Lanes extends EnqueuedLanes, Timers>(
  hops: Hops<Watches, Lanes, Timers>,
): { watches: Watches; lanes: Lanes; limits: Timers } {
  const lanes = hops.deliver()
  const onEnqueued = (enqueued: readonly Enqueued[]) => lanes.enqueued(enqueued)
  const routing = () => {
    const { match, limits, laneOf, ruleNames } = hops.routing()
    const decide = decideWith({ ...hops, match, limits })
    const { expire } = limits
    return { decide, expire, laneOf, keepsUp: (lane: string) => lanes.keepsUp(lane), rules: ruleNames }
  }
  const store = hops.commit(routing, onEnqueued)
  const watches = hops.watch(enrichBeforeCommit(store, hops.enrich))
  return { watches, lanes, limits: hops.limit(watches, { store, routing, onEnqueued }) }
}
