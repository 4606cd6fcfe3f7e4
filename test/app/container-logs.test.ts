import { afterEach, beforeEach, expect, test } from 'vitest'
import { ContainerLogs } from '../../src/app/container-logs.ts'
import type { ContainerLog, Delivery, LogSettings } from '../../src/model/delivery.ts'
import { silentLog } from '../../src/observe/log.ts'
import type { Message } from '../../src/sink/index.ts'
import { createLogStore, type LogStore } from '../../src/store/container-logs.ts'
import { decodeEntry, encodeEntries } from '../../src/store/entry.ts'
import type { LogOutcome } from '../../src/watch/logs/log-reader.ts'
import type { LogTarget } from '../../src/watch/logs/log-target.ts'
import { DELIVERED, type DOWN, ODD, scriptedSink, startLaneBed } from '../store/lane-bed.ts'
import { headerFor } from '../store/objects.ts'
import { waitFor } from '../wait-for.ts'

const SETTINGS: LogSettings = { lines: 20, maxBytes: 4_096 }

let bed: Awaited<ReturnType<typeof startLaneBed>>
let store: LogStore
beforeEach(async () => {
  bed = await startLaneBed()
  store = createLogStore({ redis: bed.redis, keys: bed.keys, maxmemory: () => 0, clock: Date })
})
afterEach(() => bed[Symbol.asyncDispose]())

/** An Event about a pod of this name; `lane` of the sink hook. */
function eventOf(
  pod: string,
  { sink = 'hook', rule = 'crashes', id = pod, observed = new Date() } = {},
): Delivery {
  const regarding = { kind: 'Pod', namespace: 'default', name: pod, fieldPath: 'spec.containers{app}' }
  const event = {
    ...headerFor(`${pod}.17`, '1', 'ADDED', `uid-${id}`),
    kind: 'Event',
    time: observed.toISOString(),
    event: { type: 'Warning', reason: 'BackOff', message: '', count: 1, regarding },
  }
  return { sink, rule, event, objectJson: Buffer.from('{}') }
}

async function enqueue(...deliveries: Delivery[]): Promise<void> {
  for (const { payload } of encodeEntries(deliveries))
    await bed.enqueue(`${deliveries[0]?.sink}/n0`, deliveries.length, payload)
}

function logsWith(
  read?: (target: LogTarget) => Promise<ContainerLog | undefined>,
  outcome: LogOutcome = 'read',
  from: LogStore = store,
) {
  const reads: LogTarget[] = []
  const reader = read && {
    async read(target: LogTarget) {
      reads.push(target)
      const log = await read(target)
      return log && { outcome, log }
    },
    close() {},
  }
  const settingsOf = ({ rule }: Delivery) => (rule === 'crashes' ? SETTINGS : undefined)
  return { logs: new ContainerLogs({ settingsOf, reader, store: from, log: silentLog, clock: Date }), reads }
}

/** Redis answers after so many failed questions. */
function failingStore(failures: number): LogStore {
  let left = failures
  return {
    ...store,
    get: async (ids) => {
      if (left-- > 0) throw new Error('Connection is closed.')
      return store.get(ids)
    },
  }
}

/** Counts the questions. */
function countedStore(): LogStore & { questions: number } {
  const counted = {
    ...store,
    questions: 0,
    get(ids: readonly string[]) {
      counted.questions++
      return store.get(ids)
    },
  }
  return counted
}

const readAs = (text: string) => async (): Promise<ContainerLog> => ({
  container: 'app',
  previous: true,
  text,
})
const never = () => new Promise<undefined>(() => {})
const OLD = () => new Date(Date.now() - 10_000)

/** Keeps what it was sent, as `pod: log`. */
function recording(answer: (message: Message) => typeof DELIVERED | typeof DOWN = () => DELIVERED) {
  const seen: string[] = []
  const sink = scriptedSink((message) => {
    const { logs, event } = message
    seen.push(`${event.event?.regarding.name ?? event.name}: ${logs?.text ?? logs?.error}`)
    return answer(message)
  })
  return { sink, seen }
}

