import type { Evaluate, Evaluator, Transition } from '../../src/model/change.ts'
import type { Delivery, Digest } from '../../src/model/delivery.ts'
import type { ClusterEvent } from '../../src/model/event.ts'
import type {
  Limited,
  LimitOutcome,
  LimitStates,
  Limits,
  LimitWrites,
  RuleCounts,
} from '../../src/model/limit.ts'
import { headerFor } from './objects.ts'

/**
 * Limits that are small enough to be looked through, for tests of what keeps them: `once` tells the first event of a name's first
 * letter, `digest` all of a letter together after a while, `lasting` what held for a while (names with `!` end it), and
 * `slow` both: what lasted comes in a digest.
 */
export interface BedLimits {
  waitMs?: number
  lastMs?: number
  /** Takes whatever it is asked for as due. */
  impatient?: true
  /** Those that there are: what another one wants to have lasted is gone. */
  rules?: ReadonlySet<string>
}

const RULES = ['once', 'digest', 'lasting', 'slow'] as const

interface State {
  deliveries: Delivery[]
  dueMs: number
}

type Counts = Omit<RuleCounts, 'suppressed'> & { suppressed: Record<string, number> }

class Tally {
  readonly deliveries: Delivery[] = []
  readonly rules = new Map<string, Counts>()
  readonly writes = { shared: new Map(), own: new Map() } satisfies LimitWrites

  of(rule: string): Counts {
    const none = { matched: 0, sent: 0, digested: 0, waiting: 0, suppressed: {}, notices: 0 }
    const counts = this.rules.get(rule) ?? none
    this.rules.set(rule, counts)
    return counts
  }
}

export function smallLimits({ waitMs = 60_000, lastMs = 60_000, impatient, rules }: BedLimits): Limits {
  const letterOf = (name: string) => name[0] ?? ''

  function group(tally: Tally, states: LimitStates, rule: string, delivery: Delivery, nowMs: number): void {
    const key = `${rule}:${letterOf(delivery.event.name)}`
    const text = states.shared(key)
    const written = tally.writes.shared.get(key)
    const before = JSON.parse(written?.text ?? text ?? 'null') as State | null
    const dueMs = before?.dueMs ?? nowMs + waitMs
    const deliveries = [...(before?.deliveries ?? []), delivery]
    const state = { text: JSON.stringify({ deliveries, dueMs }), waiting: deliveries.length }
    tally.writes.shared.set(key, { ...state, dueMs, expiresAfterMs: 1 })
  }

  return {
    keysOf: (events) => ({
      shared: events.flatMap(({ event, matches }) =>
        matches
          .filter(({ rule, holds }) => holds && (rule === 'once' || rule === 'digest'))
          .map(({ rule }) => `${rule}:${letterOf(event.name)}`),
      ),
      own: events.flatMap(({ event, matches }) =>
        matches
          .filter(({ rule }) => rule === 'lasting' || rule === 'slow')
          .map(({ rule }) => `${event.uid}:${rule}`),
      ),
    }),
    apply(events, states, nowMs): LimitOutcome {
      const tally = new Tally()
      const emitted = events.map(({ event, matches }) => {
        const before = tally.deliveries.length
        for (const { rule, holds } of matches) {
          const delivery = deliveryOf(event, rule)
          const counts = tally.of(rule)
          if (holds) counts.matched++
          if (rule === 'once') {
            const key = `once:${letterOf(event.name)}`
            const isFirst = states.shared(key) === undefined && !tally.writes.shared.has(key)
            if (isFirst) {
              tally.deliveries.push(delivery)
              counts.sent++
            } else counts.suppressed['throttle'] = (counts.suppressed['throttle'] ?? 0) + 1
            const seen = Number(tally.writes.shared.get(key)?.text ?? states.shared(key) ?? 0)
            tally.writes.shared.set(key, { text: String(seen + 1), expiresAfterMs: 3_600_000 })
          } else if (rule === 'digest') {
            group(tally, states, rule, delivery, nowMs)
            counts.waiting++
          } else {
            const key = `${event.uid}:${rule}`
            const written = tally.writes.own.has(key)
            const waits = written ? tally.writes.own.get(key) !== null : states.own(key) !== undefined
            if (holds && waits) counts.suppressed['for'] = (counts.suppressed['for'] ?? 0) + 1
            else if (holds) {
              const state = { deliveries: [delivery], dueMs: nowMs + lastMs }
              const text = JSON.stringify(state)
              tally.writes.own.set(key, { text, waiting: 1, dueMs: state.dueMs, expiresAfterMs: 1 })
              counts.waiting++
            } else if (waits) {
              tally.writes.own.set(key, null)
              counts.waiting--
              counts.suppressed['for'] = (counts.suppressed['for'] ?? 0) + 1
            }
          }
        }
        return tally.deliveries.length > before
      })
      return { ...tally, suppressed: [], emitted }
    },
    expire(due, states, nowMs): LimitOutcome {
      const tally = new Tally()
      for (const key of due.shared) {
        const state = parse(states.shared(key))
        if (!state || (state.dueMs > nowMs && !impatient)) continue
        const rule = key.slice(0, key.indexOf(':'))
        const [first] = state.deliveries as [Delivery]
        tally.deliveries.push({ ...first, notice: digestOf(state.deliveries) })
        const count = state.deliveries.length
        const counts = tally.of(rule)
        counts.digested += count
        counts.waiting -= count
        counts.notices++
        tally.writes.shared.set(key, null)
      }
      for (const key of due.own) {
        const state = parse(states.own(key))
        if (!state || (state.dueMs > nowMs && !impatient)) continue
        const rule = key.slice(key.lastIndexOf(':') + 1)
        const [delivery] = state.deliveries as [Delivery]
        tally.writes.own.set(key, null)
        if (rules && !rules.has(rule)) {
          const counts = tally.of(rule)
          counts.waiting--
          counts.suppressed['gone'] = (counts.suppressed['gone'] ?? 0) + 1
        } else if (rule === 'slow') group(tally, states, rule, delivery, nowMs)
        else {
          tally.deliveries.push(delivery)
          const counts = tally.of(rule)
          counts.sent++
          counts.waiting--
        }
      }
      return { ...tally, suppressed: [], emitted: [] }
    },
  }
}

