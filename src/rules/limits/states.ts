import type { DigestItem, Resolved } from '../delivery.ts'
import type { EventHeader } from '../event.ts'

/**
 * What stands in every state, of any version, for ever: so that one of another version can be counted. What else it holds says
 * its `limit`. Times are Unix time in milliseconds.
 */
export interface StateHead {
  v: 1
  limit: LimitKind
  rule: string
  /** How many events of the rule wait in it. */
  waiting: number
}

export type LimitKind = 'follow' | 'quiet' | 'count' | 'after' | 'throttle' | 'group'

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

/** Names and values that a group has in common, as people read them. */
export type Common = readonly (readonly [name: string, value: string])[]

/** Where limits count an event: keys of shared states. Made when it comes, for what they ask is not kept. */
export interface Places {
  after?: string
  throttle?: string
  group?: GroupPlace
  quiet?: string
}

export interface GroupPlace {
  key: string
  by: Common
  /** Where all that have no room for themselves are collected. */
  rest?: string
  /** What a delivery's `order` is, whatever its sinks. */
  order?: string
}

/** `for`, `resolve: true`: of one object, while the rule holds for it. */
export interface FollowState extends StateHead {
  limit: 'follow'
  /** When the rule began to hold. */
  sinceMs: number
  /** When it was written. */
  atMs: number
  /** Not told yet: waits to have lasted, and for `mute` to end. */
  pending?: { told: Held; places: Places }
  /** Told, to these sinks; before `fromMs` it waits in a group, whose key this is. Without it a limit held it back. */
  open?: { sinks: readonly string[]; fromMs: number; group?: string; order?: string }
  /** It is over, which is told when `open.fromMs` has come. */
  over?: { told: Held; atMs: number; why: Exclude<Resolved['why'], 'quiet'> }
}

/** `resolve: {after}`: since an event was told, until none has come for so long. */
export interface QuietState extends StateHead {
  limit: 'quiet'
  sinceMs: number
  lastMs: number
  /** Its sinks are all that were told. */
  last: Held
  /** Of the group that it is of, too. */
  order?: string
}

/** `count`: of one Event. */
export interface CountState extends StateHead {
  limit: 'count'
  seen: number
}

/** `after`: the events that may make up the number. */
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
  by: Common
  order?: string
  /** When what waits is told; with nothing waiting, when the group ends. */
  dueMs: number
  batch?: GroupBatch
}

/** `waiting` says how many they are. */
export interface GroupBatch {
  first: Held
  fromMs: number
  toMs: number
  heldBack?: HeldBack
  /** The first of them. */
  items: readonly DigestItem[]
}

export type State = FollowState | QuietState | CountState | AfterState | ThrottleState | GroupState
export type StateOf<Kind extends LimitKind> = Extract<State, { limit: Kind }>

/** What each kind of state cannot do without. */
const SHAPES: Readonly<Record<LimitKind, (it: Record<string, unknown>) => boolean>> = {
  follow: ({ sinceMs, atMs }) => isTime(sinceMs) && isTime(atMs),
  quiet: ({ sinceMs, lastMs, last }) => isTime(sinceMs) && isTime(lastMs) && isHeld(last),
  count: ({ seen }) => isTime(seen),
  after: ({ timesMs }) => isTimes(timesMs),
  throttle: ({ sentMs }) => isTimes(sentMs),
  group: ({ by, dueMs }) => Array.isArray(by) && isTime(dueMs),
}

/** A state as it was written; of another version, or damaged, what is known of the events that wait in it. */
export function readState(text: string): { state: State } | { lost: { rule?: string; waiting: number } } {
  let it: Record<string, unknown> = {}
  try {
    it = (JSON.parse(text) ?? {}) as Record<string, unknown>
  } catch {
    // Nothing is known of it.
  }
  const { v, limit, rule, waiting } = it
  const count = Number.isSafeInteger(waiting) && Number(waiting) > 0 ? Number(waiting) : 0
  const isKnown = typeof limit === 'string' && Object.hasOwn(SHAPES, limit)
  if (v === 1 && isKnown && typeof rule === 'string' && SHAPES[limit as LimitKind](it))
    return { state: it as unknown as State }
  return { lost: { ...(typeof rule === 'string' && { rule }), waiting: count } }
}

function isTime(value: unknown): boolean {
  return Number.isFinite(value)
}

function isTimes(value: unknown): boolean {
  return Array.isArray(value) && value.every(isTime)
}

function isHeld(value: unknown): boolean {
  return typeof value === 'object' && value !== null && 'header' in value && 'sinks' in value
}
