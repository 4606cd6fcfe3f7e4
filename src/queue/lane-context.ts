import type { Redis } from 'ioredis'
import type { Delivery } from '../delivery.ts'
import type { Logger } from '../log.ts'
import type { Metrics } from '../metrics.ts'
import type { Message } from '../sink/index.ts'
import type { LineTracer } from '../trace.ts'
import type { Acks } from './acks.ts'
import type { ByteBudget } from './byte-budget.ts'
import type { Caller } from './call-sink.ts'
import type { ClockJumps } from './clock-jumps.ts'
import type { Policy } from './delivery-policy.ts'
import type { Keys } from './keys.ts'
import type { Outages } from './outages.ts'
import type { ParkedChains } from './parked-chains.ts'
import type { SinkState } from './sink-state.ts'
import type { Troubles } from './troubles.ts'

/** delivery → message for its sink */
export type Render = (delivery: Delivery, attempt: number) => Message

/** What the delivery stage is given, and each of its lanes needs. */
export interface DeliveryParts {
  redis: Redis
  keys: Keys
  render: Render
  policy: Policy
  metrics: Metrics
  log: Logger
  clock: { now(): number }
  random(): number
  troubles: Troubles
  /** Undefined where traces are off. */
  trace?: LineTracer['attempt'] | undefined
}

/** What lanes of one process share. */
export interface LaneContext extends DeliveryParts {
  caller: Caller
  acks: Acks
  budget: ByteBudget
  outages: Outages
  jumps: ClockJumps
  parked: ParkedChains
  stateOf(sink: string): SinkState | undefined
  /** The sink's bound of age, in milliseconds. */
  maxAgeMs(sink: string): number
  /** May calls begin? Not without the lease of the worker, and not while it stops. */
  mayStart(): boolean
  isFormer(lane: string): boolean
  /** Stored deliveries of the version before go first. */
  waitsForFormer(lane: string): boolean
  /** No call of the lane begins before, by a clock that never jumps: its target asked for it. */
  pausedUntilMs(lane: string): number
  /** Hashes of the chains that the version before left parked, and that go before those of this lane. */
  formerChains(lane: string): ReadonlySet<string>
  /** An acknowledgement with this token was refused: another worker has the lane's slot. */
  onFenced(lane: string, token: string): void
  /** Nothing is left in the lane, as far as this process knows. */
  onEmpty(lane: string): void
  /** The breaker of this sink is open: its lanes go on when it admits calls. */
  onOpen(state: SinkState): void
  /** The sink takes deliveries again. */
  onPassed(state: SinkState): void
}
