import { expect, test } from 'vitest'
import { Notify } from '../../../src/config/schema/notify.ts'
import type { Resolved } from '../../../src/model/delivery.ts'
import type { WatchStatus } from '../../../src/model/status.ts'
import { silentLog } from '../../../src/observe/log.ts'
import { readLedger } from '../../../src/store/ledger.ts'
import { waitFor } from '../../wait-for.ts'
import { WATCH } from '../watch-status.ts'
import { DEADMAN_LANE, LANE, sink, startNotifyBed } from './notify-bed.ts'

test('a failure is reported once an hour by all processes together, and the ledger has it', async () => {
  await using it = await startNotifyBed({})
  it.state.rejected = 'there is no sink "chta"'
  await waitFor(async () => (await it.reasons()).length > 0, { what: 'the report' })
  it.clock.ms += 1
  const [delivery] = await it.deliveries()
  expect(delivery).toMatchObject({ sink: 'ops', event: { kind: 'Event', event: { type: 'Warning' } } })
  expect(delivery?.event.event?.message).toContain('there is no sink "chta"')
  await it.reader.del(it.keys.reported('config-rejected'))
  await waitFor(async () => (await it.reasons()).length > 1, { what: 'the report of the next hour' })
  expect(await it.reasons()).toEqual(['ConfigRejected', 'ConfigRejected'])
  expect(await it.reader.pttl(it.keys.reported('config-rejected'))).toBeGreaterThan(3_000_000)
  const { sinks, balanced } = await readLedger(it.reader, it.keys, { verify: true })
  expect(balanced).toBe(true)
  expect(sinks['ops']).toMatchObject({ enqueued: 2, pending: 2 })
})

test('the lanes get each report with its entry and the count of the ledger, as from a commit', async () => {
  await using it = await startNotifyBed({ on: ['sink-failing', 'config-rejected'], heartbeat: '1m' })
  // A heartbeat compares it with the time of Redis.
  it.clock.ms = Date.now()
  it.state.rejected = 'no rules'
  it.state.watches = [WATCH]
  await waitFor(() => it.enqueued.length === 2, { what: 'report and heartbeat' })
  it.state.sinks = [sink('hook', false), sink('ops')]
  const isReported = async () => {
    it.clock.ms += 61_000
    return (await it.reasons()).includes('SinkFailing')
  }
  await waitFor(isReported, { what: 'the failure' })
  it.state.sinks = [sink('hook'), sink('ops')]
  const mark = it.keys.lasting('sink-failing/hook')
  const isOver = async () => {
    it.clock.ms += 61_000
    await it.reader.del(mark)
    return (await it.reasons()).includes('Recovered')
  }
  await waitFor(isOver, { what: 'the recovery' })
  // On a slow machine a second heartbeat came between them.
  const ids = (await it.reader.xrange(it.keys.lane(LANE), '-', '+')).map(([id]) => id)
  await waitFor(() => it.enqueued.length === ids.length, { what: 'each report to be told' })
  expect(it.enqueued.map(({ stored }) => stored?.entries.map(({ id }) => id))).toEqual(ids.map((id) => [id]))
  expect(it.enqueued.map(({ stored }) => stored?.total)).toEqual(ids.map((_, i) => i + 1))
})

test('new dead letters are reported with their number; those from before are not', async () => {
  await using it = await startNotifyBed({ on: ['dead-letter'] })
  await waitFor(async () => (await it.reader.hlen(it.keys.reportedDeadLetters)) === 3, {
    what: 'the first look',
  })
  await it.reader.hincrby(it.keys.sinkLedger('hook'), 'dead', 3)
  await waitFor(async () => (await it.reasons()).length > 0, { what: 'the report' })
  const [delivery] = await it.deliveries()
  expect(delivery?.event.event?.message).toMatch(/^3 deliveries to hook/)
  expect(await it.reader.hget(it.keys.reportedDeadLetters, 'hook')).toBe('3')
  // They are retried and fail again, all between two looks.
  const ledger = it.keys.sinkLedger('hook')
  const retry = it.reader.multi().hincrby(ledger, 'dead', -3).hincrby(ledger, 'retried', 3)
  await retry.hincrby(ledger, 'dead', 3).exec()
  await it.reader.del(it.keys.reported('dead-letter/hook'))
  await waitFor(async () => (await it.reasons()).length > 1, { what: 'the second report' })
  expect((await it.deliveries())[1]?.event.event?.message).toMatch(/^3 deliveries to hook/)
})

test('dead letters from before notify is configured again are not reported', async () => {
  await using it = await startNotifyBed({ on: ['dead-letter'] })
  const { notify } = it.state
  const mark = (count: string) =>
    waitFor(async () => (await it.reader.hget(it.keys.reportedDeadLetters, 'hook')) === count, {
      what: `the mark ${count}`,
    })
  await mark('0')
  await it.removeNotify()
  await it.reader.hincrby(it.keys.sinkLedger('hook'), 'dead', 3)
  it.state.notify = notify
  await mark('3')
  await it.reader.hincrby(it.keys.sinkLedger('hook'), 'dead', 2)
  await waitFor(async () => (await it.reasons()).length > 0, { what: 'the report' })
  expect((await it.deliveries())[0]?.event.event?.message).toMatch(/^2 deliveries to hook/)
})

