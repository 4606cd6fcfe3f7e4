import type { DigestItem } from '../delivery.ts'
import type { EventHeader } from '../event.ts'

/**
 * What stands in every state, of any version, for ever: so that one of another version can be counted. What else it holds says
 * its `limit`. Times are Unix time in milliseconds.
 */
export interface StateHead {
  v: 1
  limit: 'follow' | 'quiet' | 'count' | 'after' | 'throttle' | 'group'
  rule: string
  /** How many events of the rule wait in it. */
  waiting: number
}

/** Events that were not told before one that is: how many, and the time of the first. */
export interface HeldBack {
  count: number
  sinceMs: number
}

/** An event that waits to be told. */
export interface Held {
  header: EventHeader
  /** JSON; what is very large in it is shortened. */
  object: string
  sinks: readonly string[]
  heldBack?: HeldBack
}

/** Where the next limits of an event count it; made when it comes, for `by` may ask what is not kept. */
export interface Places {
  after?: string
  throttle?: string
  group?: { key: string; by: readonly (readonly [name: string, value: string])[] }
  quiet?: string
}

/** `for`, `resolve: true`: of one object, while the rule holds for it. */
export interface FollowState extends StateHead {
  limit: 'follow'
  /** When the rule began to hold. */
  sinceMs: number
  /** The last event that was seen. */
  atMs: number
  /** Not told yet: waits to have lasted, and for `mute` to end. */
  pending?: { told: Held; places: Places }
  /** Told, to these sinks; before `fromMs` it waits in a group. Without it, a limit held it back. */
  open?: { sinks: readonly string[]; fromMs: number }
  /** It is over; told when `open.fromMs` has come. */
  over?: { told: Held; atMs: number; why: 'ended' | 'deleted' }
}

/** `resolve: {after}`: since an event was told, until none has come for so long. */
export interface QuietState extends StateHead {
  limit: 'quiet'
  sinceMs: number
  lastMs: number
  last: Held
}

/** `count`: of one Event. */
export interface CountState extends StateHead {
  limit: 'count'
  seen: number
}

/** `after`: times of the events that may make up the number. */
export interface AfterState extends StateHead {
  limit: 'after'
  timesMs: readonly number[]
}

/** `throttle`: when the last `burst` events were sent, and what was held back since. */
export interface ThrottleState extends StateHead {
  limit: 'throttle'
  sentMs: readonly number[]
  held?: HeldBack & { lastMs: number }
}

/** `group`: what waits for a digest; or nothing, while the interval since the last one runs. */
export interface GroupState extends StateHead {
  limit: 'group'
  by: readonly (readonly [name: string, value: string])[]
  /** When what waits is told; with nothing waiting, when the group ends. */
  dueMs: number
  batch?: GroupBatch
}

export interface GroupBatch {
  first: Held
  fromMs: number
  toMs: number
  heldBack?: HeldBack
  /** The first of them, as the digest tells them; `waiting` counts them all. */
  items: readonly DigestItem[]
}

export type State = FollowState | QuietState | CountState | AfterState | ThrottleState | GroupState
