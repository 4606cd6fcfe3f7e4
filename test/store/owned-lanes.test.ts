import { setTimeout as pause } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { silentLog } from '../../src/observe/log.ts'
import { createMetrics } from '../../src/observe/metrics.ts'
import { createRender } from '../../src/render/message.ts'
import type { Sink } from '../../src/sink/index.ts'
import { orderOf } from '../../src/sink/order.ts'
import { quarantineLane, slotsOf } from '../../src/store/keys.ts'
import { createAcks } from '../../src/store/lanes/acks.ts'
import { createByteBudget } from '../../src/store/lanes/byte-budget.ts'
import { createCaller } from '../../src/store/lanes/calls.ts'
import { createClockJumps } from '../../src/store/lanes/clock-jumps.ts'
import { createDeliveringSince } from '../../src/store/lanes/delivering-since.ts'
import { createOutages } from '../../src/store/lanes/outages.ts'
import { OwnedLanes } from '../../src/store/lanes/owned-lanes.ts'
import { readLane } from '../../src/store/lanes/read-lane.ts'
import { EmptyLanes } from '../../src/store/lanes/register.ts'
import { SinkRegistry } from '../../src/store/lanes/sink-registry.ts'
import { createTroubles } from '../../src/store/redis/redis-fault.ts'
import { contentOfSummary } from '../render/content-of-summary.ts'
import { waitFor } from '../wait-for.ts'
import { DELIVERED, numbered, scriptedSink, startLaneBed } from './lane-bed.ts'
import { headerFor } from './objects.ts'

/** The lanes of a process that owns all slots of the sink `hook`; the register is read when a test says so. */

const TOKEN = 'worker:1'
const LANE = 'hook/n1'

async function startOwnedBed(hook: Sink) {
  const stack = new AsyncDisposableStack()
  const bed = stack.use(await startLaneBed())
  const { redis, keys } = bed
  await redis.hset(keys.slots, ...slotsOf('hook').flatMap((slot) => [slot, TOKEN]))
  const slots = {
    token: () => TOKEN,
    isDraining: () => false,
    held: () => slotsOf('hook'),
    hasLease: () => true,
    lost() {},
  }
  const [log, clock, random, metrics] = [silentLog, Date, Math.random, createMetrics()]
  const shared = { redis, keys, log, clock, random, metrics, troubles: createTroubles(log) }
  const acks = createAcks({ ...shared, onOutOfMemory() {} })
  const caller = createCaller({ deliverTimeoutMs: 30_000, log })
  const jumps = createClockJumps(clock)
  const render = createRender({ routeOf: () => ({}), contentOf: ({ summary }) => contentOfSummary(summary) })
  const onAvailable = () => {}
  const sinks = new SinkRegistry({ ...shared, sinks: new Map([['hook', hook]]), caller, render, onAvailable })
  sinks.use(['hook'], new Set())
  const empty = new EmptyLanes({ redis, keys, tokenOf: slots.token })
  const services = {
    ...{ ...shared, acks, jumps, sinks },
    outages: createOutages({ ...shared, jumps }),
    deliveringSince: createDeliveringSince({ ...shared, jumps }),
    budget: createByteBudget(10_000_000, () => 1),
    policy: { maxAgeMs: 86_400_000, maxTries: 5, minFailingMs: 0, firstPauseMs: 50, maxPauseMs: 500 },
    maxAgeMs: () => 86_400_000,
    recordOf: () => [],
  }
  const owned = new OwnedLanes(services, slots, empty, () => {})
  const { quarantine } = owned
  stack.defer(async () => {
    await owned.drain()
    await acks.idle(1_000)
    acks.close()
    owned.drop()
    quarantine.close()
  })
  return { ...bed, owned, quarantine, sinks, empty, [Symbol.asyncDispose]: () => stack.disposeAsync() }
}

test('a register that was read before a quarantined object returned to its lane does not quarantine it again', async () => {
  const steps: string[] = []
  const release = Promise.withResolvers<void>()
  const sink = scriptedSink(async ({ event: { resourceVersion } }) => {
    steps.push(`${resourceVersion} begins`)
    if (resourceVersion === '2') await release.promise
    steps.push(`${resourceVersion} ends`)
    return DELIVERED
  })
  await using it = await startOwnedBed(sink)
  const quarantined = quarantineLane(LANE, orderOf({ event: headerFor('odd', '1', 'MODIFIED', 'uid-odd') }))
  await it.put(quarantined, 'odd@1')
  it.owned.beginScan()(new Map([[quarantined, 1]]))
  expect(it.quarantine.count('hook')).toBe(1)
  // The first page of a large register names the quarantine lane, and the last one comes when nothing is left of it.
  const seen = it.owned.beginScan()
  await waitFor(() => it.quarantine.count('hook') === 0, { what: 'the object to return to its lane' })
  await it.put(LANE, 'odd@2')
  it.owned.wake([LANE])
  await waitFor(() => steps.includes('2 begins'), { what: 'a call that takes long' })
  await it.put(LANE, 'odd@3')
  seen(new Map([[quarantined, 1]]))
  it.owned.wake([LANE])
  await pause(1_000)
  release.resolve()
  await it.drained('hook')
  expect(steps).toEqual(['1', '2', '3'].flatMap((version) => [`${version} begins`, `${version} ends`]))
})

