import { expect, test } from 'vitest'
import {
  causesOf,
  heartbeatOf,
  JoinedWatches,
  LastingCauses,
  nameOf,
  type OwnState,
} from '../../../src/app/notify/causes.ts'
import type { SinkStatus, WatchStatus } from '../../../src/model/status.ts'
import { WATCH as PODS } from '../watch-status.ts'

const WATCH: WatchStatus = { ...PODS, title: 'pods in shop' }
const sink = (name: string, more: Partial<SinkStatus> = {}): SinkStatus => ({
  sink: name,
  healthy: true,
  quarantined: 0,
  failingTargets: 0,
  ...more,
})
const WELL: OwnState = {
  watches: [WATCH],
  metadata: [],
  sinks: [sink('a'), sink('ops')],
  config: { appliedMs: 0 },
  newDeadLetters: new Map(),
  isLedgerBalanced: true,
}
/** The names of what is reported of causes that have lasted, while the reports of these names are open. */
const names = (state: Partial<OwnState>, open: readonly string[] = [], joined = new JoinedWatches()) => {
  const causes = causesOf({ ...WELL, ...state }, 'ops')
  const lasting = causes.map((it) => ({ ...it, sinceMs: 0 }))
  return joined.of(lasting, causes, (name) => open.includes(name)).map(nameOf)
}
const failing = (titles: readonly string[]): WatchStatus[] =>
  titles.map((title) => ({ ...WATCH, title, phase: 'failing' }))

test.each<[string, Partial<OwnState>, readonly string[]]>([
  ['nothing is reported while all is well', {}, []],
  [
    'a watch fails',
    { watches: [{ ...WATCH, phase: 'failing', lastError: '403' }] },
    ['watch-failing/pods in shop'],
  ],
  [
    'the kind of a watch cannot be resolved, as while the API server is away',
    { watches: [{ ...WATCH, phase: 'resolving', ready: false, lastError: 'ECONNREFUSED' }] },
    ['watch-failing/pods in shop'],
  ],
  [
    'a watch whose kind is asked for the first time is well',
    { watches: [{ ...WATCH, phase: 'resolving', ready: false }] },
    [],
  ],
  [
    'many watches that fail together are one report',
    { watches: ['a', 'b', 'c', 'd'].map((title) => ({ ...WATCH, title, phase: 'failing' })) },
    ['watch-failing'],
  ],
  [
    'a watch is far behind, whatever its phase',
    { watches: [{ ...WATCH, behind: { ms: 200_000, waitsFor: 'api-server' } }] },
    ['watch-failing/pods in shop'],
  ],
  [
    'a watch that is a moment behind is well',
    { watches: [{ ...WATCH, behind: { ms: 5_000, waitsFor: 'redis' } }] },
    [],
  ],
  [
    'metadata that rules use cannot be read',
    { metadata: [{ ...WATCH, phase: 'failing', title: 'metadata of namespaces', lastError: '403' }] },
    ['watch-failing/metadata of namespaces'],
  ],
  [
    'metadata is distinct from a watch of the same kind while neither is resolved',
    ...(() => {
      const pods: WatchStatus = {
        ...WATCH,
        title: 'Pod',
        phase: 'resolving',
        ready: false,
        lastError: 'ECONNREFUSED',
      }
      return [
        { watches: [pods], metadata: [pods] },
        ['watch-failing/Pod', 'watch-failing/metadata of Pod'],
      ] as const
    })(),
  ],
  [
    'metadata of a process without the API server, whose watches another one has, is not used',
    {
      watches: [{ ...WATCH, phase: 'reconnecting', lastError: 'ECONNREFUSED' }],
      metadata: [{ ...WATCH, behind: { ms: 200_000, waitsFor: 'api-server' } }],
    },
    [],
  ],
  [
    'metadata is behind where one of the watches is here',
    {
      watches: [WATCH, { ...WATCH, title: 'jobs', phase: 'standby' }],
      metadata: [{ ...WATCH, title: 'pods', behind: { ms: 200_000, waitsFor: 'api-server' } }],
    },
    ['watch-failing/metadata of pods'],
  ],
  [
    'metadata that is a moment behind is well',
    { metadata: [{ ...WATCH, behind: { ms: 5_000, waitsFor: 'api-server' } }] },
    [],
  ],
  ['a watch of another process is well here', { watches: [{ ...WATCH, phase: 'standby' }] }, []],
  ['a sink fails', { sinks: [sink('a', { healthy: false })] }, ['sink-failing/a']],
  [
    'what the own sink fails at would not reach it',
    { sinks: [sink('ops', { healthy: false })], newDeadLetters: new Map([['ops', 1]]) },
    [],
  ],
  ['there are dead letters', { newDeadLetters: new Map([['a', 12]]) }, ['dead-letter/a']],
  [
    'a configuration is rejected',
    { config: { appliedMs: 0, rejected: { sinceMs: 1, problem: 'p' } } },
    ['config-rejected'],
  ],
  ['the ledger does not balance', { isLedgerBalanced: false }, ['ledger']],
])('%s', (_what, state, expected) => {
  expect(names(state)).toEqual(expected)
})

