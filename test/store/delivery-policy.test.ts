import { expect, test } from 'vitest'
import type { Outcome } from '../../src/sink/index.ts'
import {
  classifyOutcomes,
  failsAlone,
  giveUp,
  isExpired,
  LaneOutcomes,
  quarantinePauseMs,
  type Retry,
} from '../../src/store/lanes/delivery-policy.ts'
import { FailingNamespaces } from '../../src/store/lanes/failing-namespaces.ts'
import type { Item } from '../../src/store/lanes/lane-entries.ts'
import { LaneWindow } from '../../src/store/lanes/lane-window.ts'
import type { LaneServices } from '../../src/store/lanes/owned-lanes.ts'
import type { SinkState } from '../../src/store/lanes/sink-state.ts'
import { DELIVERED, DOWN, ODD } from './lane-bed.ts'

const down = DOWN as Retry
const ofItsOwn = ODD as Retry
const policy = {
  maxAgeMs: 86_400_000,
  maxTries: 5,
  minFailingMs: 300_000,
  firstPauseMs: 1_000,
  maxPauseMs: 300_000,
}
const item = (chain: string) => ({ chain, observedAtMs: 0 })

test('of a chain only its first failure counts: what is behind it was not sent', () => {
  const [a, b, c] = [item('x'), item('x'), item('y')]
  const verdict = classifyOutcomes([a, b, c], [ODD, ODD, DELIVERED])
  expect(verdict).toMatchObject({ delivered: [c], retries: [{ item: a }], answered: true })
  expect(verdict.retries).toHaveLength(1)
})

test('what is rejected before the receiver is asked does not show that it is up', () => {
  for (const reason of ['config', 'render'] as const)
    expect(classifyOutcomes([item('x')], [{ kind: 'rejected', reason, detail: '' }]).answered).toBe(false)
  const outcome = { kind: 'rejected', reason: 'rejected', detail: 'HTTP 400' } as const
  expect(classifyOutcomes([item('x')], [outcome]).answered).toBe(true)
})

test('an object fails alone when others succeeded since it failed before, whatever the sink says of its reach', () => {
  const facts = { calledMs: 900, failedBeforeMs: 500 }
  expect(failsAlone(down, { ...facts, passedMs: 600 })).toBe(true)
  expect(failsAlone(down, { ...facts, passedMs: 400 })).toBe(false)
  expect(failsAlone({ ...down, reason: 'rate-limited' }, { ...facts, passedMs: 600 })).toBe(false)
  expect(failsAlone({ ...down, scope: 'target' }, { ...facts, passedMs: 600 })).toBe(false)
})

test('the first failure is the object\u2019s own only where the sink says so and others succeeded during the call', () => {
  const facts = { calledMs: 58_000, failedBeforeMs: undefined }
  expect(failsAlone(ofItsOwn, { ...facts, passedMs: 59_000 })).toBe(true)
  expect(failsAlone(ofItsOwn, { ...facts, passedMs: 57_000 })).toBe(false)
  expect(failsAlone(down, { ...facts, passedMs: 59_000 })).toBe(false)
})

test.each<[string, Outcome, boolean]>([
  ['a digest', { kind: 'delivered', note: 'digest' }, false],
  ['a target that fails', { ...down, scope: 'target' }, false],
  ['a message', DELIVERED, true],
  ['an event that fails', ofItsOwn, true],
])('of a slow call with %s, its objects are called alone: %o', (_, outcome, isSlow) => {
  const window = new LaneWindow()
  const items = ['x', 'y'].map((chain) => ({ chain }) as Item)
  const call = { items, startedMs: performance.now() - 60_000, probe: undefined, noted: false }
  const state = { adaptBatchSize() {} } as unknown as SinkState
  new LaneOutcomes({} as LaneServices, 'chat/a', window).took(state, call, [outcome, outcome])
  expect(['x', 'y'].map((chain) => window.isSlow(chain))).toEqual([isSlow, isSlow])
})

test.each([
  ['for the sink, which the breaker waits for', 'sink', true],
  ['for one event, which it does not wait for', 'event', false],
] as const)(
  'a namespace that was asked to wait %s: still failing when a minute is over: %s',
  (_, scope, isFailing) => {
    let nowMs = 0
    const failingNamespaces = new FailingNamespaces({ now: () => nowMs })
    const breaker = { failed() {}, pause() {}, isOpen: () => true }
    const state = { failingNamespaces, breaker, passedMs: 0, retried() {}, failed() {}, awaitBreaker() {} }
    const item = { chain: 'x', tries: 0, delivery: { event: { namespace: 'shop' } } } as Item
    const call = { items: [item], startedMs: performance.now(), probe: undefined, noted: false }
    const services = { random: () => 0.5, outages: { failed: () => undefined } } as unknown as LaneServices
    const verdict = classifyOutcomes([item], [{ ...ofItsOwn, scope, afterMs: 1_800_000 }])
    const outcomes = new LaneOutcomes(services, 'chat/a', new LaneWindow())
    outcomes.retries(state as unknown as SinkState, call, verdict)
    expect(failingNamespaces.has('shop')).toBe(true)
    nowMs = 61_000
    expect(failingNamespaces.has('shop')).toBe(isFailing)
  },
)

test('a delivery is given up after enough tries and enough time, not after one of them', () => {
  const facts = { sinceMs: 0, tries: 5, nowMs: 300_000 }
  expect(giveUp(ofItsOwn, facts, policy)).toMatchObject({
    reason: 'server-error',
    detail: expect.stringContaining('failed 5 times'),
  })
  expect(giveUp(ofItsOwn, { ...facts, tries: 4 }, policy)).toBeUndefined()
  expect(giveUp(ofItsOwn, { ...facts, nowMs: 299_999 }, policy)).toBeUndefined()
  expect(giveUp(ofItsOwn, { ...facts, tries: 0, nowMs: 86_400_001 }, policy)).toMatchObject({
    reason: 'expired',
  })
})

test('what came in the middle of an outage is given its own time', () => {
  const outage = { failingForMs: 100_000_000, beforeMs: 100_000_000 - policy.maxAgeMs }
  expect(isExpired({ observedAtMs: 0 }, policy, outage)).toBe(true)
  expect(isExpired({ observedAtMs: 50_000_000 }, policy, outage)).toBe(false)
  expect(isExpired({ observedAtMs: 0 }, policy, { ...outage, failingForMs: 86_400_000 })).toBe(false)
})

test('pauses of a quarantined object double up to five minutes, and are no shorter than the sink asks', () => {
  const pause = (failures: number, afterMs?: number) =>
    quarantinePauseMs(policy, failures, afterMs, () => 0.5)
  expect([1, 2, 3, 20].map((n) => pause(n))).toEqual([1_000, 2_000, 4_000, 300_000])
  expect(pause(1, 60_000)).toBe(60_000)
})
