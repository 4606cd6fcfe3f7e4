import { randomBytes } from 'node:crypto'
import { expect, test } from 'vitest'
import type { Delivery } from '../../src/model/delivery.ts'
import { type Logger, silentLog } from '../../src/observe/log.ts'
import type { Message, Sink } from '../../src/sink/index.ts'
import { orderOf } from '../../src/sink/order.ts'
import { measureStreams } from '../../src/store/bounds/lane-sizes.ts'
import { encodeEntries } from '../../src/store/entry.ts'
import { quarantineLane } from '../../src/store/keys.ts'
import { listDeadLetters } from '../../src/store/lanes/dead-letters.ts'
import type { Lanes } from '../../src/store/lanes/lanes.ts'
import { waitFor } from '../wait-for.ts'
import { DELIVERED, DOWN, scriptedSink, startLaneBed } from './lane-bed.ts'
import { headerFor } from './objects.ts'

/** What waits for a sink stays within the sink's own bounds of age and bytes, whatever the sink does. */

type Bed = Awaited<ReturnType<typeof startLaneBed>>

const BYTES = 2_000
const MAX_BYTES = 200_000

test('what a process enqueues before it has read the register counts toward the bound', async () => {
  await using it = await startLaneBed()
  const lanes = it.work(
    { hook: scriptedSink(() => DELIVERED) },
    { bounds: { hook: { maxBytes: MAX_BYTES } } },
  )
  const delivery = {
    sink: 'hook',
    rule: 'all',
    event: headerFor('a', '1', 'MODIFIED', 'uid-a'),
    objectJson: Buffer.alloc(BYTES),
  }
  const stored = { total: 1, entries: [{ id: '1-0', deliveries: [delivery] }] }
  lanes.enqueued([{ lane: 'hook/n0', sink: 'hook', count: 1, stored }])
  expect(lanes.statuses()).toMatchObject([{ queue: { bytes: 0, maxBytes: MAX_BYTES } }])
})

/** One entry for each delivery, of `BYTES` that cannot be packed; the first was observed `agoMs` ago, the others 1 ms later each. */
async function fill(it: Bed, lane: string, names: readonly string[], agoMs = 60_000): Promise<void> {
  const sink = lane.split('/')[0] as string
  const pipeline = it.redis.pipeline()
  for (const [i, text] of names.entries()) {
    const [name = '', version = '1'] = text.split('@')
    const time = new Date(Date.now() - agoMs + i).toISOString()
    const event = { ...headerFor(name, version, 'MODIFIED', `uid-${name}`), time }
    const objectJson = Buffer.from(JSON.stringify({ data: randomBytes(BYTES / 2).toString('latin1') }))
    const delivery: Delivery = { sink, rule: 'all', event, objectJson }
    for (const { count, observedAtMs, payload } of encodeEntries([delivery]))
      pipeline.xadd(it.keys.lane(lane), '*', 'n', count, 't', observedAtMs, 'z', payload)
  }
  pipeline.hincrby(it.keys.pending, lane, names.length)
  pipeline.hincrby(it.keys.sinkLedger(sink), 'enqueued', names.length)
  await pipeline.exec()
}

const versions = (name: string, count: number, from = 1) =>
  Array.from({ length: count }, (_, i) => `${name}@${from + i}`)

async function bytesOfSink(it: Bed, sink: string): Promise<number> {
  const lanes = Object.keys(await it.redis.hgetall(it.keys.pending)).filter((lane) =>
    lane.startsWith(`${sink}/`),
  )
  const used = await Promise.all(
    lanes.map((lane) => it.redis.memory('USAGE', it.keys.lane(lane), 'SAMPLES', 0)),
  )
  return used.reduce<number>((sum, bytes) => sum + Number(bytes ?? 0), 0)
}

const within = (it: Bed, sink: string, maxBytes = MAX_BYTES) =>
  waitFor(async () => (await bytesOfSink(it, sink)) < maxBytes * 1.3, {
    timeoutMs: 20_000,
    what: `${sink} to be within its bound`,
  })

