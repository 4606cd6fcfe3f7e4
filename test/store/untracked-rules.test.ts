import { expect, test } from 'vitest'
import type { WatchStatus } from '../../src/model/status.ts'
import { silentLog } from '../../src/observe/log.ts'
import { planOf, type RulePlan } from '../../src/rules/limits/rule-plan.ts'
import { listIncidents } from '../../src/store/control/incidents.ts'
import { startLimitStateGc } from '../../src/store/limits/limit-state-gc.ts'
import { publishReport } from '../../src/store/process-reports.ts'
import { DATABASE } from '../rules/events.ts'
import { limitsIn } from '../rules/limits/bed.ts'
import { waitFor } from '../wait-for.ts'
import { SOURCE } from './objects.ts'
import { startRealLimits } from './real-limits-bed.ts'

const STATUS: WatchStatus = {
  ...{ key: SOURCE.key, title: SOURCE.title, resourceVersion: '1', lastContactMs: 0 },
  ...{ phase: 'watching', aliveUntilMs: 0, ready: true, current: true },
}
const RESOLVED = [
  { name: 'r', ...limitsIn({ resolve: true }) },
  { name: 'other', ...limitsIn({ resolve: true }) },
  { name: 'counted', ...limitsIn({ count: { at: [1] } }) },
]

/** Open incidents of `r` and `other`, an Event that `counted` counts, and a process that collects what is no longer used. */
async function startGcBed(source = SOURCE) {
  const it = await startRealLimits(RESOLVED)
  const stack = new AsyncDisposableStack()
  stack.use(it)
  const { happen } = await it.watch(source)
  await happen({ at: 0 })
  await happen({ at: 0, rule: 'other' })
  await happen({ at: 0, rule: 'counted', reason: 'BackOff', uid: 'event' })
  const store = it.newStore()
  const state = {
    untracked: ['counted'],
    looks: 0,
    digests: [] as string[],
    kinds: kindsOf('ConfigMap'),
  }
  const gc = startLimitStateGc({
    ...{ redis: it.reader, commitConnection: store.commitConnection, keys: it.keys, store },
    ...{ clock: Date, log: silentLog, watches: () => [STATUS] },
    rules() {
      state.looks++
      return ['r', 'other', 'counted']
    },
    untracked: () => state.untracked,
    tracked: () => state.kinds,
    timing: { pollMs: 10, unwantedMs: 50 },
  })
  stack.defer(() => gc.close())
  /** Reports of processes, which expire, by the digests of their configurations. */
  async function report(): Promise<void> {
    for (const [i, digest] of state.digests.entries()) {
      const fixed = { role: 'all', version: '1', host: 'here', pid: 1, startedMs: 0, atMs: 0 } as const
      const rules = ['r', 'other', 'counted'].map((rule) => ({ rule }))
      const config = { digest, appliedMs: 0 }
      await publishReport(it.reader, it.keys, {
        ...fixed,
        ...{ id: `p${i}`, sinks: [], watches: [STATUS], config, rules },
      })
    }
  }
  return {
    ...it,
    happen,
    state,
    report,
    /** Lets it look for longer than it waits. */
    async looks() {
      const { looks } = state
      const untilMs = performance.now() + 200
      const isLong = async () => {
        await report()
        return state.looks > looks + 10 && performance.now() > untilMs
      }
      await waitFor(isLong, { what: 'some looks' })
    },
    states: async () => (await it.reader.hkeys(it.keys.ownLimits(SOURCE.key))).toSorted(),
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  }
}

/** The plans of a configuration in which `r` matches this kind, and `other` each. */
function kindsOf(kind: string): ReadonlyMap<string, RulePlan> {
  const rules = [
    { name: 'r', when: { kind }, ...limitsIn({ resolve: true }) },
    { name: 'other', ...limitsIn({ resolve: true }) },
  ]
  return new Map(rules.map((rule) => [rule.name, planOf(rule)]))
}

const ALL = ['event:counted', 'u-web:other', 'u-web:r']

test('open incidents of a rule that no longer tracks states are forgotten: the next one is sent if it tracks them again', async () => {
  await using it = await startGcBed()
  await it.looks()
  expect(await it.states()).toEqual(ALL)
  it.state.untracked = ['r', 'counted']
  await waitFor(async () => (await it.states()).length < 3, { what: 'the incident to be forgotten' })
  await it.looks()
  expect(await it.states()).toEqual(['event:counted', 'u-web:other'])
  expect((await listIncidents(it.reader, it.keys)).items.map(({ rule }) => rule)).toEqual(['other'])
  it.state.untracked = ['counted']
  const before = (await it.deliveries()).length
  await it.happen({ at: 0, id: 'next' })
  expect((await it.deliveries()).slice(before).map(({ event }) => event.id)).toEqual(['next'])
})

test('they are kept while another process has another configuration, in which the rule may track them', async () => {
  await using it = await startGcBed()
  it.state.digests = ['new', 'old']
  await it.report()
  it.state.untracked = ['r', 'counted']
  await it.looks()
  expect(await it.states()).toEqual(ALL)
  it.state.digests = ['new', 'new']
  await it.report()
  await waitFor(async () => (await it.states()).length < 3, { what: 'the incident to be forgotten' })
})

test('open incidents of a kind that a rule no longer matches are forgotten, once all processes have that configuration', async () => {
  await using it = await startGcBed()
  it.state.digests = ['new', 'old']
  await it.report()
  it.state.kinds = kindsOf('Deployment')
  await it.looks()
  expect(await it.states()).toEqual(ALL)
  it.state.digests = ['new', 'new']
  await it.report()
  await waitFor(async () => (await it.states()).length < 3, { what: 'the incident to be forgotten' })
  await it.looks()
  expect(await it.states()).toEqual(['event:counted', 'u-web:other'])
  it.state.kinds = kindsOf('ConfigMap')
  const before = (await it.deliveries()).length
  await it.happen({ at: 0, id: 'next' })
  expect((await it.deliveries()).slice(before).map(({ event }) => event.id)).toEqual(['next'])
})

test('they are kept if the rule matches another version of the kind', async () => {
  await using it = await startGcBed({ ...SOURCE, resource: DATABASE })
  it.state.kinds = kindsOf('stable.example.com/v1/Database')
  await it.looks()
  expect(await it.states()).toEqual(ALL)
  it.state.kinds = kindsOf('example.com/v1/Database')
  await waitFor(async () => (await it.states()).length < 3, { what: 'the incident to be forgotten' })
})
