import { expect, test } from 'vitest'
import type { WatchStatus } from '../../../src/model/status.ts'
import { unreadOf } from '../../../src/store/limits/limit-timers.ts'
import type { LeaseGuard } from '../../../src/watch/leases/held-lease.ts'
import type { SourceLeases } from '../../../src/watch/leases/source-leases.ts'
import { configMap, type WatchConnection } from '../../servers/scripted-api.ts'
import { waitFor } from '../../wait-for.ts'
import { startWatchBed } from '../bed.ts'

test('a source that was fenced opens its position again only after its lease was renewed', async () => {
  const connections: WatchConnection[] = []
  const opened: string[] = []
  const renewal = Promise.withResolvers<void>()
  let asked = 0
  const guard: LeaseGuard = {
    check: () => void opened.push('with a guard'),
    renewed: () => {
      asked++
      return renewal.promise
    },
  }
  const leases: SourceLeases = {
    run: (_source, _report, signal, job) => job(guard, signal),
    leave: async () => {},
  }
  await using it = await startWatchBed({ idle: true, timing: { positionEveryMs: 60_000 } })
  it.api.script(
    (connection) => void connections.push(connection),
    (connection) => void connections.push(connection),
  )
  it.start([{ kind: 'ConfigMap' }], { wallMs: 0, leases: () => leases })
  await waitFor(() => connections.length === 1, { what: 'the watch under a lease' })
  expect(opened).toEqual(['with a guard'])
  it.start([{ kind: 'ConfigMap' }])
  await waitFor(() => connections.length === 2, { what: 'the watch of another process' })

  it.api.resourceVersion = '11'
  connections[0]?.frame('ADDED', configMap('a', 11))
  await waitFor(() => asked === 1, { what: 'the question for a renewal' })
  expect(opened).toHaveLength(1)
  connections[1]?.frame('ADDED', configMap('a', 11))
  await it.arrived(1)

  renewal.resolve()
  await waitFor(() => opened.length === 2, { what: 'the position to be opened again' })
  await waitFor(() => it.api.watches().length === 3, { what: 'another watch' })
  it.api.current()?.frame('ADDED', configMap('b', 12))
  await it.arrived(2)
  expect(await it.enqueued()).toEqual(['ADDED a@11', 'ADDED b@12'])
})

test('a process that leaves a watch to another stays ready: what it knows of the position holds', async () => {
  const moved = new AbortController()
  const told: (boolean | undefined)[] = []
  const leases: SourceLeases = {
    async run(_source, report, signal, job) {
      await job({ check() {}, renewed: async () => {} }, AbortSignal.any([signal, moved.signal]))
      report({ phase: 'standby', holder: 'other' })
      told.push(manager.statuses()[0]?.ready)
      return new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
    },
    leave: async () => {},
  }
  await using it = await startWatchBed({ idle: true })
  const manager = it.start([{ kind: 'ConfigMap' }], { wallMs: 0, leases: () => leases })
  await waitFor(() => manager.statuses()[0]?.phase === 'watching', { what: 'the watch' })
  moved.abort()
  await waitFor(() => told.length === 1, { what: 'standing by' })
  expect(told).toEqual([true])
})

test('a watch whose lease was taken again is compared with the cluster as before', async () => {
  const lost = new AbortController()
  const taken = Promise.withResolvers<void>()
  const leases: SourceLeases = {
    async run(_source, report, signal, job) {
      const guard: LeaseGuard = { check() {}, renewed: async () => {} }
      await job(guard, AbortSignal.any([signal, lost.signal]))
      report({ phase: 'reconnecting', lastError: 'the lease is not certain' })
      report({ phase: 'listing', holder: 'this' })
      taken.resolve()
      return job(guard, signal)
    },
    leave: async () => {},
  }
  await using it = await startWatchBed({ idle: true })
  const manager = it.start([{ kind: 'ConfigMap', verify: 3_600_000 }], { wallMs: 0, leases: () => leases })
  const isWatching = () => manager.statuses()[0]?.phase === 'watching'
  await waitFor(isWatching, { what: 'the watch' })
  lost.abort()
  await taken.promise
  await waitFor(isWatching, { what: 'the watch under the next lease' })
  expect(await it.metric('watch_verified_timestamp_seconds')).toHaveLength(1)
})

/**
 * Runs a source once; after that `report` is what a candidate without the lease reports. Its checkpoint is of a process that is alive
 * as long as `isOwnerAlive`.
 */
async function startLeftWatch(isOwnerAlive?: () => boolean) {
  const over = new AbortController()
  const left = Promise.withResolvers<(news: Partial<WatchStatus>) => void>()
  const leases: SourceLeases = {
    async run(_source, report, signal, job) {
      await job({ check() {}, renewed: async () => {} }, AbortSignal.any([signal, over.signal]))
      left.resolve(report)
      return new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
    },
    leave: async () => {},
  }
  const it = await startWatchBed({
    idle: true,
    timing: { settleMs: 50 },
    wrap: (store) => ({
      ...store,
      async peek(source, signal) {
        const checkpoint = await store.peek(source, signal)
        return checkpoint && { ...checkpoint, ownerAlive: isOwnerAlive?.() }
      },
    }),
  })
  const manager = it.start([{ kind: 'ConfigMap' }], { wallMs: 0, leases: () => leases })
  const status = () => manager.statuses()[0] as WatchStatus
  await waitFor(() => status().current === true, { what: 'all changes to be read' })
  over.abort()
  return { it, status, report: await left.promise }
}

test.each<Partial<WatchStatus>>([
  { phase: 'reconnecting', lastError: 'connection refused' },
  { phase: 'standby', holder: '' },
])('a watch that no process is known to work on is behind: $phase', async (news) => {
  const { it, status, report } = await startLeftWatch()
  await using _ = it
  report(news)
  const behindMs = () => status().behind?.ms ?? 0
  await waitFor(() => behindMs() > 50, { what: 'the watch to be behind' })
  // A candidate reports at each poll.
  report(news)
  expect(behindMs()).toBeGreaterThan(50)
  expect(status()).toMatchObject({ ready: true, current: false, behind: { waitsFor: 'api-server' } })
})

test('a watch that another process has taken is not behind here, and not current', async () => {
  const { it, status, report } = await startLeftWatch()
  await using _ = it
  expect(status().current).toBe(false)
  report({ phase: 'standby', holder: '' })
  expect(status().behind).toBeDefined()
  report({ phase: 'standby', holder: 'other' })
  expect(status()).toMatchObject({ phase: 'standby', ready: true, current: false })
  expect(status().behind).toBeUndefined()
  expect([...unreadOf([status()], [])]).toEqual([status().key])
})

test('a process that does not reach the API server is behind unless another one, which is alive, works on the watch', async () => {
  let isAlive = true
  const { it, status, report } = await startLeftWatch(() => isAlive)
  await using _ = it
  const isBehind = (wanted: boolean) =>
    waitFor(
      () => {
        report({ phase: 'reconnecting', lastError: 'connection refused' })
        return (status().behind !== undefined) === wanted
      },
      { what: () => `the watch ${wanted ? '' : 'not '}to be behind`, timeoutMs: 5_000 },
    )
  await isBehind(false)
  expect(status()).toMatchObject({ phase: 'reconnecting', ready: true, current: false })
  isAlive = false
  await isBehind(true)
})