const entered = (...deliveries: Delivery[]) => [
  {
    lane: 'hook/n0',
    sink: 'hook',
    count: deliveries.length,
    stored: { entries: [{ id: '1-0', deliveries }], total: 1 },
  },
]

test('a log that was read at the commit is in the message, and is read once for all sinks', async () => {
  const { logs, reads } = logsWith(readAs('it crashed'))
  const both = [eventOf('web-1'), eventOf('web-1', { sink: 'other' })]
  logs.committed(entered(...both))
  await enqueue(both[0] as Delivery)
  await enqueue(both[1] as Delivery)
  const [hook, other] = [recording(), recording()]
  bed.work({ hook: hook.sink, other: other.sink }, { logs })
  await waitFor(() => hook.seen.length + other.seen.length === 2, { what: 'both messages' })
  expect([...hook.seen, ...other.seen]).toEqual(['web-1: it crashed', 'web-1: it crashed'])
  expect(reads).toHaveLength(1)
})

test('a process without access to the cluster takes the log that another one stored', async () => {
  const reading = logsWith(readAs('it crashed'))
  const delivery = eventOf('web-1')
  await enqueue(delivery)
  const { sink, seen } = recording()
  bed.work({ hook: sink }, { logs: logsWith().logs })
  reading.logs.committed(entered(delivery))
  await waitFor(() => seen.length === 1, { what: 'the message' })
  expect(seen).toEqual(['web-1: it crashed'])
})

test('a process without access does not wait for the log of an old delivery', async () => {
  const from = countedStore()
  const { logs } = logsWith(undefined, 'read', from)
  const log = await logs.of(eventOf('web-1', { observed: new Date(Date.now() - 60_000) }))
  expect(log?.error).toEqual(expect.any(String))
  expect(from.questions).toBe(1)
})

test('the process that takes over reads what nobody has read: the first was killed between commit and reading', async () => {
  await enqueue(eventOf('web-1', { observed: OLD() }))
  const { logs, reads } = logsWith(readAs('it crashed'))
  const { sink, seen } = recording()
  bed.work({ hook: sink }, { logs })
  await waitFor(() => seen.length === 1, { what: 'the message' })
  expect(seen).toEqual(['web-1: it crashed'])
  expect(reads).toHaveLength(1)
})

test('what is too old to be of the same crash is not read', async () => {
  await enqueue(eventOf('web-1', { observed: new Date(Date.now() - 600_000) }))
  const { logs, reads } = logsWith(readAs('of another crash'))
  const { sink, seen } = recording()
  bed.work({ hook: sink }, { logs })
  await waitFor(() => seen.length === 1, { what: 'the message' })
  expect(seen[0]).toContain('no longer kept')
  expect(reads).toEqual([])
})

test.each([10_000, 600_000])(
  'while Redis does not answer, its log of %i ms ago is not missing',
  async (agoMs) => {
    const fresh = logsWith(readAs('it crashed'))
    await fresh.logs.of(eventOf('web-1', { observed: OLD() }))
    await waitFor(() => bed.redis.exists(bed.keys.logs), { what: 'the log in Redis' })
    const { logs, reads } = logsWith(readAs('of another crash'), 'read', failingStore(2))
    const log = await logs.of(eventOf('web-1', { observed: new Date(Date.now() - agoMs) }))
    expect(log).toMatchObject({ text: 'it crashed' })
    expect(reads).toEqual([])
  },
)

test('a log that Redis does not have, once it answers again, is read', async () => {
  const { logs, reads } = logsWith(readAs('it crashed'), 'read', failingStore(2))
  expect(await logs.of(eventOf('web-1', { observed: OLD() }))).toMatchObject({ text: 'it crashed' })
  expect(reads).toHaveLength(1)
})

test('a log that nobody has read is not blamed on one failed question', async () => {
  const { logs } = logsWith(undefined, 'read', failingStore(1))
  expect((await logs.of(eventOf('web-1')))?.error).toContain('no process')
})

