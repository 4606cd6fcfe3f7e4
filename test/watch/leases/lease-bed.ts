import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { WatchStatus } from '../../../src/model/status.ts'
import { silentLog } from '../../../src/observe/log.ts'
import { createMetrics } from '../../../src/observe/metrics.ts'
import { connectCluster } from '../../../src/watch/client/connect.ts'
import type { LeaseGuard } from '../../../src/watch/leases/held-lease.ts'
import { holderOf, type LeaseObject, WATCH, watchLeaseName } from '../../../src/watch/leases/lease.ts'
import { createLeaseApi } from '../../../src/watch/leases/lease-api.ts'
import { createSourceLeases } from '../../../src/watch/leases/source-leases.ts'
import { startLeaseServer } from '../../servers/lease-server.ts'
import { kubeconfigFor } from '../bed.ts'

/** Short, but long enough for a machine that is busy. */
export const QUICK = {
  durationMs: 3_000,
  renewDeadlineMs: 2_000,
  retryPeriodMs: 80,
  pollMs: 40,
  slowRetryMs: 100,
}

export const SOURCE = { key: 'configmaps#1', title: 'configmaps in shop' }
export const GROUP = { cluster: 'test', store: 'one' }
export const LEASE = watchLeaseName(GROUP, SOURCE)

const NEVER = new AbortController().signal

/** A run of a source under its lease. */
export interface Run {
  guard: LeaseGuard
  signal: AbortSignal
  beganMs: number
}

/** Processes that share leases on a server which does what a test tells it. */
export async function startLeaseBed() {
  const stack = new AsyncDisposableStack()
  const server = stack.use(await startLeaseServer())
  const dir = mkdtempSync(join(tmpdir(), 'kubeherald-leases-'))
  stack.defer(() => rmSync(dir, { recursive: true, force: true }))
  const kubeconfig = join(dir, 'kubeconfig')
  writeFileSync(kubeconfig, kubeconfigFor(server.url))

  /** `wallMs`: how wrong the clock on its wall is. */
  function start(
    identity: string,
    options: {
      wallMs?: number
      timing?: Partial<typeof QUICK>
      store?: string
      silentMs?: () => number
    } = {},
  ) {
    const client = connectCluster({ kubeconfig, env: {}, userAgent: 'test' })
    const metrics = createMetrics()
    const stop = new AbortController()
    const runs: Run[] = []
    const status: Partial<WatchStatus> = {}
    let refreshes = 0
    const group = { ...GROUP, ...(options.store && { store: options.store }) }
    const timing = { ...QUICK, ...options.timing }
    const leases = createSourceLeases({
      ...timing,
      api: createLeaseApi(client, { namespace: 'ns', group, timeoutMs: 1_000 }),
      client: {
        async refresh() {
          refreshes++
        },
      },
      group,
      silentMs: options.silentMs ?? (() => 0),
      namespace: 'ns',
      metrics,
      log: silentLog,
      identity,
      monotonic: () => performance.now(),
      clock: { now: () => Date.now() + (options.wallMs ?? 0) },
      random: Math.random,
    })
    let done: Promise<unknown> = Promise.resolve()

    /** Until `left`, or until the process stops. */
    function watch(source = SOURCE, left = NEVER): void {
      const report = (news: Partial<WatchStatus>) => void Object.assign(status, news)
      const until = AbortSignal.any([stop.signal, left])
      const run = leases.run(source, report, until, async (guard, signal) => {
        runs.push({ guard, signal, beganMs: performance.now() })
        await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }))
      })
      done = Promise.all([done, run.catch(() => {})])
    }

    const process = {
      identity,
      runs,
      status,
      refreshes: () => refreshes,
      watch,
      /** The run that goes on at this moment. */
      current: () => runs.find(({ signal }) => !signal.aborted),
      metric: async (name: string) =>
        (await metrics.registry.getSingleMetric(`kubeherald_${name}`)?.get())?.values ?? [],
      async stop() {
        const left = leases.leave()
        stop.abort()
        await Promise.all([left, done])
        await client.close()
      },
    }
    stack.defer(() => process.stop())
    return process
  }

  const watches = () =>
    [...server.leases.values()].filter(
      ({ metadata }) => metadata.labels?.['app.kubernetes.io/component'] === WATCH,
    )
  return {
    server,
    start,
    lease: () => server.leases.get(LEASE) as LeaseObject,
    watches,
    holders: () => watches().map(holderOf),
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  }
}
