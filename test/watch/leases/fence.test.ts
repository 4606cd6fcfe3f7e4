import { expect, test } from 'vitest'
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
