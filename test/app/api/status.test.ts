import { expect, test } from 'vitest'
import { overviewOf, watchesOf } from '../../../src/app/api/status.ts'
import type { WatchStatus } from '../../../src/model/status.ts'
import type { StatusReport } from '../../../src/store/ledger.ts'
import { WATCH } from '../watch-status.ts'

/** The overview of one process with such a watch. */
function overviewWith(watch: Partial<WatchStatus>, metadata: readonly WatchStatus[] = []) {
  const report = {
    ...{ atMs: 1_000, deadLetters: 0, ledger: { watches: {}, sinks: {}, balanced: true } },
    instances: [
      {
        ...{ id: 'one', host: 'host', pid: 1, role: 'all', version: '1', startedMs: 0, atMs: 1_000 },
        ...{ watches: [{ ...WATCH, ...watch }], sinks: [], metadata },
      },
    ],
  } as unknown as StatusReport
  const watches = watchesOf(report, new Map())
  return overviewOf({
    ...{ report, watches, sinks: [], cluster: 'test', version: '1', access: 'read', silences: 0 },
  })
}

test.each<[string, Partial<WatchStatus>, number]>([
  ['a watch that follows the cluster', {}, 0],
  ['a watch whose kind is asked for the first time', { phase: 'resolving', ready: false }, 0],
  [
    'a watch whose kind cannot be resolved',
    { phase: 'resolving', ready: false, lastError: 'ECONNREFUSED' },
    1,
  ],
  ['a watch that cannot go on', { phase: 'failing', ready: false, lastError: '403 Forbidden' }, 1],
])('the overview names %s where it fails', (_what, watch, failing) => {
  const { troubles, watches } = overviewWith(watch)
  expect(watches).toMatchObject({ total: 1, failing })
  expect(troubles.filter((it) => it.startsWith('watch pods'))).toHaveLength(failing)
})

test.each<[string, Partial<WatchStatus>]>([
  ['cannot be read', { phase: 'failing', lastError: '403 Forbidden' }],
  ['has not been read for long', { behind: { ms: 200_000, waitsFor: 'api-server' } }],
])('the overview names metadata that %s, once for all processes', (_what, status) => {
  const namespaces: WatchStatus = { ...WATCH, title: 'metadata of namespaces' }
  expect(overviewWith({}, [namespaces]).troubles).toEqual(overviewWith({}).troubles)
  const { troubles, watches } = overviewWith({}, [
    { ...namespaces, ...status },
    { ...namespaces, ...status },
  ])
  expect(troubles.filter((it) => it.startsWith('metadata of namespaces'))).toHaveLength(1)
  expect(watches).toMatchObject({ total: 1, failing: 0 })
})

test('the overview does not name metadata of a process without the API server, whose watches another one has', () => {
  const namespaces: WatchStatus = {
    ...{ ...WATCH, title: 'metadata of namespaces' },
    behind: { ms: 200_000, waitsFor: 'api-server' },
  }
  const cutOff: Partial<WatchStatus> = { phase: 'reconnecting', lastError: 'ECONNREFUSED' }
  expect(overviewWith(cutOff, [namespaces]).troubles).toEqual(overviewWith(cutOff).troubles)
})