test('a failure is reported when it has lasted for a minute, and from the beginning when it comes again', () => {
  const lasting = new LastingCauses()
  const failing = causesOf({ ...WELL, sinks: [sink('a', { healthy: false })] }, 'ops')
  const at = (seconds: number, causes = failing) => lasting.of(causes, seconds * 1_000).map(nameOf)
  expect(at(0)).toEqual([])
  expect(at(59)).toEqual([])
  expect(at(60)).toEqual(['sink-failing/a'])
  expect(at(70, [])).toEqual([])
  expect(at(71)).toEqual([])
  expect(at(131)).toEqual(['sink-failing/a'])
})

test('watches that fail without a break are reported, however the number of failing ones changes', () => {
  const lasting = new LastingCauses()
  const joined = new JoinedWatches()
  const reported: string[] = []
  for (let seconds = 0; seconds <= 60; seconds += 10) {
    const watches = failing(seconds % 80 < 40 ? ['a', 'b', 'c', 'd'] : ['a', 'b', 'c'])
    const causes = causesOf({ ...WELL, watches }, 'ops')
    reported.push(...joined.of(lasting.of(causes, seconds * 1_000), causes, () => false).map(nameOf))
  }
  expect(reported).toEqual(['watch-failing/a', 'watch-failing/b', 'watch-failing/c'])
})

test('many failing watches are one report as soon as one of them has lasted, with when it began', () => {
  const causes = causesOf({ ...WELL, watches: failing(['a', 'b', 'c', 'd']) }, 'ops')
  const lasting = causes.slice(0, 2).map((it, i) => ({ ...it, sinceMs: 1_000 - i }))
  const reports = new JoinedWatches().of(lasting, causes, () => false)
  expect(reports).toMatchObject([{ on: 'watch-failing', subject: '', sinceMs: 999 }])
  expect(reports[0]?.message).toContain('a, b, c, d')
  expect(new JoinedWatches().of([], causes, () => false)).toEqual([])
})

test('while the report that many watches fail is open, those that still fail have none of their own', () => {
  const watches = failing(['a', 'b'])
  const joined = new JoinedWatches()
  expect(names({ watches: failing(['a', 'b', 'c', 'd']) }, [], joined)).toEqual(['watch-failing'])
  expect(names({ watches }, ['watch-failing'], joined)).toEqual(['watch-failing'])
  expect(names({ watches }, ['watch-failing', 'watch-failing/a'], joined)).toEqual([
    'watch-failing/a',
    'watch-failing',
  ])
})

test('while the report that many watches fail is open, one that begins to fail has its own, also after it was one of them', () => {
  const joined = new JoinedWatches()
  const at = (...titles: string[]) => names({ watches: failing(titles) }, ['watch-failing'], joined)
  names({ watches: failing(['a', 'b', 'c', 'd']) }, [], joined)
  expect(at('a', 'b', 'new')).toEqual(['watch-failing/new', 'watch-failing'])
  expect(at('a')).toEqual(['watch-failing'])
  expect(at('a', 'b')).toEqual(['watch-failing/b', 'watch-failing'])
  expect(at('a', 'b', 'c', 'new')).toEqual(['watch-failing'])
})

test('a watch is not joined by one moment at which many fail', () => {
  const joined = new JoinedWatches()
  const isOpen = (name: string) => name === 'watch-failing'
  const causes = (titles: readonly string[]) => causesOf({ ...WELL, watches: failing(titles) }, 'ops')
  expect(joined.of([], causes(['a', 'b', 'c', 'd']), isOpen)).toEqual([])
  const later = causes(['a']).map((it) => ({ ...it, sinceMs: 0 }))
  expect(joined.of(later, causes(['a']), isOpen).map(nameOf)).toEqual(['watch-failing/a'])
})

test('a watch whose own report is open is not joined with others', () => {
  const watches = failing(['a', 'b', 'c', 'd'])
  const single = ['a', 'b', 'c', 'd'].map((it) => `watch-failing/${it}`)
  expect(names({ watches }, single.slice(0, 1))).toEqual(single)
  const more = failing(['e', 'f', 'g'])
  expect(names({ watches: [...watches, ...more] }, single.slice(0, 1))).toEqual([single[0], 'watch-failing'])
})

test('dead letters and a rejected configuration have happened: they are reported immediately', () => {
  const config = { appliedMs: 0, rejected: { sinceMs: 1, problem: 'p', place: 'kubeherald.yaml:3' } }
  const causes = causesOf({ ...WELL, newDeadLetters: new Map([['a', 1]]), config }, 'ops')
  expect(new LastingCauses().of(causes, 0)).toHaveLength(2)
  expect(causes.map(({ message }) => message).join()).toContain('kubeherald.yaml:3')
})

test('a heartbeat says what follows the cluster; there is none where nothing does', () => {
  expect(heartbeatOf(WELL)?.message).toContain('1 of 1 watches')
  expect(heartbeatOf({ ...WELL, watches: [] })).toBeUndefined()
  expect(heartbeatOf({ ...WELL, watches: [{ ...WATCH, phase: 'failing' }] })).toBeUndefined()
  const behind = { ms: 200_000, waitsFor: 'api-server' } as const
  expect(heartbeatOf({ ...WELL, watches: [{ ...WATCH, behind }] })).toBeUndefined()
  expect(heartbeatOf({ ...WELL, watches: [WATCH, { ...WATCH, behind }] })?.message).toContain(
    '1 of 2 watches',
  )
})
