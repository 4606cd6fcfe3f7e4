import { setTimeout as pause } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { silentLog } from '../../src/log.ts'
import { createMetrics } from '../../src/metrics.ts'
import { createAcks } from '../../src/queue/acks.ts'
import { createByteBudget } from '../../src/queue/byte-budget.ts'
import { createCaller } from '../../src/queue/call-sink.ts'
import { createClockJumps } from '../../src/queue/clock-jumps.ts'
import { EmptyLanes } from '../../src/queue/empty-lanes.ts'
import type { LaneContext } from '../../src/queue/lane-context.ts'
import { parkedLane, slotsOf } from '../../src/queue/lane-names.ts'
import { readLane } from '../../src/queue/lane-reader.ts'
import { createOutages } from '../../src/queue/outages.ts'
import { OwnedLanes } from '../../src/queue/owned-lanes.ts'
import { ParkedLanes } from '../../src/queue/parked-chains.ts'
import { createSinkRegistry } from '../../src/queue/sink-registry.ts'
import { createTroubles } from '../../src/queue/troubles.ts'
import { createRender } from '../../src/render/message.ts'
import type { Sink } from '../../src/sink/index.ts'
import { orderOf } from '../../src/sink/lane.ts'
import { contentOfWords } from '../content-of-words.ts'
import { waitFor } from '../wait-for.ts'
import { DELIVERED, scriptedSink, startLaneBed } from './lane-bed.ts'
import { headerFor } from './objects.ts'

/** The lanes of a process that owns all slots of the sink `hook`; the register is read when a test says so. */

const TOKEN = 'worker:1'
const LANE = 'hook/n1'

async function startOwnedBed(hook: Sink) {
  const stack = new AsyncDisposableStack()
  const bed = stack.use(await startLaneBed())
  const { redis, keys } = bed
  await redis.hset(keys.slots, ...slotsOf('hook').flatMap((slot) => [slot, TOKEN]))
  const slots = { token: () => TOKEN, isDraining: () => false, held: () => slotsOf('hook') }
  const [log, clock, random, metrics] = [silentLog, Date, Math.random, createMetrics()]
  const shared = { redis, keys, log, clock, random, metrics, troubles: createTroubles(log) }
  const acks = createAcks({ ...shared, onOutOfMemory() {} })
  const caller = createCaller({ deliverTimeoutMs: 30_000, log })
  const jumps = createClockJumps(clock)
  const registry = createSinkRegistry({ ...shared, sinks: new Map([['hook', hook]]) })
  registry.use(['hook'], new Set())
  const parked: ParkedLanes = new ParkedLanes(() => context)
  const context: LaneContext = {
    ...{ ...shared, acks, caller, jumps, parked },
    outages: createOutages({ ...shared, jumps }),
    budget: createByteBudget(10_000_000, () => 1),
    render: createRender({ routeOf: () => ({}), contentOf: ({ words }) => contentOfWords(words) }),
    policy: { maxAgeMs: 86_400_000, maxTries: 5, minFailingMs: 0, firstPauseMs: 50, maxPauseMs: 500 },
    stateOf: (sink) => registry.get(sink),
    maxAgeMs: () => 86_400_000,
    mayStart: () => true,
    isFormer: () => false,
    waitsForFormer: () => false,
    pausedUntilMs: (lane) => owned.pausedUntilMs(lane),
    formerChains: () => new Set(),
    onFenced() {},
    onEmpty: (lane) => owned.remove(lane),
    onOpen() {},
    onPassed() {},
  }
  const empty = new EmptyLanes({ redis, keys, tokenOf: slots.token })
  const owned = new OwnedLanes({ context, slots, parked, empty, onGap() {} })
  stack.defer(async () => {
    await owned.drain()
    await acks.idle(1_000)
    acks.close()
    owned.drop()
    parked.close()
  })
  return { ...bed, owned, parked, [Symbol.asyncDispose]: () => stack.disposeAsync() }
}

test('a register that was read before a parked object returned to its lane does not park it again', async () => {
  const steps: string[] = []
  const release = Promise.withResolvers<void>()
  const sink = scriptedSink(async ({ event: { resourceVersion } }) => {
    steps.push(`${resourceVersion} begins`)
    if (resourceVersion === '2') await release.promise
    steps.push(`${resourceVersion} ends`)
    return DELIVERED
  })
  await using it = await startOwnedBed(sink)
  const parked = parkedLane(LANE, orderOf({ event: headerFor('odd', '1', 'MODIFIED', 'uid-odd') }))
  await it.put(parked, 'odd@1')
  it.owned.beginScan()(new Map([[parked, 1]]))
  expect(it.parked.count('hook')).toBe(1)
  // The first page of a large register names the parked lane, and the last one comes when nothing is left of it.
  const seen = it.owned.beginScan()
  await waitFor(() => it.parked.count('hook') === 0, { what: 'the object to return to its lane' })
  await it.put(LANE, 'odd@2')
  it.owned.wake([LANE])
  await waitFor(() => steps.includes('2 begins'), { what: 'a call that takes long' })
  await it.put(LANE, 'odd@3')
  seen(new Map([[parked, 1]]))
  it.owned.wake([LANE])
  await pause(1_000)
  release.resolve()
  await it.drained('hook')
  expect(steps).toEqual(['1', '2', '3'].flatMap((version) => [`${version} begins`, `${version} ends`]))
})

test('a register that names a parked lane of before it was read parks its object', async () => {
  const sink = scriptedSink(() => DELIVERED)
  await using it = await startOwnedBed(sink)
  const parked = parkedLane(LANE, orderOf({ event: headerFor('odd', '1', 'MODIFIED', 'uid-odd') }))
  for (const version of [1, 2]) {
    await it.put(parked, `odd@${version}`)
    it.owned.beginScan()(new Map([[parked, 1]]))
    await waitFor(() => sink.took.length === version, { what: 'the parked delivery' })
    await waitFor(() => it.parked.count('hook') === 0, { what: 'the object to return to its lane' })
  }
  expect(sink.took).toEqual(['odd@1', 'odd@2'])
})

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
  const given = it.owned.giverOf(LANE)?.(read, () => true, 'queue-full', 'too many')
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
