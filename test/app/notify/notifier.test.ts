import { expect, test } from 'vitest'
import { startNotifier } from '../../../src/app/notify/notifier.ts'
import { Notify } from '../../../src/config/schema/notify.ts'
import type { SinkStatus, WatchStatus } from '../../../src/model/status.ts'
import { silentLog } from '../../../src/observe/log.ts'
import { decodeEntry } from '../../../src/store/entry.ts'
import { readLedger } from '../../../src/store/ledger.ts'
import { startStoreBed } from '../../store/store-bed.ts'
import { waitFor } from '../../wait-for.ts'

const LANE = 'ops/n0'

/** Two processes of one cluster on a real Redis; their clock is moved by hand. */
async function startNotifyBed(settings: object) {
  const stack = new AsyncDisposableStack()
  const it = stack.use(await startStoreBed())
  const clock = { ms: 1_800_000_000_000, now: () => clock.ms }
  const state: { sinks: SinkStatus[]; watches: WatchStatus[]; rejected?: string } = {
    sinks: [sink('hook'), sink('ops')],
    watches: [],
  }
  let looks = 0
  /** Resolves when each process has looked at its state a few times more. */
  const looked = async () => {
    const before = looks
    await waitFor(() => looks >= before + 10, { what: 'looks' })
  }
  const notify = Notify.parse({ to: 'ops', ...settings })
  for (const instance of ['one', 'two']) {
    const notifier = startNotifier({
      ...{ redis: it.reader, line: it.newStore(undefined, undefined, instance).line, keys: it.keys },
      ...{ log: silentLog, clock, cluster: 'prod', namespace: 'kubeherald', pollMs: 5 },
      settings: () => notify,
      sinkNames: () => ['hook', 'ops'],
      watches: () => state.watches,
      sinks: () => {
        looks++
        return state.sinks
      },
      config: () => ({
        appliedMs: 0,
        ...(state.rejected !== undefined && { rejected: { sinceMs: 0, problem: state.rejected } }),
      }),
      laneOf: () => LANE,
      enqueued() {},
    })
    stack.defer(() => notifier.close())
  }
  const deliveries = async () => {
    const entries = await it.reader.xrangeBuffer(it.keys.lane(LANE), '-', '+')
    return entries.flatMap(([, fields]) => decodeEntry(fields[5] as Buffer))
  }
  const reasons = async () => (await deliveries()).map(({ event }) => event.event?.reason)
  return {
    ...it,
    deliveries,
    reasons,
    looked,
    clock,
    state,
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  }
}

const WATCH: WatchStatus = {
  key: 'w',
  title: 'pods',
  phase: 'watching',
  resourceVersion: '1',
  lastContactMs: 0,
  aliveUntilMs: 0,
  ready: true,
}
const sink = (name: string, healthy = true): SinkStatus => ({
  sink: name,
  healthy,
  aside: 0,
  failingTargets: 0,
})

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

test('new dead letters are reported with their number; those from before are not', async () => {
  await using it = await startNotifyBed({ on: ['dead-letter'] })
  await waitFor(async () => (await it.reader.hlen(it.keys.reportedDeadLetters)) === 2, {
    what: 'the first look',
  })
  await it.reader.hincrby(it.keys.sinkLedger('hook'), 'dead', 3)
  await waitFor(async () => (await it.reasons()).length > 0, { what: 'the report' })
  const [delivery] = await it.deliveries()
  expect(delivery?.event.event?.message).toMatch(/^3 deliveries to hook/)
  expect(await it.reader.hget(it.keys.reportedDeadLetters, 'hook')).toBe('3')
  // They are retried, and fail again.
  await it.reader.hincrby(it.keys.sinkLedger('hook'), 'dead', -3)
  const mark = () => it.reader.hget(it.keys.reportedDeadLetters, 'hook')
  await waitFor(async () => (await mark()) === '0', { what: 'the mark to go down' })
  await it.reader.del(it.keys.reported('dead-letter/hook'))
  await it.reader.hincrby(it.keys.sinkLedger('hook'), 'dead', 2)
  await waitFor(async () => (await it.reasons()).length > 1, { what: 'the second report' })
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
  await it.looked()
  expect(await it.reader.xlen(lane)).toBe(1)
  await write('*')
  await it.reader.xdel(lane, waiting)
  await waitFor(async () => (await it.reader.xlen(lane)) === 2, { what: 'the heartbeat behind the event' })
})
