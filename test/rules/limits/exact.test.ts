import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Delivery } from '../../../src/model/delivery.ts'
import type { Limited, Limits } from '../../../src/model/limit.ts'
import { createLimits } from '../../../src/rules/limits/limits.ts'
import { MemoryLimits } from '../../../src/rules/limits/memory.ts'
import { balances, eventOf, type Happening, limitsIn, START_MS, type Written } from './bed.ts'
import { numRuns } from './seed.ts'

const HOUR_S = 3600

/** One decision after another by processes in turn, as the numbers say, which know nothing of what they decided before. */
function processes(rules: readonly Written[], turns: readonly number[]): Limits {
  const create = () => createLimits(rules.map((rule, index) => ({ name: `r${index}`, ...limitsIn(rule) })))
  const some = [create(), create(), create()]
  let turn = 0
  const next = () => (turns.length === 0 ? some[0] : some[(turns[turn++ % turns.length] ?? 0) % 3])!
  return {
    keysOf: (events) => next().keysOf(events),
    apply: (events, states, nowMs) => next().apply(events, states, nowMs),
    expire: (due, states, nowMs) => next().expire(due, states, nowMs),
  }
}

interface Told {
  id: string
  what: string
}

/** What is told of an event, and what of it does not depend on when it was decided. */
function toldOf({ event, sink, rule, notice, suppressed }: Delivery): Told {
  return { id: `${event.id} ${sink} ${rule}`, what: JSON.stringify({ notice, suppressed, time: event.time }) }
}

interface Step {
  happenings: readonly Happening[]
  /** When they are decided, in seconds. */
  at: number
}

/** Lets timers be decided on time, or only after each step. */
function run(
  memory: MemoryLimits,
  rules: readonly Written[],
  steps: readonly Step[],
  { late = false, untilS = 30 * HOUR_S } = {},
): Told[] {
  const deliveries: Delivery[] = []
  const pass = (nowMs: number) => {
    if (late) deliveries.push(...memory.expire(nowMs).deliveries)
    else for (const { outcome } of memory.advance(nowMs)) deliveries.push(...outcome.deliveries)
  }
  const check = () => {
    for (const counts of memory.counts().values()) expect(counts).toSatisfy(balances)
  }
  for (const [i, { happenings, at }] of steps.entries()) {
    const nowMs = START_MS + at * 1000
    if (!late) pass(nowMs)
    deliveries.push(...memory.apply(limitedIn(happenings, rules), nowMs).deliveries)
    check()
    // Timers have their turn only when all that happened until then is decided.
    const nextAt = steps[i + 1]?.happenings[0]?.at ?? untilS
    if (late && nextAt >= at) pass(nowMs)
    check()
  }
  for (const { outcome } of memory.advance(START_MS + untilS * 1000)) deliveries.push(...outcome.deliveries)
  check()
  for (const { waiting } of memory.counts().values()) expect(waiting).toBe(0)
  return deliveries.map(toldOf).toSorted((a, b) => (a.id < b.id ? -1 : 1))
}

/** Every rule has its say of every event. */
function limitedIn(happenings: readonly Happening[], rules: readonly Written[]): Limited[] {
  return happenings.map((it) => {
    const { holds = true, entered = holds, sinks = ['s', 't'] } = it
    return {
      event: eventOf(it),
      matches: rules.map((_, index) => ({ rule: `r${index}`, sinks: holds ? sinks : [], holds, entered })),
    }
  })
}

const seconds = (max: number, min = 1) => fc.integer({ min, max }).map((it): `${number}s` => `${it}s`)
const per = fc.constantFrom('rule', 'regarding', 'namespace')
const limits = {
  after: fc.record({ count: fc.integer({ min: 2, max: 4 }), within: seconds(100), per }),
  throttle: fc.record({ every: seconds(100), burst: fc.integer({ min: 1, max: 3 }), per }),
  group: fc.record({
    by: per,
    wait: seconds(60, 0),
    interval: seconds(200),
    max: fc.integer({ min: 2, max: 6 }),
  }),
  mute: fc.constantFrom({ from: '10:01', to: '10:02' }, { from: '10:03', to: '09:00' }),
  sample: fc.constantFrom(0.3, 0.7),
}
const quiet = fc.record({ after: seconds(100), per })
const eventRule: fc.Arbitrary<Written> = fc.record(
  { ...limits, count: fc.constant([1, 3, 5]), resolve: quiet },
  { requiredKeys: [] },
)
const stateRule: fc.Arbitrary<Written> = fc.oneof(
  fc.record({ ...limits, for: seconds(90), resolve: fc.boolean() }, { requiredKeys: ['for'] }),
  fc.record({ ...limits, resolve: fc.constant(true) }, { requiredKeys: ['resolve'] }),
)

