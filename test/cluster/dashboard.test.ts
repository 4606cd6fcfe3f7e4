import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { asGrafanaAsks, readDashboard } from '../observe/dashboard.ts'
import { type FakeCluster, startFakeCluster } from '../servers/fake-broker.ts'
import type { Kubernetes } from '../servers/kubernetes.ts'
import { borrowKubernetes } from '../servers/kubernetes-pool.ts'
import { type Prometheus, promtool, type Sample, startPrometheus } from '../servers/prometheus.ts'
import { type Receiver, startReceiver } from '../servers/receiver.ts'
import { type RedisServer, startRedis } from '../servers/redis.ts'
import { type FakeSlack, startSlack } from '../servers/slack.ts'
import { type FakeSmtp, startSmtp } from '../servers/smtp.ts'
import { waitFor } from '../wait-for.ts'
import { type Kubeherald, startKubeherald } from './kubeherald.ts'

const ALERTS = fileURLToPath(new URL('../../deploy/prometheus/alerts.yaml', import.meta.url))
const { panels, templating } = readDashboard()
/** Prometheus scrapes once a second; a page of metrics asked for more often only costs. */
const POLL_MS = 200
const PASSWORD = 'pa55word-of-the-brokers'

let kubernetes: Kubernetes
let redis: RedisServer
let slack: FakeSlack
let kafka: FakeCluster
let smtp: FakeSmtp
let well: Receiver
let refusing: Receiver
let down: Receiver
let kubeherald: Kubeherald
/** The same configuration, once more: of each watch one of the two stands by. */
let second: Kubeherald
let prometheus: Prometheus
const opened = new AsyncDisposableStack()

beforeAll(async () => {
  kubernetes = opened.use(await borrowKubernetes())
  redis = opened.use(await startRedis({ args: ['--maxmemory', '100mb'] }))
  slack = opened.use(await startSlack({ perSecond: 200, burst: 200 }))
  slack.channel('shop')
  kafka = opened.use(await startFakeCluster({ events: [0] }))
  kafka.password = PASSWORD
  smtp = opened.use(await startSmtp())
  well = opened.use(await startReceiver())
  refusing = opened.use(await startReceiver())
  down = opened.use(await startReceiver())
  const dir = mkdtempSync(join(tmpdir(), 'kubeherald-dashboard-'))
  opened.defer(() => rmSync(dir, { recursive: true, force: true }))
  const start = async (name: string) => {
    const config = configOf(join(dir, name))
    return opened.use(await startKubeherald({ kubeconfig: kubernetes.kubeconfig, config }))
  }
  kubeherald = await start('first')
  second = await start('second')
  const targets = [kubeherald, second].map(({ url }) => new URL(url).host)
  prometheus = opened.use(await startPrometheus({ targets: { any: targets }, ruleFiles: [ALERTS] }))
})
afterAll(() => opened.disposeAsync())

function configOf(path: string): string {
  const brokers = JSON.stringify(kafka.brokers)
  return `
cluster: test
redis: { url: "${redis.url}" }
leases: true
watch: [{ kind: ConfigMap, verify: 6h }, Namespace, Pod]
sinks:
  well: { type: webhook, url: "${well.url}" }
  refusing: { type: webhook, url: "${refusing.url}" }
  down: { type: webhook, url: "${down.url}" }
  chat: { type: slack, token: ${slack.token}, apiUrl: ${slack.apiUrl}, channel: "#shop" }
  bus: { type: kafka, brokers: ${brokers}, topic: events, compression: none, sasl: { mechanism: plain, username: herald, password: ${PASSWORD} } }
  mail: { type: email, host: 127.0.0.1, port: ${smtp.port}, tls: none, from: k@example.com, to: o@example.com }
  log: { type: file, path: "${path}.ndjson" }
  screen: { type: stdout }
  quiet: { type: stdout }
rules:
  - { name: noise, when: { namespace: kube-system }, drop: true }
  - { name: all, when: { kind: ConfigMap, name: "it-*" }, to: [well, refusing, chat, bus, mail, log, screen] }
  - name: told-less
    when: { kind: ConfigMap, name: "it-*", namespaceLabels: "kubernetes.io/metadata.name" }
    throttle: { per: rule, every: 1s, burst: 3 }
    group: { by: rule, wait: 1s }
    to: [quiet]
  - { name: pods, when: { kind: Pod }, logs: true, to: [screen] }
  - { name: late, when: { kind: ConfigMap, namespace: "*-late-*" }, to: [down] }`
}

/** Namespaces and ConfigMaps with names, labels and annotations that nothing else has. */
async function churn(round: string, { namespaces, each }: { namespaces: number; each: number }) {
  for (let n = 0; n < namespaces; n++) {
    const namespace = `team-${round}-${n}`
    await kubernetes.request('POST', '/api/v1/namespaces', { metadata: { name: namespace } })
    const put = (i: number) =>
      kubernetes.request('POST', `/api/v1/namespaces/${namespace}/configmaps`, {
        metadata: { name: `it-${round}-${n}-${i}`, labels: { [`l-${n}`]: `v-${i}` } },
        data: { [`k-${i}`]: 'v' },
      })
    await Promise.all(Array.from({ length: each }, (_, i) => put(i)))
  }
}

