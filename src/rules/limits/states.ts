import type { Acknowledgement } from '../../model/control.ts'
import type { DigestItem, Resolved } from '../../model/delivery.ts'
import type { ClusterEvent, EventHeader } from '../../model/event.ts'

/**
 * The fields of every stored state. They never change, so that the waiting events of another version's state can be counted. `limit`
 * determines the other fields. Times are Unix time in milliseconds.
 */
interface StateHead {
  v: 1
  limit: LimitKind
  rule: string
  /** Number of waiting events of the rule. */
  waiting: number
}

export type LimitKind =
  | 'for-resolve'
  | 'resolve-after'
  | 'count'
  | 'debounce'
  | 'after'
  | 'throttle'
  | 'group'

/** The number of events suppressed before an emitted one, and the time of the first. */
export interface SuppressedBefore {
  count: number
  sinceMs: number
}

/** An event that waits to be emitted. */
export interface StoredEmission {
  header: EventHeader
  /** JSON; large objects are shortened. */
  object: string
  /** The object was shortened. */
  truncated?: true
  sinks: readonly string[]
  suppressed?: SuppressedBefore
}

/** The group key's properties and their values, for notifications. */
export type GroupLabels = readonly (readonly [name: string, value: string])[]

/** Keys of an event's shared states. Computed when the event comes, because a stored event lacks some properties. */
export interface StateKeys {
  debounce?: string
  after?: string
  throttle?: string
  group?: GroupStateKey
  resolveAfter?: string
}

export interface GroupStateKey {
  key: string
  by: GroupLabels
  /** The group for events whose own group would exceed the capacity. */
  rest?: string
  /** The `order` of deliveries, which does not depend on their sinks. */
  order?: string
}

/** `for` and `resolve: true`: the state of one object, while it matches. */
export interface ForResolveState extends StateHead {
  limit: 'for-resolve'
  /** When the object started to match. */
  sinceMs: number
  /** Time of the last write. */
  atMs: number
  /** Not emitted yet: waits until `for` has passed, and `mute` and the window of `throttle` end. */
  pending?: { emission: StoredEmission; places: StateKeys }
  /** When that window began; absent before the state has reached `throttle`, and in states of older versions. */
  throttledSinceMs?: number
  /** Emitted to these sinks, with this title; until `fromMs` it waits in the group with this key. Absent if a limit suppressed it. */
  open?: { sinks: readonly string[]; fromMs: number; group?: string; order?: string; title?: string }
  /** It ended; the resolve notification is emitted at `open.fromMs`. */
  over?: { emission: StoredEmission; atMs: number; why: Exclude<Resolved['why'], 'quiet'> }
}

/** The object of an event; of an Event the one that it regards. */
export interface IncidentObject {
  kind: string
  namespace?: string | undefined
  name: string
}

/** `resolve: {after}`: an open incident. */
export interface ResolveAfterState extends StateHead {
  limit: 'resolve-after'
  sinceMs: number
  lastMs: number
  /** The source of the last event; absent in states of older versions. */
  source?: string
  /** The last event, for all sinks that got a notification. */
  last: StoredEmission
  /** The objects that its notifications are about, the newest first, of the last 50; absent in states of older versions. */
  about?: readonly IncidentObject[]
  /** The `order` of the group with the same group key. */
  order?: string
  /** The state of `throttle` with the same group key: it ends with the incident. */
  throttleKey?: string
  /** Number of events that were sent or added to a digest. */
  sent: number
  /** Nothing more of it is sent until it ends. */
  ack?: Acknowledgement
}

/** `count`: of one Event. */
export interface CountState extends StateHead {
  limit: 'count'
  seen: number
  /** With `resolve: {after}`: when it was seen, and its count when its last incident had ended; absent in states of older versions. */
  atMs?: number
  base?: number
}

/** `debounce`: the newest event of a key waits. */
export interface DebounceState extends StateHead {
  limit: 'debounce'
  /** Time of the first event of the burst; `lastMs` is that of the newest. */
  firstMs: number
  lastMs: number
  newest: StoredEmission
  places: StateKeys
  /** The source of the newest event; absent in states of older versions. */
  source?: string
}

/** `after`: times of the events that count. */
export interface AfterState extends StateHead {
  limit: 'after'
  timesMs: readonly number[]
}

/** `throttle`: when the last `burst` events were sent, and how many were suppressed since. */
export interface ThrottleState extends StateHead {
  limit: 'throttle'
  sentMs: readonly number[]
  suppressed?: SuppressedBefore & { lastMs: number }
}

/** `group`: waiting events; without a batch the interval since the last digest runs. */
export interface GroupState extends StateHead {
  limit: 'group'
  by: GroupLabels
  order?: string
  /** When the batch is emitted, or the interval ends. */
  dueMs: number
  batch?: GroupBatch
}

export interface GroupBatch {
  first: StoredEmission
  fromMs: number
  toMs: number
  suppressed?: SuppressedBefore
  /** The first events; `waiting` counts all. */
  items: readonly DigestItem[]
}

export type State =
  | ForResolveState
  | ResolveAfterState
  | CountState
  | DebounceState
  | AfterState
  | ThrottleState
  | GroupState
export type StateOf<Kind extends LimitKind> = Extract<State, { limit: Kind }>

/** The required fields of each kind of state. */
const SHAPES: Readonly<Record<LimitKind, (it: Record<string, unknown>) => boolean>> = {
  'for-resolve': ({ sinceMs, atMs, throttledSinceMs = 0 }) =>
    isTime(sinceMs) && isTime(atMs) && isTime(throttledSinceMs),
  'resolve-after': ({ sinceMs, lastMs, last, about = [], sent }) =>
    isTime(sinceMs) && isTime(lastMs) && isEmission(last) && Array.isArray(about) && isTime(sent),
  count: ({ seen, atMs = 0, base = 0 }) => isTime(seen) && isTime(atMs) && isTime(base),
  debounce: ({ firstMs, lastMs, newest, places }) =>
    isTime(firstMs) && isTime(lastMs) && isEmission(newest) && typeof places === 'object' && places !== null,
  after: ({ timesMs }) => isTimes(timesMs),
  throttle: ({ sentMs }) => isTimes(sentMs),
  group: ({ by, dueMs }) => Array.isArray(by) && isTime(dueMs),
}

/** Returns the object of an event; of an Event the one that it regards, whose kind or name can be missing. */
export function objectOf({
  kind,
  namespace,
  name,
  event,
}: Pick<ClusterEvent | EventHeader, 'kind' | 'namespace' | 'name' | 'event'>): {
  [Part in keyof IncidentObject]: string | undefined
} {
  const about = event?.regarding ?? { kind, namespace, name }
  return { kind: about.kind, namespace: about.namespace, name: about.name }
}

/** Parses a stored state; of a damaged state, or one of another version, returns the number of waiting events. */
export function readState(text: string): { state: State } | { lost: { rule?: string; waiting: number } } {
  let it: Record<string, unknown> = {}
  try {
    it = (JSON.parse(text) ?? {}) as Record<string, unknown>
  } catch {
    // Not JSON: nothing is known.
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

function isEmission(value: unknown): boolean {
  return typeof value === 'object' && value !== null && 'header' in value && 'sinks' in value
}
