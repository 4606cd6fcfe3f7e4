import { expect, test } from 'vitest'
import type { WatchStatus } from '../../src/model/status.ts'
import type { StatusReport } from '../../src/store/ledger.ts'
import { watchViews } from '../../src/store/status-views.ts'

type Phase = WatchStatus['phase']

/** Returns the phase of the watch that is shown of processes which report these, each later than the one before. */
function shownOf(...phases: Phase[]): Phase | undefined {
  const instances = phases.map((phase, i) => ({
    ...{ id: `p${i}`, role: 'all', version: '1', host: 'here', pid: i, startedMs: 0, atMs: i, sinks: [] },
    watches: [{ key: 'pods#1', title: 'pods', phase }],
  })) as unknown as StatusReport['instances']
  return watchViews({ instances })[0]?.watch.phase
}

test.each<[Phase[], Phase]>([
  [['standby', 'watching', 'standby'], 'watching'],
  // The watch has just moved.
  [['watching', 'listing'], 'listing'],
  [['listing', 'watching'], 'watching'],
  // With leases, a process that does not reach the API server does not know who works on it.
  [['watching', 'reconnecting'], 'watching'],
  [['watching', 'failing'], 'watching'],
  [['listing', 'reconnecting'], 'listing'],
  [['standby', 'reconnecting', 'failing'], 'failing'],
  [['standby', 'standby'], 'standby'],
])('of processes that report %j, the one that works on the watch is shown: %s', (phases, shown) => {
  expect(shownOf(...phases)).toBe(shown)
})
