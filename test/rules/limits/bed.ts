import * as z from 'zod'
import type { Delivery } from '../../../src/model/delivery.ts'
import type { ChangeType, ClusterEvent, Resource } from '../../../src/model/event.ts'
import type { Limited, LimitName, RuleCounts, Suppression } from '../../../src/model/limit.ts'
import { createLimits, joinLimits, limitPlan } from '../../../src/rules/limits/limits.ts'
import { MemoryLimits } from '../../../src/rules/limits/memory.ts'
import type { RulePlan } from '../../../src/rules/limits/rule-plan.ts'
import { LimitKeysShape, type RuleLimits } from '../../../src/rules/limits/schema.ts'
import type { When } from '../../../src/rules/when.ts'
import { clusterEvent, EVENT, POD } from '../events.ts'

/** 10:00 UTC of a Saturday. */
export const START_MS = Date.parse('2026-11-21T10:00:00.000Z')
const Keys = z.strictObject(LimitKeysShape)

/** The keys of a rule as they stand in the file. */
export type Written = z.input<typeof Keys>

export function limitsIn(written: Written): RuleLimits {
  return Keys.parse(written)
}

export interface Happening {
  /** Seconds after the start. */
  at: number
  /** Of the object; for Events what it is about, too. */
  name?: string
  namespace?: string
  type?: ChangeType
  /** Default: pods. */
  resource?: Resource
  /** Makes it an Event. */
  reason?: string
  count?: number
  uid?: string
  id?: string
  sinks?: readonly string[]
  holds?: boolean
  entered?: boolean
  rule?: string
  synthesized?: boolean
  isCatchUp?: boolean
  labels?: Record<string, string>
  object?: object
}

let ids = 0

export function eventOf(it: Happening): ClusterEvent {
  const { at, name = 'web', namespace = 'shop', type = 'MODIFIED', reason, uid = `u-${name}` } = it
  const isEvent = reason !== undefined
  const base = clusterEvent({
    resource: isEvent ? EVENT : (it.resource ?? POD),
    type,
    namespace,
    name,
    labels: it.labels ?? {},
    ...(isEvent && {
      event: {
        type: 'Warning',
        reason,
        message: 'Back-off',
        count: it.count ?? 1,
        regarding: { kind: 'Pod', namespace, name },
      },
    }),
  })
  const object = it.object ?? { metadata: { name }, at }
  const whole: unknown = Object.defineProperties(
    {},
    {
      ...Object.getOwnPropertyDescriptors(base),
      id: { value: it.id ?? `c/${uid}/${++ids}/${type}`, enumerable: true },
      uid: { value: uid, enumerable: true },
      time: { value: new Date(START_MS + at * 1000).toISOString(), enumerable: true },
      synthesized: { value: it.synthesized ?? false, enumerable: true },
      isCatchUp: { value: it.isCatchUp ?? false, enumerable: true },
      object: { value: object, enumerable: true },
      objectJson: { value: Buffer.from(JSON.stringify(object)), enumerable: true },
    },
  )
  return whole as ClusterEvent
}

export function limitedOf(it: Happening): Limited {
  const { holds = true, entered = holds, sinks = holds ? ['s'] : [], rule = 'r' } = it
  return { event: eventOf(it), matches: [{ rule, sinks, holds, entered }] }
}

export interface Bed {
  memory: MemoryLimits
  /** Lets time pass up to each, then lets it happen. Gives what was told so far, in short. */
  run(...happenings: Happening[]): string[]
  /** Lets time pass. */
  until(at: number): string[]
  deliveries: Delivery[]
  /** Without the event. */
  suppressed: Omit<Suppression, 'event'>[]
  counts(rule?: string): Partial<Record<LimitName, number>> & Partial<RuleCounts>
}

/** A rule `r` at work. */
export function openBed(written: Written, more: Written & { name?: string } = {}): Bed {
  const { name = 'other', ...other } = more
  const memory = new MemoryLimits(
    createLimits([
      { name: 'r', ...limitsIn(written) },
      { name, ...limitsIn(other) },
    ]),
  )
  const deliveries: Delivery[] = []
  const suppressed: Bed['suppressed'] = []
  const told: string[] = []
  const note = (atMs: number, some: readonly Delivery[]) => {
    deliveries.push(...some)
    for (const delivery of some) told.push(`${(atMs - START_MS) / 1000} ${inShort(delivery)}`)
  }
  const pass = (at: number) => {
    for (const { atMs, outcome } of memory.advance(START_MS + at * 1000)) note(atMs, outcome.deliveries)
  }
  return {
    memory,
    deliveries,
    suppressed,
    run(...happenings) {
      for (const happening of happenings) {
        pass(happening.at)
        const nowMs = START_MS + happening.at * 1000
        const outcome = memory.apply([limitedOf(happening)], nowMs)
        suppressed.push(...outcome.suppressed.map(({ event: _, ...it }) => it))
        note(nowMs, outcome.deliveries)
      }
      return told
    },
    until(at) {
      pass(at)
      return told
    },
    counts: (rule = 'r') => countsOf(memory, rule),
  }
}

/** Without those that are 0. */
function countsOf(memory: MemoryLimits, rule: string): ReturnType<Bed['counts']> {
  const { suppressed = {}, ...counts } = memory.counts().get(rule) ?? {}
  const all = { ...counts, ...suppressed }
  return Object.fromEntries(Object.entries(all).filter(([, count]) => count !== 0))
}

type Reloaded = Written & { to?: readonly string[]; when?: When }

/** Configurations one after the other, over the same states. */
export function openReloads(first: Record<string, Reloaded>) {
  let plans = new Map<string, RulePlan | undefined>()
  const limitsOf = (rules: Record<string, Reloaded>) => {
    const limited = Object.entries(rules).map(([name, { to, when, ...rule }]) => ({
      name,
      to,
      when,
      ...limitsIn(rule),
    }))
    plans = new Map(limited.map((rule) => [rule.name, limitPlan(rule, plans.get(rule.name))]))
    return joinLimits([...plans.values()])
  }
  let current = limitsOf(first)
  const memory = new MemoryLimits({
    keysOf: (events) => current.keysOf(events),
    apply: (...given) => current.apply(...given),
    expire: (...given) => current.expire(...given),
  })
  return {
    memory,
    reload(rules: Record<string, Reloaded>) {
      current = limitsOf(rules)
    },
    apply: (it: Happening) => memory.apply([limitedOf(it)], START_MS + it.at * 1000).deliveries.map(inShort),
    until: (at: number) =>
      memory
        .advance(START_MS + at * 1000)
        .flatMap(({ atMs, outcome }) =>
          outcome.deliveries.map((it) => `${(atMs - START_MS) / 1000} ${inShort(it)}`),
        ),
    counts: (rule = 'r') => countsOf(memory, rule),
  }
}

/** `web`, `web +2`, `digest of 3`, `web resolved`. */
export function inShort({ sink, event, notice, suppressed }: Delivery): string {
  const to = sink === 's' ? '' : `${sink}: `
  const what =
    notice?.kind === 'digest'
      ? `digest of ${notice.count}`
      : event.name + (notice?.kind === 'resolved' ? ` ${notice.why}` : '')
  return to + what + (suppressed ? ` +${suppressed.count}` : '')
}

/** The law of the ledger. */
export function balances({ matched, sent, digested, waiting, suppressed }: RuleCounts): boolean {
  const held = Object.values(suppressed).reduce((sum, count) => sum + count, 0)
  return matched === sent + digested + waiting + held && waiting >= 0
}