test('of a sink that is new all dead letters are reported; the counts of one that was removed for long begin again', async () => {
  await using it = await startNotifyBed({ on: ['dead-letter'] })
  const mark = (name: string) => it.reader.hget(it.keys.reportedDeadLetters, name)
  await waitFor(async () => (await mark('hook')) === '0', { what: 'the first look' })
  await it.reader.hset(it.keys.reportedDeadLetters, 'hook', 5)
  await it.reader.hincrby(it.keys.sinkLedger('new'), 'dead', 2)
  it.state.names = ['new', ...it.state.names]
  await waitFor(async () => (await it.reasons()).length > 0, { what: 'the report' })
  expect((await it.deliveries())[0]?.event.event?.message).toMatch(/^2 deliveries to new/)
  await waitFor(async () => (await mark('hook')) === '0', { what: 'the mark to go down' })
  expect(await it.reasons()).toHaveLength(1)
})

test('a sink is reported after it has failed for a minute, and only where this is asked for', async () => {
  await using it = await startNotifyBed({ on: ['sink-failing'], heartbeat: '1m' })
  it.state.sinks = [sink('hook', false), sink('ops')]
  it.state.rejected = 'nobody asked'
  it.state.watches = [WATCH]
  await waitFor(async () => (await it.reasons()).includes('Running'), { what: 'the heartbeat' })
  expect(await it.reasons()).toEqual(['Running'])
  it.clock.ms += 61_000
  await waitFor(async () => (await it.reasons()).includes('SinkFailing'), { what: 'the report' })
  expect(await it.reasons()).not.toContain('ConfigRejected')
})

test('a failure that is over is reported once, when no process has seen it for a minute', async () => {
  await using it = await startNotifyBed({ on: ['sink-failing'] })
  it.state.sinks = [sink('hook', false), sink('ops')]
  await it.untilReports(1, 61_000)
  const mark = it.keys.lasting('sink-failing/hook')
  await waitFor(async () => (await it.reader.pttl(mark)) > 0, { what: 'the mark that it lasts' })
  it.state.sinks = [sink('hook'), sink('ops')]
  // Both processes see a healthy sink, but the mark says that one saw it fail within the minute.
  const firstLookMs = it.clock.ms + 200_000
  it.clock.ms = firstLookMs
  await it.looks(6)
  it.clock.ms += 200_000
  await it.looks(6)
  expect(await it.reasons()).toEqual(['SinkFailing'])
  await it.reader.del(mark)
  await it.untilReports(2, 1_000)
  const [failure, recovery, ...more] = await it.deliveries()
  expect(more).toEqual([])
  expect(recovery?.notice).toMatchObject({ kind: 'resolved', why: 'ended' })
  // The time of the confirmation is not part of the failure.
  expect(Date.parse((recovery?.notice as Resolved | undefined)?.at ?? '')).toBeLessThanOrEqual(firstLookMs)
  expect(recovery?.event.uid).toBe(failure?.event.uid)
  expect(await it.reader.exists(it.keys.openReports)).toBe(0)
  const { balanced } = await readLedger(it.reader, it.keys, { verify: true })
  expect(balanced).toBe(true)
})

test('what fails again after its recovery is reported again, and then has to be over for longer', async () => {
  await using it = await startNotifyBed({ on: ['sink-failing'] })
  const mark = it.keys.lasting('sink-failing/hook')
  let quietMs = 60_000
  for (const reports of [1, 3, 5]) {
    it.state.sinks = [sink('hook', false), sink('ops')]
    await it.untilReports(reports, 61_000)
    await it.looks(6)
    const leftMs = await it.reader.pttl(mark)
    expect(leftMs).toBeGreaterThan(quietMs / 2)
    expect(leftMs).toBeLessThanOrEqual(quietMs)
    quietMs *= 2
    it.state.sinks = [sink('hook'), sink('ops')]
    const isOver = async () => {
      it.clock.ms += 61_000
      await it.reader.del(mark)
      return (await it.reasons()).length > reports
    }
    await waitFor(isOver, { what: 'the recovery' })
  }
  const reasons = ['SinkFailing', 'Recovered']
  expect(await it.reasons()).toEqual([...reasons, ...reasons, ...reasons])
})

test.each(['the same', 'another'])(
  'a watch that begins to fail in %s process is reported while the report that many fail is open',
  async (process) => {
    await using it = await startNotifyBed({ on: ['watch-failing'] })
    const watches = (titles: string, phase: WatchStatus['phase']) =>
      [...titles].map((title) => ({ ...WATCH, title, phase }))
    if (process === 'another') it.state.watchesOfTwo = [WATCH]
    it.state.watches = watches('abcde', 'failing')
    await it.untilReports(1, 61_000)
    if (process === 'another') it.state.watchesOfTwo = watches('n', 'failing')
    else it.state.watches = [...watches('bcde', 'watching'), ...watches('an', 'failing')]
    const isReported = async () => {
      it.clock.ms += 10_000
      return (await it.deliveries()).some(({ event }) => event.event?.regarding.name === 'n')
    }
    await waitFor(isReported, { what: 'the report of its own' })
    expect(await it.reader.hexists(it.keys.openReports, 'watch-failing')).toBe(1)
  },
)

