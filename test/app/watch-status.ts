import type { WatchStatus } from '../../src/model/status.ts'

/** A watch that works. */
export const WATCH: WatchStatus = {
  key: 'w',
  title: 'pods',
  phase: 'watching',
  resourceVersion: '1',
  lastContactMs: 0,
  aliveUntilMs: 0,
  ready: true,
}