test('a register that names a quarantine lane of before it was read quarantines its object', async () => {
  const sink = scriptedSink(() => DELIVERED)
  await using it = await startOwnedBed(sink)
  const quarantined = quarantineLane(LANE, orderOf({ event: headerFor('odd', '1', 'MODIFIED', 'uid-odd') }))
  for (const version of [1, 2]) {
    await it.put(quarantined, `odd@${version}`)
    it.owned.beginScan()(new Map([[quarantined, 1]]))
    await waitFor(() => sink.took.length === version, { what: 'the quarantined delivery' })
    await waitFor(() => it.quarantine.count('hook') === 0, { what: 'the object to return to its lane' })
  }
  expect(sink.took).toEqual(['odd@1', 'odd@2'])
})

test.each(['sink', 'target'] as const)(
  "a failing %s is another process's to report once that has the lanes",
  async (scope) => {
    const hook = scriptedSink(() => ({ kind: 'retry', scope, reason: 'server-error', detail: 'no' }))
    await using it = await startOwnedBed(hook)
    const lanes = slotsOf('hook').slice(0, 2)
    for (const lane of lanes) await it.put(lane, 'web@1')
    it.owned.wake(lanes)
    it.owned.beginScan()(new Map(lanes.map((lane) => [lane, 1])))
    const failing = () => {
      const { healthy, failingTargets } = it.sinks.get('hook')?.status(0) ?? {}
      return scope === 'sink' ? Number(!healthy) : failingTargets
    }
    const all = scope === 'sink' ? 1 : 2
    await waitFor(() => failing() === all, { what: 'the failures' })
    it.owned.drop(lanes.slice(0, 1))
    expect(failing()).toBe(1)
    it.owned.drop(lanes.slice(1))
    expect(failing()).toBe(0)
  },
)

test('a lane that becomes empty while its oldest deliveries are read stays one lane', async () => {
  const steps: string[] = []
  const gates = new Map(['1', '2', '3'].map((version) => [version, Promise.withResolvers<void>()]))
  const sink = scriptedSink(async ({ event: { resourceVersion } }) => {
    steps.push(`${resourceVersion} begins`)
    await gates.get(resourceVersion)?.promise
    steps.push(`${resourceVersion} ends`)
    return DELIVERED
  })
  await using it = await startOwnedBed(sink)
  await it.put(LANE, 'odd@1')
  it.owned.beginScan()(new Map([[LANE, 1]]))
  await waitFor(() => steps.includes('1 begins'), { what: 'the first call' })
  const slow = Promise.withResolvers<void>()
  const read = async () => {
    await slow.promise
    return (await readLane(it.redis, it.keys, LANE, '-', 32)).entries
  }
  const given = it.owned.giveUpOf(LANE)?.(read, () => true, 'queue-full', 'too many')
  gates.get('1')?.resolve()
  await waitFor(async () => (await it.redis.xlen(it.keys.lane(LANE))) === 0, { what: 'an empty lane' })
  await pause(100)
  await it.put(LANE, 'odd@2')
  it.owned.wake([LANE])
  await waitFor(() => steps.includes('2 begins'), { what: 'the second call' })
  slow.resolve()
  expect(await given).toEqual([])
  await it.put(LANE, 'odd@3')
  it.owned.wake([LANE])
  await pause(500)
  for (const gate of gates.values()) gate.resolve()
  await it.drained('hook')
  expect(steps).toEqual(['1', '2', '3'].flatMap((version) => [`${version} begins`, `${version} ends`]))
})

test('a lane becomes empty, too, when Redis lost an entry of which a part was delivered', async () => {
  const sink: Sink = {
    async deliver(batch) {
      await it.redis.multi().del(it.keys.lane(LANE)).hset(it.keys.pending, LANE, 0).exec()
      return batch.map((_, i) => (i === 0 ? DELIVERED : { kind: 'later', afterMs: 1_000 }))
    },
    async close() {},
  }
  await using it = await startOwnedBed(sink)
  await it.put(LANE, ...numbered('a', 3))
  it.owned.beginScan()(new Map([[LANE, 3]]))
  const isFreed = async () => {
    await it.empty.free({ all: true })
    return (await it.redis.hexists(it.keys.pending, LANE)) === 0
  }
  await waitFor(isFreed, { timeoutMs: 5_000, what: 'the lane to be freed' })
})