test('nothing is reported about a sink that was removed while it failed', async () => {
  await using it = await startNotifyBed({})
  await it.reader.hset(it.keys.openReports, 'sink-failing/old', 1, 'sink-failing/hook', 1)
  await it.untilReports(1, 61_000)
  expect((await it.deliveries()).map(({ event }) => event.event?.regarding.name)).toEqual(['hook'])
  expect(await it.reader.exists(it.keys.openReports)).toBe(0)
})

test('a heartbeat has a sink of its own, and waits only for that one', async () => {
  await using it = await startNotifyBed({
    on: ['config-rejected'],
    heartbeat: { every: '1m', to: 'deadman' },
  })
  it.state.rejected = 'no rules'
  await waitFor(async () => (await it.reasons()).length > 0, { what: 'the report of the failure' })
  it.state.watches = [WATCH]
  await waitFor(async () => (await it.reasons(DEADMAN_LANE)).length > 0, { what: 'the heartbeat' })
  expect(await it.reasons()).toEqual(['ConfigRejected'])
  expect(await it.reasons(DEADMAN_LANE)).toEqual(['Running'])
  const leftMs = await it.reader.pttl(it.keys.reported('heartbeat/deadman'))
  expect(leftMs).toBeGreaterThan(0)
  expect(leftMs).toBeLessThanOrEqual(60_000)
})

test('another interval or another sink of the heartbeat holds from the moment of the change', async () => {
  await using it = await startNotifyBed({ on: ['ledger'], heartbeat: '1h' })
  it.clock.ms = Date.now()
  it.state.watches = [WATCH]
  await waitFor(async () => (await it.reasons()).length > 0, { what: 'the first heartbeat' })
  const beatsOfDeadman = (count: number) =>
    waitFor(async () => (await it.reasons(DEADMAN_LANE)).length === count, { what: `${count} heartbeats` })
  it.state.notify = Notify.parse({ to: 'ops', on: ['ledger'], heartbeat: { every: '2h', to: 'deadman' } })
  await beatsOfDeadman(1)
  await it.looks(6)
  await it.reader.del(it.keys.lane(DEADMAN_LANE))
  it.state.notify = Notify.parse({ to: 'ops', on: ['ledger'], heartbeat: { every: '1m', to: 'deadman' } })
  await it.looks(6)
  expect(await it.reasons(DEADMAN_LANE)).toEqual([])
  it.clock.ms += 61_000
  await beatsOfDeadman(1)
  expect(await it.reasons()).toEqual(['Running'])
})

test('a heartbeat waits for the mark of an older version, which names no sink', async () => {
  await using it = await startNotifyBed({ on: ['ledger'], heartbeat: '1m' })
  it.clock.ms = Date.now()
  await it.reader.set(it.keys.reported('heartbeat'), it.clock.ms, 'PX', 3_600_000)
  it.state.watches = [WATCH]
  await it.looks(6)
  expect(await it.reasons()).toEqual([])
  it.clock.ms += 61_000
  await waitFor(async () => (await it.reasons()).length === 1, { what: 'the heartbeat' })
})

test('heartbeats do not pile up while one waits, and pass with the events of a busy lane', async () => {
  await using it = await startNotifyBed({ on: ['ledger'], heartbeat: '1m' })
  it.clock.ms = Date.now()
  const lane = it.keys.lane(LANE)
  const write = async (id: string) => {
    await it.reader.hincrby(it.keys.pending, LANE, 1)
    return it.reader.xadd(lane, id, 'n', 1, 't', it.clock.ms, 'z', '')
  }
  const waiting = (await write(`${Date.now() - 61_000}-0`)) as string
  it.state.watches = [WATCH]
  await it.looks(10)
  expect(await it.reader.xlen(lane)).toBe(1)
  await write('*')
  await it.reader.xdel(lane, waiting)
  await waitFor(async () => (await it.reader.xlen(lane)) === 2, { what: 'the heartbeat behind the event' })
})

test('why failures cannot be reported is logged once, and again when it comes back', async () => {
  const logged: unknown[] = []
  const log = { ...silentLog, warn: (fields: object) => void logged.push(fields) }
  await using it = await startNotifyBed({ on: ['sink-failing'] }, log)
  const fault = { error: 'READONLY' }
  for (const count of [1, 2]) {
    it.state.fault = fault.error
    await it.looks(6)
    // Each of the two processes has its own log.
    await waitFor(() => logged.length === 2 * count, { what: 'the fault in the log' })
    it.state.fault = undefined
    await it.looks(6)
  }
  expect(logged).toEqual([fault, fault, fault, fault])
})
