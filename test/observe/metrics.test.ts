import { request } from 'undici'
import { expect, test } from 'vitest'
import { createMetrics, startAtZero } from '../../src/observe/metrics.ts'
import type { Vitals } from '../../src/observe/server/health.ts'
import { startServer } from '../../src/observe/server/http.ts'
import { version } from '../../src/version.ts'

const CONFIG = {
  sinks: [{ name: 'hook' }],
  rules: [
    { name: 'all' },
    { name: 'noise', drop: true },
    { name: 'storm', group: { waitMs: 1_000 } },
    { name: 'down', condition: { for: 120_000 }, resolve: true },
  ],
}
const WATCH: Vitals['watches'][number] = {
  key: 'pods#1',
  title: 'pods',
  phase: 'watching',
  resourceVersion: '7',
  lastContactMs: 90,
  aliveUntilMs: 200,
  ready: true,
}
const VITALS: Vitals = {
  nowMs: 100,
  watches: [WATCH],
  sinks: [{ sink: 'hook', healthy: true, quarantined: 0, failingTargets: 0 }],
  redisTrouble: undefined,
  redisFull: false,
  stopping: false,
}

async function bed() {
  const metrics = createMetrics()
  await startAtZero(metrics, CONFIG)
  let vitals = VITALS
  const server = await startServer({ host: '127.0.0.1', port: 0, metrics, vitals: () => vitals })
  return {
    metrics,
    become: (change: Partial<Vitals>) => {
      vitals = { ...VITALS, ...change }
    },
    scrape: async () => {
      const { body } = await request(`${server.url}/metrics`)
      return (await body.text()).split('\n')
    },
    [Symbol.asyncDispose]: () => server.close(),
  }
}

const OWN = (await createMetrics().registry.getMetricsAsJSON()).filter(({ name }) =>
  name.startsWith('kubeherald_'),
)

/** promtool's rules, and the base units of Prometheus. */
test.each(OWN.map((metric) => [metric.name, metric] as const))(
  '%s is named as Prometheus wants it',
  (name, it) => {
    const type = String(it.type)
    expect(it.help).toMatch(/^[A-Z0-9].*\.$/)
    expect(name).toMatch(/^kubeherald(_[a-z]+)+$/)
    expect(name.endsWith('_total')).toBe(type === 'counter')
    expect(name).not.toMatch(/_(counter|gauge|histogram|count|sum|bucket)(_|$)/)
    expect(name).not.toMatch(
      /_(ms|millis\w*|minutes?|hours?|days?|kb|mb|kib|mib|kilo\w*|mega\w*|percent)(_|$)/,
    )
    expect(name).not.toMatch(/_(seconds|bytes)_(?!total$)/)
    if (/duration|latency|oldest/.test(name)) expect(name).toMatch(/_seconds$/)
    if (/memory/.test(name)) expect(name).toMatch(/_bytes$/)
    if (/^(Age|Memory|From .* to)\b/.test(it.help)) expect(name).toMatch(/_(seconds|bytes)$/)
  },
)

