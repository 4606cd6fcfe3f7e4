import { startNotifier } from '../../../src/app/notify/notifier.ts'
import { Notify } from '../../../src/config/schema/notify.ts'
import type { SinkStatus, WatchStatus } from '../../../src/model/status.ts'
import { silentLog } from '../../../src/observe/log.ts'
import { decodeEntry, type Enqueued } from '../../../src/store/entry.ts'
import { startStoreBed } from '../../store/store-bed.ts'
import { waitFor } from '../../wait-for.ts'

export const LANE = 'ops/n0'
export const DEADMAN_LANE = 'deadman/n0'

/** Two processes of one cluster on a real Redis; their clock is moved by hand. */
export async function startNotifyBed(settings: object, log = silentLog) {
  const stack = new AsyncDisposableStack()
  const it = stack.use(await startStoreBed())
  const clock = { ms: 1_800_000_000_000, now: () => clock.ms }
  const state: {
    sinks: SinkStatus[]
    watches: WatchStatus[]
    /** Where the second process has others. */
    watchesOfTwo?: WatchStatus[]
    names: string[]
    notify: Notify | undefined
    rejected?: string
    fault?: string | undefined
  } = {
    notify: Notify.parse({ to: 'ops', ...settings }),
    sinks: [sink('hook'), sink('ops')],
    watches: [],
    names: ['hook', 'ops', 'deadman'],
  }
  const enqueued: Enqueued[] = []
  let looked = 0
  const withoutSettings = { one: 0, two: 0 }
  for (const instance of ['one', 'two'] as const) {
    const notifier = startNotifier({
      ...{
        redis: it.reader,
        line: it.newStore(undefined, undefined, instance).commitConnection,
        keys: it.keys,
      },
      ...{ log, clock, cluster: 'prod', namespace: 'kubeherald', pollMs: 5 },
      settings: () => {
        if (!state.notify) withoutSettings[instance]++
        return state.notify
      },
      sinkNames: () => state.names,
      watches: () => (instance === 'two' && state.watchesOfTwo) || state.watches,
      metadata: () => [],
      sinks: () => {
        looked++
        if (state.fault !== undefined) throw new Error(state.fault)
        return state.sinks
      },
      config: () => ({
        appliedMs: 0,
        ...(state.rejected !== undefined && { rejected: { sinceMs: 0, problem: state.rejected } }),
      }),
      laneOf: ({ sink }) => `${sink}/n0`,
      enqueued: (lanes) => void enqueued.push(...lanes),
    })
    stack.defer(() => notifier.close())
  }
  const deliveries = async (lane = LANE) => {
    const entries = await it.reader.xrangeBuffer(it.keys.lane(lane), '-', '+')
    return entries.flatMap(([, fields]) => decodeEntry(fields[5] as Buffer))
  }
  const reasons = async (lane = LANE) => (await deliveries(lane)).map(({ event }) => event.event?.reason)
  /** Moves the clock by some time before each look at what was reported. */
  const untilReports = (count: number, stepMs: number) =>
    waitFor(
      async () => {
        clock.ms += stepMs
        return (await reasons()).length >= count
      },
      { what: `${count} reports` },
    )
  /** Waits until the processes have looked some times more. */
  const looks = (more: number) => {
    const until = looked + more
    return waitFor(() => looked >= until, { what: `${more} looks` })
  }
  /** Takes `notify` out of the configuration, and waits until each process has looked without it. */
  const removeNotify = () => {
    state.notify = undefined
    const isSeen = () => withoutSettings.one > 1 && withoutSettings.two > 1
    return waitFor(isSeen, { what: 'looks without notify' })
  }
  return {
    ...it,
    deliveries,
    reasons,
    untilReports,
    looks,
    removeNotify,
    clock,
    state,
    enqueued,
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  }
}

export const sink = (name: string, healthy = true): SinkStatus => ({
  sink: name,
  healthy,
  quarantined: 0,
  failingTargets: 0,
})
