import { setTimeout as pause } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { type Kafka, startKafka } from '../servers/kafka.ts'
import { readTopic } from '../servers/kcat.ts'
import { borrowKubernetes } from '../servers/kubernetes-pool.ts'
import { type Receiver, startReceiver } from '../servers/receiver.ts'
import { startRedis } from '../servers/redis.ts'
import { type FakeSlack, startSlack } from '../servers/slack.ts'
import { waitFor } from '../wait-for.ts'
import { type Arrival, arrivalOf, differences } from './compare.ts'
import { currentRevision, etcdHistory, type HistoryEntry } from './etcd-history.ts'
import { startKubeherald } from './kubeherald.ts'
import { CONFIG_MAPS, churn } from './workload.ts'

/** Several times as many changes as are on their way to a sink at once. */
const OBJECTS = 172
const KILLS = 3

test('sinks, acceptance 1: four sinks get 600 changes over kills of kubeherald, of brokers, and storms of 429', async () => {
  await using kubernetes = await borrowKubernetes({})
  await using redis = await startRedis()
  await using kafka = await startKafka({ brokers: 3 })
  await using slack = await startSlack({ perSecond: 50, burst: 50 })
  await using good = await startReceiver()
  await using moody = await startReceiver()
  slack.channel('changes')
  let requests = 0
  moody.answer(() => ({ status: requests++ % 7 === 3 ? 503 : 200 }))

  await using kubeherald = await startKubeherald({
    kubeconfig: kubernetes.kubeconfig,
    config: configOf({ redis: redis.url, kafka, slack, good, moody }),
  })
  const since = (await currentRevision(kubernetes.etcdUrl)) + 1
  let working = true
  const load = churn(kubernetes, [CONFIG_MAPS], { count: OBJECTS, parallel: 4, pauseMs: 80 }).finally(() => {
    working = false
  })
  const storms = stormUntil(slack, () => !working)
  const outages = (async () => {
    for (const broker of [0, 1]) {
      await pause(1_000)
      await kafka.kill(broker)
      await pause(1_000)
      await kafka.start(broker)
      await kafka.ready()
    }
  })()
  for (let kills = 0; kills < KILLS; kills++) {
    const before = good.requests.length
    const progressed = () => !working || good.requests.length > before + 50
    await waitFor(progressed, { timeoutMs: 60_000, what: 'progress before a kill' })
    await kubeherald.kill()
    await kubeherald.start()
  }
  await Promise.all([load, storms, outages])

  const history = (await etcdHistory(kubernetes.etcdUrl, ['configmaps'], since)).filter(
    ({ key }) => key.includes('/default/') && !key.endsWith('kube-root-ca.crt'),
  )
  expect(history.length).toBeGreaterThanOrEqual(600)
  await waitFor(async () => pendingOf(await kubeherald.status()) === 0, {
    timeoutMs: 120_000,
    what: () => `all lanes to be empty; it said ${kubeherald.log().slice(-2_000)}`,
  })

  const taken = ({ requests: all }: Receiver) =>
    all.filter(({ status }) => status === 200).map(({ body }) => arrivalOf(body))
  const arrived: Record<string, Arrival[]> = {
    good: taken(good),
    moody: taken(moody),
    chat: slack.messages.map(({ text }) => arrivalOfText(text)),
    bus: (await readTopic(kafka.brokers, 'changes')).map(({ headers }) =>
      arrivalOfId(headers['ce_id'] ?? '', headers['ce_name'] ?? ''),
    ),
  }
  for (const [sink, arrivals] of Object.entries(arrived)) {
    const { repeated, ...rest } = differences(history, arrivals)
    console.log(`${sink}: ${history.length} changes, ${repeated.length} repeats`)
    expect({ sink, ...rest }).toEqual({ sink, missing: [], unexpected: [], outOfOrder: [] })
  }
  const ledger = await kubeherald.settled()
  expect(ledger.balanced).toBe(true)
  for (const sink of Object.keys(arrived))
    expect(ledger.sinks[sink]).toMatchObject({ ...sums(history), dead: 0, pending: 0 })
})

function configOf(to: { redis: string; kafka: Kafka; slack: FakeSlack; good: Receiver; moody: Receiver }) {
  return `
cluster: test
redis: { url: "${to.redis}" }
watch: [{ kind: ConfigMap, namespaces: default }]
sinks:
  good: { type: webhook, url: "${to.good.url}" }
  moody: { type: webhook, url: "${to.moody.url}" }
  chat:
    type: slack
    token: ${to.slack.token}
    apiUrl: ${to.slack.apiUrl}
    channel: "#changes"
    mode: message
    digest: false
    rate: { perSecond: 50, burst: 50 }
  bus:
    type: kafka
    brokers: ${JSON.stringify(to.kafka.brokers)}
    topic: changes
    createTopics: { partitions: 3, replicationFactor: 3, configs: { min.insync.replicas: 2 } }
rules:
  - name: all
    when: { namespace: default }
    to: [good, moody, chat, bus]
    message: "{{ id }} {{ name }}"`
}

/** Slack has enough of it, again and again. */
async function stormUntil(slack: FakeSlack, isOver: () => boolean): Promise<void> {
  while (!isOver()) {
    slack.fault({ method: 'chat.postMessage', status: 429, headers: { 'retry-after': '1' }, times: 3 })
    await pause(1_500)
  }
}

function arrivalOfText(text: string): Arrival {
  const [, id = '', name = ''] = /([\w-]+\/\S+\/\d+\/[A-Z]+) ([\w-]+)/.exec(text) ?? []
  return arrivalOfId(id, name)
}

/** `<cluster uid>/<object uid>/<resourceVersion>/<type>` */
function arrivalOfId(id: string, name: string): Arrival {
  const [, uid = '', resourceVersion = '', type = ''] = id.split('/')
  return { id, key: `configmaps/default/${name}`, uid, type, resourceVersion, synthesized: false }
}

function pendingOf(status: any): number {
  const sinks = Object.values(status.ledger.sinks as Record<string, { pending: number }>)
  return sinks.reduce((sum, { pending }) => sum + pending, 0)
}

function sums(history: readonly HistoryEntry[]) {
  return { enqueued: history.length, delivered: history.length }
}