test('what every process has bears the names that dashboards know', async () => {
  await using it = await bed()
  const names = (await it.scrape()).flatMap((line) => /^# TYPE (\S+)/.exec(line)?.[1] ?? [])
  expect(names).toEqual(
    expect.arrayContaining([
      'process_cpu_seconds_total',
      'process_resident_memory_bytes',
      'process_start_time_seconds',
      'nodejs_eventloop_lag_seconds',
      'nodejs_heap_size_used_bytes',
    ]),
  )
  expect(names.filter((name) => !/^(kubeherald|process|nodejs)_/.test(name))).toEqual([])
  expect(names.filter((name) => /^kubeherald_(process|nodejs)_/.test(name))).toEqual([])
})

test('the version that runs is told', async () => {
  await using it = await bed()
  expect(await it.scrape()).toContain(
    `kubeherald_build_info{version="${version}",node_version="${process.versions.node}"} 1`,
  )
})

test.each([
  'kubeherald_deliveries_enqueued_total{sink="hook"} 0',
  'kubeherald_deliveries_delivered_total{sink="hook"} 0',
  'kubeherald_deliveries_retried_total{sink="hook",reason="network"} 0',
  'kubeherald_deliveries_dead_total{sink="hook",reason="rejected"} 0',
  'kubeherald_delivery_latency_seconds_count{sink="hook"} 0',
  'kubeherald_dead_letters{sink="hook"} 0',
  'kubeherald_rule_errors_total{rule="all"} 0',
  'kubeherald_rule_suppressed_total{rule="noise",limit="drop"} 0',
  'kubeherald_rule_suppressed_total{rule="storm",limit="gone"} 0',
  'kubeherald_rule_suppressed_total{rule="down",limit="for"} 0',
  'kubeherald_rule_suppressed_total{rule="down",limit="gone"} 0',
  'kubeherald_rule_notices_total{rule="storm",notice="digest"} 0',
  'kubeherald_rule_notices_total{rule="down",notice="resolved"} 0',
  'kubeherald_changes_observed_total{watch="pods"} 0',
  'kubeherald_frames_malformed_total{watch="pods"} 0',
  'kubeherald_objects_oversized_total{watch="pods"} 0',
  'kubeherald_commits_fenced_total{watch="pods"} 0',
  'kubeherald_watch_relists_total{watch="pods",cause="expired"} 0',
  'kubeherald_watch_reconnects_total{watch="pods",cause="network"} 0',
  'kubeherald_watch_relists_total{watch="pods",cause="stalled"} 0',
])('before anything happens there is %s', async (sample) => {
  await using it = await bed()
  expect(await it.scrape()).toContain(sample)
})

test('zero is where a counter begins, and nothing that it is set to again', async () => {
  await using it = await bed()
  await it.scrape()
  it.metrics.observed.inc({ watch: 'pods' }, 3)
  expect(await it.scrape()).toContain('kubeherald_changes_observed_total{watch="pods"} 3')
})

test('a kind that is resolved leaves no sample under the name that the configuration gave it', async () => {
  await using it = await bed()
  it.become({ watches: [{ ...WATCH, key: 'Pod', title: 'Pod', phase: 'resolving', ready: false }] })
  const before = await it.scrape()
  expect(before).toContain('kubeherald_watch_ready{watch="Pod"} 0')
  expect(before.join('\n')).not.toContain('kubeherald_changes_observed_total{watch="Pod"}')
  it.become({})
  const after = await it.scrape()
  expect(after).toContain('kubeherald_watch_ready{watch="pods"} 1')
  expect(after.join('\n')).not.toContain('watch="Pod"')
})

test('a watch that another process works on is as ready as it is there', async () => {
  await using it = await bed()
  it.become({ watches: [{ ...WATCH, phase: 'standby' as 'watching' }] })
  expect(await it.scrape()).toContain('kubeherald_watch_ready{watch="pods"} 1')
  it.become({ watches: [{ ...WATCH, phase: 'standby' as 'watching', ready: false }] })
  expect(await it.scrape()).toContain('kubeherald_watch_ready{watch="pods"} 0')
})

test('how far a watch is behind is known by the process that works on it, or by each if none does, in seconds', async () => {
  await using it = await bed()
  expect(await it.scrape()).toContain('kubeherald_watch_lag_seconds{watch="pods"} 0')
  const behind = { ms: 90_500, waitsFor: 'api-server' as const }
  it.become({ watches: [{ ...WATCH, behind }] })
  expect(await it.scrape()).toContain('kubeherald_watch_lag_seconds{watch="pods"} 90.5')
  it.become({ watches: [{ ...WATCH, behind, phase: 'standby' }] })
  expect((await it.scrape()).join('\n')).not.toContain('kubeherald_watch_lag_seconds{')
  it.become({ watches: [{ ...WATCH, behind, phase: 'standby', holder: '' }] })
  expect(await it.scrape()).toContain('kubeherald_watch_lag_seconds{watch="pods"} 90.5')
})

test('a sink that recovers is healthy again', async () => {
  await using it = await bed()
  it.become({ sinks: [{ sink: 'hook', healthy: false, quarantined: 0, failingTargets: 0 }] })
  expect(await it.scrape()).toContain('kubeherald_sink_healthy{sink="hook"} 0')
  it.become({})
  expect(await it.scrape()).toContain('kubeherald_sink_healthy{sink="hook"} 1')
})