/** Waits until the only sink was measured within its bound: then nothing more is given up. */
const settled = (it: Bed, lanes: Lanes) =>
  waitFor(
    async () => {
      const { bytes = 0, maxBytes = 0 } = lanes.statuses()[0]?.queue ?? {}
      return bytes > 0 && bytes <= maxBytes && (await bytesOfSink(it, 'down')) < maxBytes * 1.3
    },
    { what: 'the sink to be measured within its bound' },
  )

async function namesOfDead(it: Bed, sink: string): Promise<string[]> {
  const letters = await Array.fromAsync(listDeadLetters(it.redis, it.keys, { sink }))
  return letters
    .toReversed()
    .map(({ delivery }) => `${delivery?.event.name}@${delivery?.event.resourceVersion}`)
}

const nameOf = ({ event }: Message) => `${event.name}@${event.resourceVersion}`

/** Fails at everything, and keeps what it was called with. */
function failingSink(): Sink & { called: Set<string> } {
  const called = new Set<string>()
  const sink = scriptedSink((message) => {
    called.add(nameOf(message))
    return DOWN
  })
  return Object.assign(sink, { called })
}

/** Takes calls and never ends them before it is asked to. */
function hangingSink(): Sink & { calls: number; called: Set<string> } {
  const sink = {
    calls: 0,
    called: new Set<string>(),
    deliver(batch: readonly Message[], signal: AbortSignal) {
      sink.calls++
      for (const message of batch) sink.called.add(nameOf(message))
      return new Promise<ReturnType<typeof answers>>((resolve) => {
        signal.addEventListener('abort', () => resolve(answers(batch)), { once: true })
      })
    },
    async close() {},
  }
  const answers = (batch: readonly unknown[]) => batch.map(() => DOWN)
  return sink
}

test.each([
  ['fails', failingSink],
  ['hangs', hangingSink],
])('beyond its bytes a sink that %s gives up its oldest deliveries, and only those', async (_, sinkOf) => {
  await using it = await startLaneBed()
  await fill(it, 'down/n0', versions('a', 400))
  await fill(it, 'down/n1', versions('b', 20), 1_000)
  const sink = sinkOf()
  // A call that hangs does so until the end, however slow the machine is.
  const options = { bounds: { down: { maxBytes: MAX_BYTES } }, deliverTimeoutMs: 600_000 }
  const lanes = it.work({ down: sink }, options)
  await within(it, 'down')
  await settled(it, lanes)
  const dead = await namesOfDead(it, 'down')
  // All are of the older lane, in order, except those that were under way: a later round gives those up.
  const positions = dead.map((name) => Number(name.split('@')[1]))
  expect(dead.every((name) => name.startsWith('a@'))).toBe(true)
  const late = dead.filter((_, i) => (positions[i] ?? 0) < Math.max(0, ...positions.slice(0, i)))
  const kept = versions('a', Math.max(...positions)).filter((name) => !dead.includes(name))
  expect([...late, ...kept].filter((name) => !sink.called.has(name))).toEqual([])
  expect(sink.called.size).toBeLessThan(200)
  const ledger = await it.ledger()
  expect(ledger).toMatchObject({ balanced: true, verified: true })
  expect(ledger.sinks['down']).toMatchObject({ enqueued: 420, delivered: 0, dead: dead.length })
  expect(ledger.sinks['down']?.pending).toBeGreaterThan(50)
  const [letter] = await Array.fromAsync(listDeadLetters(it.redis, it.keys, { sink: 'down' }))
  expect(letter).toMatchObject({ reason: 'queue-full', lane: 'down/n0' })
})