test('a log is read although Redis does not answer, if it may be of the same crash', async () => {
  const { logs } = logsWith(readAs('it crashed'), 'read', failingStore(Number.POSITIVE_INFINITY))
  expect(await logs.of(eventOf('web-1', { observed: OLD() }))).toMatchObject({ text: 'it crashed' })
})

test('the next delivery asks Redis again, if it did not answer in time', async () => {
  let isDown = true
  const from = {
    ...store,
    get: async (ids: readonly string[]) => {
      if (isDown) throw new Error('Connection is closed.')
      return store.get(ids)
    },
  }
  const { logs, reads } = logsWith(readAs('of another crash'), 'read', from)
  const old = eventOf('web-1', { observed: new Date(Date.now() - 600_000) })
  expect((await logs.of(old))?.error).toContain('Redis')
  await logsWith(readAs('it crashed')).logs.of(eventOf('web-1', { observed: OLD() }))
  await waitFor(() => bed.redis.exists(bed.keys.logs), { what: 'the log in Redis' })
  isDown = false
  expect(await logs.of(old)).toMatchObject({ text: 'it crashed' })
  expect(reads).toEqual([])
})

test.each<[string, Partial<Delivery>]>([
  ['a dead letter that is retried', { replay: true }],
  ['a delivery that is replayed', { replayed: true }],
])('%s shows no log of a later crash, and does not wait for one', async (_, marks) => {
  const from = countedStore()
  const { logs, reads } = logsWith(readAs('of another crash'), 'read', from)
  const old = eventOf('web-1', { observed: new Date(Date.now() - 600_000) })
  const log = await logs.of({ ...old, ...marks, releasedAt: new Date().toISOString() })
  expect(log?.error).toContain('no longer kept')
  expect(reads).toEqual([])
  expect(from.questions).toBe(1)
})

test('a delivery that a limit released late shows the log of that time', async () => {
  const { logs } = logsWith(readAs('it still crashes'))
  const old = eventOf('web-1', { observed: new Date(Date.now() - 600_000) })
  const released = { ...old, releasedAt: OLD().toISOString() }
  expect(await logs.of(released)).toMatchObject({ text: 'it still crashes' })
})

test('a lane that reads an entry before its commit is known here does not wait for another process', async () => {
  const from = countedStore()
  const { logs, reads } = logsWith(readAs('it crashed'), 'read', from)
  const delivery = eventOf('web-1')
  const log = logs.of(delivery)
  logs.committed(entered(delivery, { ...delivery, sink: 'other' }))
  expect(await log).toMatchObject({ text: 'it crashed' })
  expect(from.questions).toBe(1)
  expect(reads).toHaveLength(1)
})

test('refused reads take no room from logs, and no other process waits for them', async () => {
  const refused = async () => ({ previous: true, error: 'too many' })
  const { logs } = logsWith(refused, 'rate')
  const all = Array.from({ length: 50 }, (_, i) => eventOf(`pod-${i}`))
  const from = countedStore()
  const others = all.map((it) => logsWith(undefined, 'read', from).logs.of(it))
  logs.committed(entered(...all))
  expect(await Promise.all(others)).toEqual(all.map(() => ({ previous: true, error: 'too many' })))
  // They are stored before a process asks for the second time.
  expect(from.questions).toBeLessThanOrEqual(3 * all.length)
  expect(await bed.redis.exists(bed.keys.logs)).toBe(0)
  expect(await bed.redis.pttl(bed.keys.logRefusals)).toBeGreaterThan(0)
})

test('deliveries that wait for logs hold up no other object, and are sent without one when the time is over', async () => {
  const { logs } = logsWith(never)
  const waiting = Array.from({ length: 40 }, (_, i) => eventOf(`pod-${i}`, { observed: OLD() }))
  await enqueue(...waiting, eventOf('other', { rule: 'plain' }))
  const { sink, seen } = recording()
  const startedMs = performance.now()
  bed.work({ hook: sink }, { logs })
  await waitFor(() => seen.length > 0, { what: 'the other delivery' })
  expect(seen).toEqual(['other: undefined'])
  await waitFor(() => seen.length === 41, { what: 'all deliveries' })
  expect(performance.now() - startedMs).toBeGreaterThan(4_000)
  expect(seen.slice(1).every((it) => it.includes('5 s'))).toBe(true)
})

