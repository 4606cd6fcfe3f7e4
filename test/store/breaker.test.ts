import { expect, test } from 'vitest'
import { CircuitBreaker } from '../../src/store/lanes/circuit-breaker.ts'
import { FailingNamespaces } from '../../src/store/lanes/failing-namespaces.ts'

/** Returns the probe that it admits; undefined if it admits none. */
function probeOf(breaker: CircuitBreaker, ofFailing = false) {
  const admission = breaker.admit(ofFailing)
  return admission.kind === 'probe' ? admission.probe : undefined
}

function clockAt(startMs: number) {
  let now = startMs
  return {
    now: () => now,
    pass(ms: number) {
      now += ms
    },
  }
}

/** One that three calls opened. */
function opened(clock = clockAt(10_000)) {
  const breaker = new CircuitBreaker(clock, () => 0.5)
  for (let i = 0; i < 3; i++) breaker.failed()
  return { breaker, clock }
}

test('three calls open it when nothing succeeded before, one or two do not', () => {
  const breaker = new CircuitBreaker(clockAt(10_000), () => 0.5)
  const isOpenAfter = () => {
    breaker.failed()
    return breaker.isOpen()
  }
  expect([isOpenAfter(), isOpenAfter(), isOpenAfter()]).toEqual([false, false, true])
  expect(breaker.admit().kind).toBe('wait')
})

test('a sink of which every other call fails stays closed', () => {
  const clock = clockAt(10_000)
  const breaker = new CircuitBreaker(clock, () => 0.5)
  for (let i = 0; i < 200; i++) {
    clock.pass(10)
    if (i % 2 === 0) breaker.succeeded(clock.now())
    else breaker.failed()
    expect(breaker.isOpen()).toBe(false)
  }
})

test('nineteen of twenty failures open it, however recent the success', () => {
  const clock = clockAt(10_000)
  const breaker = new CircuitBreaker(clock, () => 0.5)
  breaker.succeeded(clock.now())
  for (let i = 0; i < 18; i++) breaker.failed()
  expect(breaker.isOpen()).toBe(false)
  breaker.failed()
  expect(breaker.isOpen()).toBe(true)
})

test('an answer to what was begun before it opened does not close it, one of a probe does', () => {
  const { breaker, clock } = opened()
  const begunMs = clock.now() - 1
  breaker.succeeded(begunMs)
  expect(breaker.isOpen()).toBe(true)
  expect(breaker.admit().kind).toBe('wait')
  clock.pass(breaker.waitMs())
  expect(breaker.admit().kind).toBe('probe')
  breaker.succeeded(clock.now())
  expect(breaker.isOpen()).toBe(false)
  expect(breaker.admit().kind).toBe('go')
})

test('a few probes are under way at once; one that said nothing makes room for the next', () => {
  const { breaker, clock } = opened()
  clock.pass(breaker.waitMs())
  const [first, ...others] = Array.from({ length: 4 }, () => probeOf(breaker))
  expect([first, ...others].map((it) => it !== undefined)).toEqual([true, true, true, false])
  breaker.ended(first)
  breaker.ended(first)
  expect([breaker.admit().kind, breaker.admit().kind]).toEqual(['probe', 'wait'])
})

test('calls from before it opened, and probes from before a success, make no room for a probe', () => {
  const { breaker, clock } = opened()
  clock.pass(breaker.waitMs())
  const before = [probeOf(breaker), probeOf(breaker), probeOf(breaker)]
  clock.pass(60_000)
  for (let i = 0; i < 10; i++) breaker.failed()
  clock.pass(60_000)
  expect(breaker.admit().kind).toBe('wait')
  breaker.succeeded(clock.now())
  for (let i = 0; i < 20; i++) breaker.failed()
  clock.pass(60_000)
  for (let i = 0; i < 3; i++) expect(breaker.admit().kind).toBe('probe')
  for (const probe of before) breaker.ended(probe)
  expect(breaker.admit().kind).toBe('wait')
})

test('lanes look again when the first of failing namespaces and others may be called', () => {
  const { breaker, clock } = opened()
  expect(breaker.nextMs()).toBe(breaker.waitMs())
  clock.pass(breaker.waitMs())
  expect(breaker.nextMs()).toBe(breaker.waitMs(true))
  breaker.pause(20_000)
  breaker.pause(900_000, true)
  expect(breaker.nextMs()).toBe(20_000)
})

test('failures that were under way make the pause no longer; one of a probe does', () => {
  const { breaker, clock } = opened()
  const firstMs = breaker.waitMs()
  for (let i = 0; i < 5; i++) breaker.failed()
  expect(breaker.waitMs()).toBe(firstMs)
  clock.pass(firstMs)
  breaker.ended(probeOf(breaker))
  breaker.failed()
  expect(breaker.waitMs()).toBe(2 * firstMs)
})

test('a sink may ask for a pause of an hour and no longer', () => {
  const { breaker } = opened()
  breaker.pause(86_400_000)
  expect(breaker.waitMs()).toBe(3_600_000)
})