test('a sink that is only slow gives up what is too old, and delivers the rest in order', async () => {
  await using it = await startLaneBed()
  await fill(it, 'slow/n0', versions('a', 300))
  const sink = scriptedSink(async () => {
    await new Promise((resolve) => setTimeout(resolve, 40))
    return DELIVERED
  })
  it.work({ slow: sink }, { bounds: { slow: { maxAgeMs: 1_000 } } })
  await it.drained('slow')
  const { delivered = 0, dead = 0 } = (await it.ledger()).sinks['slow'] ?? {}
  expect(delivered).toBeGreaterThan(0)
  expect(dead).toBeGreaterThan(0)
  expect(delivered + dead).toBe(300)
  const took = sink.took.map((name) => Number(name.split('@')[1]))
  expect(took).toEqual(took.toSorted((a, b) => a - b))
  const letters = await Array.fromAsync(listDeadLetters(it.redis, it.keys, { sink: 'slow' }))
  expect(new Set(letters.map(({ reason }) => reason))).toEqual(new Set(['expired']))
  expect(await it.ledger()).toMatchObject({ balanced: true, verified: true })
})

test('of 650 lanes none is left out, and a healthy sink gets everything meanwhile', async () => {
  await using it = await startLaneBed()
  for (let i = 0; i < 650; i++) await fill(it, `down/topic-${i}`, [`o${i}@1`, `o${i}@2`], 60_000 - i * 10)
  await fill(it, 'healthy/n0', versions('h', 50))
  const healthy = scriptedSink(() => DELIVERED)
  const down = scriptedSink(() => DOWN)
  it.work({ down, healthy }, { namesLanes: true, bounds: { down: { maxBytes: MAX_BYTES } } })
  await within(it, 'down')
  await it.drained('healthy')
  expect(healthy.took).toEqual(versions('h', 50))
  const dead = await namesOfDead(it, 'down')
  expect(dead.length).toBeGreaterThan(1_000)
  // What is kept is the newest.
  const kept = Object.keys(await it.redis.hgetall(it.keys.pending)).filter((lane) =>
    /^down\/topic-6[34]/.test(lane),
  )
  expect(kept.length).toBeGreaterThan(15)
  expect(await it.ledger()).toMatchObject({ balanced: true, verified: true })
})

test('quarantined chains count for the bound, and give up their oldest', async () => {
  await using it = await startLaneBed()
  const lane = quarantineLane('hook/n0', orderOf({ event: headerFor('odd', '1', 'MODIFIED', 'uid-odd') }))
  await fill(it, lane, versions('odd', 300))
  const sink = scriptedSink(({ event }) =>
    event.name === 'odd' ? { ...DOWN, reason: 'server-error', scope: 'event' } : DELIVERED,
  )
  const lanes = it.work({ hook: sink }, { bounds: { hook: { maxBytes: MAX_BYTES } } })
  await using _ = { [Symbol.asyncDispose]: () => it.trickle(lanes).stop() }
  await within(it, 'hook')
  const dead = await namesOfDead(it, 'hook')
  expect(dead).toEqual(versions('odd', dead.length))
  expect(await it.ledger()).toMatchObject({ balanced: true })
})

test('what waited while no process delivered is delivered, and not too old', async () => {
  await using it = await startLaneBed()
  await fill(it, 'hook/n0', versions('a', 100), 7 * 86_400_000)
  const sink = scriptedSink(async () => {
    await new Promise((resolve) => setTimeout(resolve, 30))
    return DELIVERED
  })
  it.work({ hook: sink }, { bounds: { hook: { maxAgeMs: 60_000 } } })
  await it.drained('hook')
  expect(sink.took).toEqual(versions('a', 100))
})

test('what waits for less than a short maxAge is not too old after the clock was set by some minutes', async () => {
  await using it = await startLaneBed()
  const since = Date.now() - 3_600_000
  await it.redis.hset(it.keys.deliveringSince, 'down', `${since},${Date.now()}`)
  await fill(it, 'down/n0', versions('a', 50), 1_000)
  let jumpedMs = 0
  const clock = { now: () => Date.now() + jumpedMs }
  const lanes = it.work({ down: hangingSink() }, { clock, bounds: { down: { maxAgeMs: 300_000 } } })
  const isMeasured = () => (lanes.statuses()[0]?.queue?.bytes ?? 0) > 0
  await waitFor(isMeasured, { what: 'the sink to be measured' })
  jumpedMs = 9 * 60_000
  const beat = async () => JSON.parse((await it.redis.hvals(it.keys.workers))[0] ?? '{}').beat
  const before = await beat()
  await waitFor(async () => (await beat()) > before + 4, { what: 'two looks at the bounds' })
  expect((await it.ledger()).sinks['down']).toMatchObject({ dead: 0, pending: 50 })
})