test('later deliveries of the same object stay behind the one that waits', async () => {
  const { promise, resolve } = Promise.withResolvers<ContainerLog>()
  const { logs } = logsWith(() => promise)
  const [first, second, third] = ['1', '2', '3'].map((version): Delivery => {
    const delivery = eventOf('web-1', { observed: OLD(), rule: version === '2' ? 'crashes' : 'plain' })
    return { ...delivery, event: { ...delivery.event, resourceVersion: version } }
  }) as [Delivery, Delivery, Delivery]
  await enqueue(first, second, third)
  const sink = scriptedSink(() => DELIVERED)
  bed.work({ hook: sink }, { logs })
  await waitFor(() => sink.took.length === 1, { what: 'the first' })
  resolve({ previous: true, text: 'it crashed' })
  await waitFor(() => sink.took.length === 3, { what: 'the others' })
  expect(sink.took.map((it) => it.split('@')[1])).toEqual(['1', '2', '3'])
})

test('every attempt, in quarantine and by another process, has the same log', async () => {
  let reads = 0
  const read = async (): Promise<ContainerLog> => ({ previous: true, text: `read ${++reads}` })
  const delivery = eventOf('web-1', { observed: OLD() })
  await enqueue(delivery)
  const { sink, seen } = recording(() => (seen.length < 3 ? ODD : DELIVERED))
  const passing = recording()
  const lanes = bed.work({ hook: sink, other: passing.sink }, { logs: logsWith(read).logs })
  bed.trickle(lanes)
  await waitFor(() => seen.filter((it) => it.startsWith('web-1')).length >= 2, { what: 'two attempts' })
  await lanes.close(500)
  bed.work({ hook: sink }, { logs: logsWith(read).logs })
  await bed.drained('hook')
  expect(new Set(seen.filter((it) => it.startsWith('web-1')))).toEqual(new Set(['web-1: read 1']))
})

test('a dead letter keeps the log', async () => {
  const { logs } = logsWith(readAs('it crashed'))
  await enqueue(eventOf('web-1', { observed: OLD() }))
  const sink = scriptedSink(() => ({ kind: 'rejected', reason: 'rejected', detail: 'no' }))
  bed.work({ hook: sink }, { logs })
  await waitFor(async () => (await bed.redis.xlen(bed.keys.deadLetters)) === 1, { what: 'the dead letter' })
  const [[, fields]] = (await bed.redis.xrangeBuffer(bed.keys.deadLetters, '-', '+')) as [[Buffer, Buffer[]]]
  const payload = fields[fields.findIndex((it) => it.toString() === 'z') + 1] as Buffer
  expect(decodeEntry(payload)[0]?.logs).toEqual({ container: 'app', previous: true, text: 'it crashed' })
})

test('digests and resolve notifications have no log', () => {
  const { logs } = logsWith(readAs('it crashed'))
  const digest = { kind: 'digest', count: 2, by: [], from: '', to: '', items: [] } as const
  expect(logs.of({ ...eventOf('web-1'), notice: digest })).toBeUndefined()
})

test('a process that stops leaves the delivery to another one', async () => {
  const stopping = logsWith(() => Promise.resolve(undefined))
  await enqueue(eventOf('web-1', { observed: OLD() }))
  const { sink, seen } = recording()
  const first = bed.work({ hook: sink }, { logs: stopping.logs })
  await waitFor(() => stopping.reads.length === 1, { what: 'the read' })
  stopping.logs.close()
  await first.close(500)
  expect(seen).toEqual([])
  bed.work({ hook: sink }, { logs: logsWith(readAs('it crashed')).logs })
  await waitFor(() => seen.length === 1, { what: 'the message' })
  expect(seen).toEqual(['web-1: it crashed'])
})
