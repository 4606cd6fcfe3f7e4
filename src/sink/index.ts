import type { EventHeader } from '../event.ts'
import type { Message } from './message.ts'
import type { Outcome } from './outcome.ts'

export type { ChangeType, EventHeader, KubeEvent, ObjectRef } from '../event.ts'
export { printable } from '../printable.ts'
export { outcomeOfStatus } from './answer.ts'
export { createHttpClient, type HttpClient, type HttpOptions } from './http.ts'
export { deliverInOrder, type InOrderOptions } from './in-order.ts'
export { LANES, laneByObject } from './lane.ts'
export { isForbiddenHost } from './link-local.ts'
export { secretsOfHeaders } from './mask.ts'
export type { Message } from './message.ts'
export type { Outcome, Reason, Scope } from './outcome.ts'
export { createSlots, type Slots } from './slots.ts'

export interface Logger {
  debug(fields: object, message: string): void
  info(fields: object, message: string): void
  warn(fields: object, message: string): void
  error(fields: object, message: string): void
}

/** What the core hands to a sink. */
export interface SinkContext {
  /** The sink's name in the configuration. */
  name: string
  /** The cluster's name in the configuration. */
  cluster: string
  log: Logger
  /** For requests to others, such as `kubeherald/0.1.0`. */
  userAgent: string
  clock: { now(): number }
}

/**
 * An opened sink. `deliver` answers with one outcome for each message, in the same order; messages of
 * one object (`event.uid`) must reach the target in the order of the batch: after a `retry`, later ones
 * of that object are not sent but answered with `retry` too (`deliverInOrder` does all that). It must end
 * soon after `signal` aborts; what was not sent then is a `retry`. What it throws counts as `retry`.
 */
export interface Sink {
  deliver(batch: readonly Message[], signal: AbortSignal): Promise<Outcome[]>
  /** Ends what is in flight; may be called twice. */
  close(): Promise<void>
}

/** Validates a sink's section of the configuration; any Standard Schema (zod 4 is one) will do. */
export interface ConfigSchema<C> {
  readonly '~standard': {
    readonly version: 1
    readonly vendor: string
    readonly validate: (
      value: unknown,
    ) => { value: C; issues?: undefined } | { issues: readonly SchemaIssue[] } | Promise<unknown>
  }
}

export interface SchemaIssue {
  readonly message: string
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined
}

export interface SinkType<C = unknown> {
  type: string
  config: ConfigSchema<C>
  /**
   * Names the lane of a delivery: an ordered log. All deliveries of one object must get the same
   * lane. Default: one of 16 by the object's uid.
   */
  lane?(event: EventHeader, config: C): string
  /** Must not fail because the peer is unreachable: that is a `retry` of the first delivery. */
  open(config: C, context: SinkContext): Promise<Sink> | Sink
}

/** Gives a sink type its types; use it as the default export of a sink package. */
export function defineSink<C>(type: SinkType<C>): SinkType<C> {
  return type
}