function parse(text: string | undefined): State | undefined {
  if (text === undefined) return undefined
  const state = JSON.parse(text) as State
  return {
    ...state,
    deliveries: state.deliveries.map((it) => ({ ...it, objectJson: Buffer.from('{}') })),
  }
}

function deliveryOf(event: ClusterEvent, rule: string): Delivery {
  return { sink: 'hook', rule, event: event as never, objectJson: Buffer.from('{}') }
}

function digestOf(deliveries: readonly Delivery[]): Digest {
  const times = deliveries.map(({ event }) => event.time)
  const items = deliveries.map(({ event: { id, type, kind, name, time } }) => ({
    id,
    type,
    kind,
    name,
    time,
  }))
  return { kind: 'digest', count: items.length, by: [], from: times[0] ?? '', to: times.at(-1) ?? '', items }
}

/** Sends all to `all`, but what the names of objects ask for: `once-a1` goes to the rule `once`, and to no other. */
export function limitedRouting(limits: Limits, rules?: ReadonlySet<string>): Evaluator {
  const evaluate: Evaluate = (_source, transitions) => {
    const headers = transitions.map((it) => headerFor(it.name, it.resourceVersion, it.type, it.uid))
    const deliveries: Delivery[] = []
    const limited: Limited[] = []
    const places = new Map<string, number>()
    let unmatched = 0
    for (const [i, it] of transitions.entries()) {
      const header = headers[i] as (typeof headers)[number]
      const rule = RULES.find((name) => it.name.startsWith(`${name}-`))
      const follows = rule === 'lasting' || rule === 'slow'
      if (!follows && it.deselected) continue
      if (!follows && it.type === 'DELETED') unmatched++
      else if (!rule)
        deliveries.push({ sink: 'hook', rule: 'all', event: header, objectJson: Buffer.from('{}') })
      else {
        const name = it.name.slice(rule.length + 1)
        const event = { ...header, name } as unknown as ClusterEvent
        if (it.type === 'DELETED') unmatched++
        limited.push({ event, matches: [{ rule, sinks: ['hook'], ...entersOf(it) }] })
        places.set(header.id, deliveries.length)
      }
    }
    const matched = deliveries.length
    const sent = { matched, sent: matched, digested: 0, waiting: 0, suppressed: {}, notices: 0 }
    return {
      deliveries,
      ...{ unmatched, dropped: 0, matched },
      ...(matched > 0 && { rules: new Map([['all', sent]]) }),
      ...(limited.length > 0 && {
        limits: {
          keys: limits.keysOf(limited),
          apply: (states, nowMs) => limits.apply(limited, states, nowMs),
          counted: limited.map(({ matches }) => !matches.some(({ entered }) => entered)),
          places,
        },
      }),
    }
  }
  return { evaluate, expire: limits.expire, laneOf: () => 'hook/0', ...(rules && { rules }) }
}

/** An object ends when it is deleted, or no longer watched. */
function entersOf({ type, deselected }: Transition): { holds: boolean; entered: boolean } {
  const holds = type !== 'DELETED' && !deselected
  return { holds, entered: holds }
}
