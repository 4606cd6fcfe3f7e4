import { expect, test } from 'vitest'
import { parse } from 'yaml'
import { createScenario } from '../../../src/cli/dry-run/scenario.ts'
import { convert } from '../../../src/cli/import/import.ts'
import { dryRunOf } from './dry-run-of.ts'
import { happenings } from './happenings.ts'
import { eventExporter, type Happening } from './source-models.ts'

const KINDS = [
  ...['pods', 'services', 'deployments.apps', 'jobs.batch', 'certificates.cert-manager.io'],
  'horizontalpodautoscalers.autoscaling',
]

/** Returns how many Events the source and the configuration made of it send, and those that only the latter sends. */
async function compared(
  route: object,
  changes: readonly Happening[] = happenings(300, KINDS),
): Promise<{ source: number; here: number; more: string[] }> {
  const config = { route, receivers: [{ name: 'a', stdout: {} }] }
  const { text, losses, problems } = await convert(
    JSON.stringify(config),
    'it.yaml',
    'kubernetes-event-exporter',
  )
  expect([losses.rules, problems.filter(({ severity }) => severity === 'error')]).toEqual([0, []])
  const run = await dryRunOf(text)
  const known = new Set(run.snapshot.needs.metadata.map(({ kind }) => kind))
  let [source, here] = [0, 0]
  const more: string[] = []
  for (const [i, it] of changes.entries()) {
    if (it.resource !== 'events') continue
    const scenario = createScenario({ run, cluster: 'test', salt: Buffer.from('salt') })
    const atMs = Date.parse('2026-11-21T09:00:00Z') + i * 1_000
    if (it.about && known.has(it.about.object.kind)) scenario.addRelated(it.about.object, atMs)
    const result = scenario.change({ ...it, atMs })
    if (!result.ok) throw new Error(JSON.stringify(result.faults))
    const isSent = run.evaluate(result.event, atMs).sent.length > 0
    const isAllowed = eventExporter(config, it).size > 0
    if (isSent && !isAllowed) more.push(JSON.stringify(it))
    source += Number(isAllowed)
    here += Number(isSent)
  }
  return { source, here, more }
}

test.each([
  ...['Pod', '^Pod$', 'Pod|Job', '^(Pod|Job)$', '^Pod', 'Certificate', '^Certificate$', 'Horizontal.+'],
  ...['pod', '^pod$', 'job', 'Pods', '^Pods', '^Pods$', '^hpa$', '^Po$', '^CERT', '^Certificates$'],
  ...['s$', '[^P]', 'apps', 'Service|pod', '(?i)^job$', '.*'],
])('the kind %s drops and matches the same Events as in the source', async (kind) => {
  for (const route of [
    { drop: [{ kind }], match: [{ receiver: 'a' }] },
    { routes: [{ drop: [{ kind }], match: [{ receiver: 'a' }] }] },
    { match: [{ kind, receiver: 'a' }] },
  ]) {
    const { source, here, more } = await compared(route)
    expect({ here, more }).toEqual({ here: source, more: [] })
  }
})

test('capital letters in every name keep an expression in "when"', async () => {
  const config = {
    route: { match: [{ kind: '^(Pod|Job)$', receiver: 'a' }] },
    receivers: [{ name: 'a', stdout: {} }],
  }
  const { text } = await convert(JSON.stringify(config), 'it.yaml', 'kubernetes-event-exporter')
  expect(text).not.toContain('if:')
})

test.each([
  { drop: [{ labels: { alerts: 'off' } }], match: [{ receiver: 'a' }] },
  { drop: [{ annotations: { 'team/alerts': 'yes' } }], match: [{ receiver: 'a' }] },
  {
    drop: [{ kind: 'Service|Pod', labels: { alerts: 'off' } }],
    match: [{ kind: '^(Service|Pod)$', receiver: 'a' }],
  },
  { drop: [{ kind: '^Service$', labels: { alerts: 'off' } }], match: [{ receiver: 'a' }] },
  { routes: [{ drop: [{ labels: { alerts: 'off' } }], match: [{ receiver: 'a' }] }] },
])('what %j drops by metadata is not sent, whatever the Event is about', async (route) => {
  const { here, more } = await compared(route)
  expect(more).toEqual([])
  expect(here).toBeGreaterThan(0)
})

test('a drop of a kind whose labels are known restricts no other kinds', async () => {
  const drop = [{ kind: '^Service$', labels: { alerts: 'off' } }]
  const { source, here } = await compared({ drop, match: [{ receiver: 'a' }] })
  expect(here).toBe(source)
})

/** Events as clients of both APIs write them: the new ones have no count, or that of a series. */
const AT = '2026-11-21T09:00:00.000000Z'
const COUNTS: readonly object[] = [
  { eventTime: AT },
  { eventTime: AT, series: { count: 7, lastObservedTime: AT } },
  ...[0, 1, 2, 7].map((count) => ({ count })),
]
const counted = happenings(300, KINDS).map((it, i): Happening => {
  const { count: _, ...object } = it.object
  return it.about ? { ...it, object: { ...object, ...COUNTS[i % COUNTS.length] } } : it
})

test.each([-1, 0, 1, 2, 5])('minCount: %i asks for the count that an Event has itself', async (minCount) => {
  for (const route of [
    { match: [{ minCount, receiver: 'a' }] },
    { drop: [{ minCount, reason: 'BackOff' }], match: [{ receiver: 'a' }] },
    { routes: [{ drop: [{ minCount, reason: 'BackOff' }], match: [{ receiver: 'a' }] }] },
    { routes: [{ drop: [{ minCount: minCount + 2 }], match: [{ receiver: 'a' }] }] },
  ]) {
    const { source, here, more } = await compared(route, counted)
    expect(here).toBeGreaterThan(0)
    expect({ here, more }).toEqual({ here: source, more: [] })
  }
})

const LONG = Array.from({ length: 60 }, (_, i) => `namespace-of-a-team-${i}`).join('|')

test.each([
  ['a message', { message: '.{0,1000}timed out.{0,1000}' }],
  ['many namespaces', { namespace: LONG }],
  ['a long component', { component: 'x'.repeat(20_001) }],
  ['one condition of two', { reason: 'Failed', message: LONG }],
])('no rule stays on behind a drop at the root that kubeherald rejects: %s', async (_, condition) => {
  const match = [{ receiver: 'a' }, { type: 'Normal', receiver: 'a' }]
  const config = {
    route: { drop: [{ reason: 'Pulled' }, condition], match },
    receivers: [{ name: 'a', stdout: {} }],
  }
  const { text, losses } = await convert(JSON.stringify(config), 'it.yaml', 'kubernetes-event-exporter')
  const rules: { to?: unknown }[] = parse(text).rules
  expect(rules.filter(({ to }) => to !== undefined)).toEqual([])
  expect(losses.rules).toBe(3)
})
