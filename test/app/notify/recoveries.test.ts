import { expect, test } from 'vitest'
import { nameOf, type OwnState } from '../../../src/app/notify/causes.ts'
import { parseName, progressOf, recoveryOf } from '../../../src/app/notify/recoveries.ts'
import { OWN_FAILURES } from '../../../src/config/schema/notify.ts'
import type { WatchStatus } from '../../../src/model/status.ts'
import { WATCH as PODS } from '../watch-status.ts'

const FAILING: WatchStatus = { ...PODS, title: 'jobs', phase: 'failing' }
const STANDBY: WatchStatus = { ...PODS, phase: 'standby' }
const hook = (healthy: boolean) => ({ sink: 'hook', healthy, quarantined: 0, failingTargets: 0 })
const WELL: OwnState = {
  watches: [PODS],
  metadata: [],
  sinks: [hook(true)],
  config: { appliedMs: 0 },
  newDeadLetters: new Map(),
  isLedgerBalanced: true,
}
const progress = (name: string, state: Partial<OwnState>, open: readonly string[] = []) =>
  progressOf(parseName(name) as NonNullable<ReturnType<typeof parseName>>, { ...WELL, ...state }, (it) =>
    open.includes(it),
  )

test.each<[string, string, Partial<OwnState>, ReturnType<typeof progressOf>]>([
  ['a healthy sink', 'sink-failing/hook', {}, 'over'],
  ['a sink that fails', 'sink-failing/hook', { sinks: [hook(false)] }, 'lasts'],
  ['a sink that is not known here', 'sink-failing/other', {}, undefined],
  ['a watch that works', 'watch-failing/pods', {}, 'over'],
  ['a watch that fails', 'watch-failing/jobs', { watches: [PODS, FAILING] }, 'lasts'],
  ['a watch that another process has', 'watch-failing/pods', { watches: [STANDBY] }, undefined],
  [
    'a watch that is still listing',
    'watch-failing/pods',
    { watches: [{ ...PODS, ready: false }] },
    undefined,
  ],
  [
    'metadata that cannot be read',
    'watch-failing/metadata of jobs',
    { metadata: [{ ...FAILING, title: 'metadata of jobs' }] },
    'lasts',
  ],
  [
    'metadata that is read again',
    'watch-failing/metadata of pods',
    { metadata: [{ ...PODS, title: 'metadata of pods' }] },
    'over',
  ],
  [
    'metadata that this process does not use, as another one has the watches',
    'watch-failing/metadata of jobs',
    { watches: [STANDBY], metadata: [{ ...FAILING, title: 'metadata of jobs' }] },
    undefined,
  ],
  [
    'many watches, none of which is here, as metadata that this process does not use fails',
    'watch-failing',
    { watches: [STANDBY], metadata: [FAILING] },
    undefined,
  ],
  ['metadata that no rule uses any more', 'watch-failing/metadata of jobs', {}, 'over'],
  ['a watch that is not configured any more', 'watch-failing/Pod', {}, 'over'],
  [
    'a watch that another process may have still, while this one resolves its kinds',
    'watch-failing/Pod',
    { watches: [PODS, { ...PODS, title: 'Job', phase: 'resolving', ready: false }] },
    undefined,
  ],
  ['a watch where this process watches nothing', 'watch-failing/Pod', { watches: [] }, undefined],
  ['many watches, of which one still fails', 'watch-failing', { watches: [PODS, FAILING] }, 'lasts'],
  ['many watches that work', 'watch-failing', {}, 'over'],
  ['many watches, none of which is here', 'watch-failing', { watches: [STANDBY] }, undefined],
  ['an accepted configuration', 'config-rejected', {}, 'over'],
  [
    'a rejected configuration',
    'config-rejected',
    { config: { appliedMs: 0, rejected: { sinceMs: 0, problem: 'p' } } },
    'lasts',
  ],
  ['a ledger that does not balance', 'ledger', { isLedgerBalanced: false }, 'lasts'],
  ['dead letters', 'dead-letter/hook', {}, undefined],
])('%s: a reported failure %s', (_what, name, state, expected) => {
  expect(progress(name, state)).toBe(expected)
})

test('the report that many watches fail is over while only watches with reports of their own fail', () => {
  const state = { watches: [PODS, FAILING] }
  expect(progress('watch-failing', state, ['watch-failing', 'watch-failing/jobs'])).toBe('over')
  expect(progress('watch-failing', state, ['watch-failing', 'watch-failing/pods'])).toBe('lasts')
  expect(progress('watch-failing/jobs', state, ['watch-failing', 'watch-failing/jobs'])).toBe('lasts')
})

test('the name of a failure is read back, whatever its subject contains', () => {
  for (const on of OWN_FAILURES)
    for (const subject of ['', 'pods in shop/a', 'a\nb']) {
      expect(parseName(nameOf({ on, subject }))).toEqual({ on, subject })
    }
  expect(parseName('heartbeat')).toBeUndefined()
  expect(parseName('__proto__/x')).toBeUndefined()
})

test('the report of a recovery has the subject and how long the failure lasted', () => {
  const report = recoveryOf({ on: 'sink-failing', subject: 'chat' }, 0, 12 * 60_000)
  expect(report).toMatchObject({ subject: 'chat', resolved: { sinceMs: 0, atMs: 720_000 } })
  expect(report.message).toMatch(/chat.*12m/)
})