async function allDelivered(): Promise<void> {
  const pending = async () => {
    const { ledger } = await kubeherald.status()
    return Object.values(ledger.sinks as Record<string, any>).reduce((sum, it) => sum + it.pending, 0)
  }
  await waitFor(async () => (await pending()) === 0, {
    timeoutMs: 60_000,
    what: 'everything to be delivered',
  })
}

/** Every series of ours, without the buckets' and others' values. */
async function series(): Promise<string[]> {
  const lines = `${await kubeherald.metrics()}${await second.metrics()}`.split('\n')
  return lines.flatMap((line) => /^(kubeherald_\S+) /.exec(line)?.[1] ?? []).toSorted()
}

async function alerts(): Promise<Record<string, string>> {
  await pause(POLL_MS)
  const all = await prometheus.alerts()
  return Object.fromEntries(all.map(({ labels, state }) => [labels['alertname'] ?? '', state]))
}

/** Of both processes: a digest is told by whichever looks first. */
async function told(): Promise<string> {
  await pause(POLL_MS)
  return (await Promise.all([kubeherald.metrics(), second.metrics()])).join('')
}

const finite = ({ value }: Sample) => Number.isFinite(Number(value[1]))

test('what a run with all types of sinks tells is as Prometheus wants it, and no metric is empty', async () => {
  await churn('a', { namespaces: 2, each: 5 })
  await kubernetes.request('POST', '/api/v1/namespaces/team-a-0/pods', {
    metadata: { name: 'without-a-node' },
    spec: { containers: [{ name: 'app', image: 'example.com/app' }] },
  })
  await allDelivered()
  await waitFor(async () => /^kubeherald_log_reads_total\{/m.test(await told()), {
    what: "a container's log",
  })
  await waitFor(async () => /^kubeherald_rule_notices_total\{.*\} [1-9]/m.test(await told()), {
    what: 'a digest',
  })
  // Some gauges are read from Redis every few seconds.
  await waitFor(async () => /^kubeherald_watch_objects\{/m.test(await kubeherald.metrics()), {
    what: 'where the watches stand',
  })
  const text = await kubeherald.metrics()
  expect(promtool(['check', 'metrics'], text)).toEqual({ code: 0, output: '' })
  const types = [...text.matchAll(/^# TYPE (kubeherald_\w+)/gm)].map(([, name = '']) => name)
  expect(types).toEqual(
    expect.arrayContaining(['kubeherald_slack_digests_total', 'kubeherald_file_rotations_total']),
  )
  const both = await told()
  const sampled = (name: string) => new RegExp(`^${name}(_count)?[ {]`, 'm').test(both)
  expect(types.filter((name) => !sampled(name))).toEqual([])
})

test('two processes that are well, one of which stands by, have no alert, not even a pending one', async () => {
  await waitFor(async () => (await prometheus.query('count_over_time(kubeherald_build_info[1m]) > 4'))[0], {
    what: 'Prometheus to have scraped',
  })
  await waitFor(async () => (await prometheus.query('kubeherald_watch_phase{phase="standby"} == 1'))[0], {
    what: 'one of the processes to stand by',
  })
  await waitFor(async () => (await prometheus.rules()).every(({ health }) => health !== 'unknown'), {
    what: 'the rules to be evaluated',
  })
  const faults = (await prometheus.rules()).filter(({ health }) => health !== 'ok')
  expect(faults).toEqual([])
  expect(await alerts()).toEqual({})
})

test('objects in many namespaces, with labels of their own, make no series', async () => {
  const before = await series()
  await churn('b', { namespaces: 12, each: 5 })
  await allDelivered()
  expect(await series()).toEqual(before)
})

test('every panel shows data, while one sink fails and another refuses', async () => {
  refusing.answer(() => ({ status: 400 }))
  down.answer(() => ({ status: 503 }))
  await churn('late', { namespaces: 1, each: 10 })
  await waitFor(
    async () => {
      const { KubeheraldDeadLetters, KubeheraldSinkFailing } = await alerts()
      return KubeheraldDeadLetters === 'firing' && KubeheraldSinkFailing === 'pending'
    },
    { timeoutMs: 40_000, what: 'the sinks that fail and refuse to be told' },
  )
  const empty: string[] = []
  for (const { title, targets = [] } of panels) {
    for (const { expr } of targets) {
      const samples = await prometheus.query(asGrafanaAsks(expr))
      if (!samples.some(finite)) empty.push(`${title}: ${expr}`)
    }
  }
  expect(empty).toEqual([])
})

test('every variable has values', async () => {
  for (const { type, definition = '' } of templating.list) {
    if (type !== 'query') continue
    const [, of = '', label = ''] = /^label_values\((.*), (\w+)\)$/.exec(definition) ?? []
    expect(await prometheus.labelValues(label, asGrafanaAsks(of)), definition).not.toEqual([])
  }
})

test('Redis that is nearly full, and then gone, is told', async () => {
  const used = Number((await prometheus.query('max(kubeherald_redis_memory_bytes)'))[0]?.value[1])
  await redis.command('CONFIG', 'SET', 'maxmemory', String(Math.round(used * 1.1)))
  await waitFor(
    async () => {
      const { KubeheraldRedisMemoryHigh, KubeheraldBackPressure } = await alerts()
      return KubeheraldRedisMemoryHigh === 'pending' && KubeheraldBackPressure === 'pending'
    },
    { what: 'a full Redis to be told' },
  )
  await redis.kill()
  await waitFor(async () => (await alerts())['KubeheraldRedisDown'] === 'pending', {
    what: 'Redis that is gone to be told',
  })
})