test('two processes keep one bound together, each for the lanes that it owns', async () => {
  await using it = await startLaneBed()
  const bounds = { down: { maxBytes: MAX_BYTES } }
  const sinks = [hangingSink(), hangingSink()]
  for (const down of sinks) it.work({ down }, { bounds })
  for (let i = 0; i < 16; i++) await fill(it, `down/n${i}`, versions(`o${i}`, 30))
  await within(it, 'down')
  const { sinks: counts, balanced } = await it.ledger()
  expect(balanced).toBe(true)
  expect(counts['down']?.dead).toBeGreaterThan(300)
  expect(counts['down']?.pending).toBeGreaterThan(50)
})

test('the share of a sink does not shrink for one that was removed and has deliveries left', async () => {
  await using it = await startLaneBed()
  const sinks = { gone: hangingSink(), kept: scriptedSink(() => DELIVERED) }
  await fill(it, 'gone/n0', versions('a', 20))
  const lanes = it.work(sinks, { maxmemory: 1e9 })
  const bounds = () => lanes.statuses().map(({ sink, queue }) => [sink, queue?.maxBytes])
  const become = (gone: number, kept: number) =>
    waitFor(() => JSON.stringify(bounds()) === JSON.stringify(Object.entries({ gone, kept })), {
      what: `the bounds to be ${gone} and ${kept}, not ${JSON.stringify(bounds())}`,
    })
  await become(2e8, 2e8)
  lanes.use(['kept'], new Set())
  await become(2e8, 4e8)
  lanes.use(['gone', 'kept'], new Set())
  await become(2e8, 2e8)
})

test('the log says that deliveries were given up, in a line for many of them', async () => {
  await using it = await startLaneBed()
  await fill(it, 'down/n0', versions('a', 400))
  const lines: { deliveries?: number; reason?: string }[] = []
  const log: Logger = { ...silentLog, warn: (fields) => void lines.push(fields) }
  const lanes = it.work({ down: hangingSink() }, { log, bounds: { down: { maxBytes: MAX_BYTES } } })
  await within(it, 'down')
  await waitFor(() => lines.some(({ reason }) => reason === 'queue-full'), { what: 'the line of the log' })
  const told = lines.filter(({ reason }) => reason === 'queue-full')
  // How many there are in the first round depends on the machine.
  expect(told).toHaveLength(1)
  expect(told[0]?.deliveries).toBeGreaterThan(10)
  await waitFor(() => (lanes.statuses()[0]?.queue?.bytes ?? 0) > 0, { what: 'the size in the status' })
  expect(lanes.statuses()[0]?.queue).toMatchObject({ maxBytes: MAX_BYTES })
})

test.each([150, 900, 3_000, 20_000, 100_000])(
  'streams with entries of %i bytes are measured as they fill Redis',
  async (size) => {
    await using it = await startLaneBed()
    const countOf = (i: number) => Math.ceil((i * 40_000) / size) + 1
    const used = async () => Number(/used_memory:(\d+)/.exec(await it.redis.info('memory'))?.[1])
    const keys = Array.from({ length: 20 }, (_, i) => it.keys.lane(`hook/n${i}`))
    const before = await used()
    const pipeline = it.redis.pipeline()
    for (const [i, key] of keys.entries())
      for (let n = 0; n < countOf(i); n++)
        pipeline.xadd(key, '*', 'n', 1, 't', Date.now(), 'z', randomBytes(size))
    await pipeline.exec()
    const measured = [...(await measureStreams(it.redis, keys)).values()]
    expect(measured.map(({ entries }) => entries)).toEqual(keys.map((_, i) => countOf(i)))
    const bytes = measured.reduce((sum, it) => sum + it.bytes, 0)
    const taken = (await used()) - before
    expect(bytes / taken).toBeGreaterThan(0.85)
    expect(bytes / taken).toBeLessThan(1.15)
  },
)