test('a pause ends with a success, and is not there when failing namespaces open it again', () => {
  const { breaker, clock } = opened()
  clock.pass(breaker.waitMs())
  breaker.pause(600_000)
  clock.pass(1)
  breaker.succeeded(clock.now())
  expect(breaker.isOpen()).toBe(false)
  for (let i = 0; i < 20; i++) breaker.failed(true)
  expect(breaker.isOpen()).toBe(true)
  expect([breaker.waitMs(), breaker.waitMs(true) > 0]).toEqual([0, true])
})

test('a shorter pause does not shorten a longer one', () => {
  const { breaker } = opened()
  breaker.pause(600_000)
  breaker.pause(1_000)
  expect(breaker.waitMs()).toBe(600_000)
})

test('deliveries of failing namespaces alone leave a probe for others, and come after them', () => {
  const { breaker, clock } = opened()
  clock.pass(breaker.waitMs())
  expect(breaker.admit(true).kind).toBe('wait')
  clock.pass(breaker.waitMs(true))
  const kinds = () => [breaker.admit(true), breaker.admit(true), breaker.admit(true)].map(({ kind }) => kind)
  expect(kinds()).toEqual(['probe', 'probe', 'wait'])
  expect(breaker.admit().kind).toBe('probe')
  expect(breaker.admit().kind).toBe('wait')
})

test('failures of namespaces that failed before do not lengthen the pauses of others', () => {
  const { breaker, clock } = opened()
  for (let i = 0; i < 10; i++) {
    clock.pass(breaker.waitMs(true))
    const probe = probeOf(breaker, true)
    expect(probe).toBeDefined()
    breaker.ended(probe)
    breaker.failed(true)
  }
  expect(breaker.waitMs(true)).toBeGreaterThan(5_000)
  breaker.ended(probeOf(breaker))
  breaker.failed()
  expect(breaker.admit().kind).toBe('wait')
  clock.pass(breaker.waitMs())
  expect(breaker.admit().kind).toBe('probe')
  breaker.succeeded(clock.now())
  expect(breaker.admit(true).kind).toBe('go')
})

test('a pause that the sink asked for is for all, and one for failing namespaces for these', () => {
  const { breaker, clock } = opened()
  clock.pass(breaker.waitMs())
  breaker.pause(20_000)
  clock.pass(19_999)
  expect([breaker.admit().kind, breaker.admit(true).kind]).toEqual(['wait', 'wait'])
  clock.pass(1)
  breaker.pause(900_000, true)
  expect(breaker.admit().kind).toBe('probe')
  clock.pass(899_000)
  expect(breaker.admit(true).kind).toBe('wait')
})

test('a receiver that refuses everybody is not called without a pause', () => {
  const clock = clockAt(10_000)
  // The pauses of failing namespaces and of others are of different lengths.
  let random = 1
  const breaker = new CircuitBreaker(clock, () => (random = 1 - random))
  for (let i = 0; i < 3; i++) breaker.failed()
  let calls = 0
  for (let ms = 0; ms < 60_000; ms += 10) {
    clock.pass(10)
    const probes = [true, false, true, false].map((ofFailing) => probeOf(breaker, ofFailing))
    for (const probe of probes.filter((it) => it !== undefined)) {
      calls++
      breaker.ended(probe)
      breaker.failed()
    }
  }
  expect(calls).toBeGreaterThan(3)
  expect(calls).toBeLessThan(60)
})

test('a namespace that failed is soon tried again, later after each further failure, and not after it passed', () => {
  const clock = clockAt(0)
  const failing = new FailingNamespaces(clock)
  const untilMs = () => {
    const sinceMs = clock.now()
    for (let i = 0; i < 20; i++) failing.failed('shop')
    while (failing.has('shop') && clock.now() - sinceMs < 100_000) clock.pass(100)
    return clock.now() - sinceMs
  }
  expect(Array.from({ length: 9 }, untilMs)).toEqual([
    500, 1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000,
  ])
  expect(failing.failures('shop')).toBe(9)
  failing.failed('shop')
  failing.passed('shop')
  expect([failing.has('shop'), failing.failures('shop')]).toEqual([false, 0])
})

test('a namespace that the sink asked to wait still counts as failing when it is tried again', () => {
  const clock = clockAt(0)
  const failing = new FailingNamespaces(clock)
  for (let i = 0; i < 10; i++) {
    failing.failed('shop', 120_000)
    failing.failed('shop')
    clock.pass(120_000)
    expect(failing.has('shop')).toBe(true)
  }
  clock.pass(15_000)
  expect(failing.has('shop')).toBe(false)
})

test('of namespaces that fail, those that failed first are forgotten', () => {
  const failing = new FailingNamespaces()
  for (let i = 0; i < 5_000; i++) failing.failed(`n${i}`)
  expect([failing.has('n0'), failing.has('n4999')]).toEqual([false, true])
})
