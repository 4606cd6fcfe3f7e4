import type { ClusterEvent } from './event.ts'

/** Conditions by their names in `when`, and patterns of `rule` and `sink`: as in the configuration. */
export type SilenceMatch = Readonly<Record<string, unknown>>

/** Matching events are not sent from `fromMs` until `untilMs`, by the time at which they were observed. */
export interface Silence {
  id: string
  match: SilenceMatch
  /** Unix milliseconds; `untilMs` is the first that is outside. */
  fromMs: number
  untilMs: number
  /** Why, and who added it: texts of users. */
  reason: string
  by: string
  createdMs: number
}

export type SilenceState = 'pending' | 'active' | 'ended'

export function silenceStateAt(
  { fromMs, untilMs }: Pick<Silence, 'fromMs' | 'untilMs'>,
  nowMs: number,
): SilenceState {
  if (nowMs >= untilMs) return 'ended'
  return nowMs < fromMs ? 'pending' : 'active'
}

/** Returns `silence 3f9a1c2b until 2026-11-26T10:00:00Z by alice: deploy`. */
export function describeSilence({ id, untilMs, by, reason }: Silence): string {
  const until = new Date(untilMs).toISOString().replace('.000Z', 'Z')
  return `silence ${id} until ${until} by ${by}${reason === '' ? '' : `: ${reason}`}`
}

/** What a silence can test of an event: the event itself, without related metadata. A stored event has all of it. */
export type SilencedEvent = Pick<
  ClusterEvent,
  'type' | 'apiVersion' | 'kind' | 'path' | 'namespace' | 'name' | 'labels' | 'annotations' | 'event'
>

/** The silences of one evaluation: compiled, and the same from its beginning to its end. */
export interface Silences {
  /**
   * Returns the silence in force at a time for an event of a rule to a sink. Calls `onUntested` for each that cannot test the event,
   * because a value is too long for its pattern: it does not hold.
   */
  find(
    rule: string,
    sink: string,
    event: SilencedEvent,
    atMs: number,
    onUntested?: (silence: Silence) => void,
  ): Silence | undefined
}

/** Who took over an incident. */
export interface Acknowledgement {
  by: string
  /** Unix milliseconds. */
  atMs: number
  reason?: string
}

/** An open incident of a rule with `resolve` or `for`. */
export interface Incident {
  rule: string
  /** The key of its limit state; unique together with the rule. */
  key: string
  /** `Deployment shop/web`: the object, or that of its last event; undefined if it is not known. */
  object?: string
  sinceMs: number
  /** Number of events that were sent or added to a digest. */
  notifications: number
  acknowledged?: Acknowledgement
}

/** A name with what it is a name of, for the log, silences and acknowledgements: names of tokens and of users may be equal. */
export function actorOf(kind: 'token' | 'user' | 'cli', name: string): string {
  return `${kind}:${name}`
}

/** Characters of an actor, its kind included. */
export const MAX_ACTOR = 200