const base = {
  at: fc.nat({ max: 300 }),
  name: fc.constantFrom('a', 'b', 'c'),
  namespace: fc.constantFrom('shop', 'pay'),
  sinks: fc.constantFrom(['s'], ['s', 't'], []),
}
function sequence(one: fc.Arbitrary<Happening>): fc.Arbitrary<Happening[]> {
  return fc
    .array(one, { maxLength: 40, size: 'max' })
    .map((some) => some.toSorted((a, b) => a.at - b.at).map((it, index) => ({ ...it, id: `e${index}` })))
}
const eventSequence = sequence(
  fc.record({
    ...base,
    reason: fc.constantFrom('BackOff', 'Failed'),
    count: fc.integer({ min: 1, max: 6 }),
    uid: fc.constantFrom('e', 'f'),
  }),
)
const stateSequence = sequence(
  fc
    .record({
      ...base,
      holds: fc.boolean(),
      enters: fc.boolean(),
      type: fc.constantFrom('MODIFIED', 'MODIFIED', 'DELETED'),
    })
    .map(({ enters, ...it }) => ({ ...it, entered: it.holds && enters }) as Happening),
)
const turns = fc.array(fc.nat({ max: 2 }), { maxLength: 20 })
const one = (happenings: readonly Happening[]): Step[] =>
  happenings.map((it) => ({ happenings: [it], at: it.at }))

/** Those of one second together. */
function bySecond(happenings: readonly Happening[]): Step[] {
  return [...Map.groupBy(happenings, ({ at }) => at)].map(([at, some]) => ({ happenings: some, at }))
}

const cases = [
  ['events', eventRule, eventSequence],
  ['the states of objects', stateRule, stateSequence],
] as const

test.each(cases)(
  'restarts, and processes in turn, tell the same of %s, and the ledger balances',
  (_, rule, some) => {
    void fc.assert(
      fc.property(fc.array(rule, { minLength: 1, maxLength: 3 }), some, turns, (rules, happenings, order) => {
        const alone = run(new MemoryLimits(processes(rules, [])), rules, one(happenings))
        const inTurn = run(new MemoryLimits(processes(rules, order)), rules, bySecond(happenings))
        expect(inTurn).toEqual(alone)
      }),
      numRuns(80),
    )
  },
)

/** Rules with one limit. */
const single: fc.Arbitrary<Written> = fc.oneof(
  ...(['after', 'throttle', 'group', 'mute'] as const).map((key) =>
    (limits[key] as fc.Arbitrary<unknown>).map((it) => ({ [key]: it }) as Written),
  ),
  quiet.map((resolve): Written => ({ resolve })),
)

test('what comes late and all at once, as after an outage of Redis, is told as it would have been', () => {
  void fc.assert(
    fc.property(
      single,
      eventSequence,
      fc.array(fc.integer({ min: 1, max: 15 })),
      (rule, happenings, sizes) => {
        const steps: Step[] = []
        for (let from = 0, n = 0; from < happenings.length; n++) {
          const some = happenings.slice(from, from + (sizes[n % sizes.length] ?? happenings.length))
          from += some.length
          steps.push({ happenings: some, at: (some.at(-1)?.at ?? 0) + (n % 3) })
        }
        const live = run(new MemoryLimits(processes([rule], [])), [rule], one(happenings))
        const late = run(new MemoryLimits(processes([rule], [])), [rule], steps, { late: true })
        expect(late).toEqual(live)
      },
    ),
    numRuns(100),
  )
})

test.each(cases)(
  'no state of %s is forgotten while it is of use, and none stays for ever',
  (_, rule, some) => {
    void fc.assert(
      fc.property(fc.array(rule, { minLength: 1, maxLength: 2 }), some, (rules, happenings) => {
        // Far apart: hours, not seconds.
        const apart = happenings.map((it) => ({ ...it, at: it.at * 977 }))
        const until = { untilS: 30 * 24 * HOUR_S }
        const memory = new MemoryLimits(processes(rules, []))
        const forgetful = run(memory, rules, one(apart), until)
        const never = run(new MemoryLimits(neverForgets(processes(rules, []))), rules, one(apart), until)
        expect(forgetful).toEqual(never)
        memory.expire(START_MS + 200 * 24 * HOUR_S * 1000)
        expect(memory.size).toBe(0)
      }),
      numRuns(100),
    )
  },
)

function neverForgets(inner: Limits): Limits {
  const kept = (outcome: ReturnType<Limits['apply']>) => {
    const forEver = (states: typeof outcome.writes.shared) =>
      new Map([...states].map(([key, state]) => [key, state && { ...state, expiresAfterMs: Infinity }]))
    const { shared, own } = outcome.writes
    return { ...outcome, writes: { shared: forEver(shared), own: forEver(own) } }
  }
  return {
    keysOf: inner.keysOf,
    apply: (...given) => kept(inner.apply(...given)),
    expire: (...given) => kept(inner.expire(...given)),
  }
}
