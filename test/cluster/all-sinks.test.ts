import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type FakeCluster, startFakeCluster } from '../servers/fake-broker.ts'
import type { Kubernetes } from '../servers/kubernetes.ts'
import { borrowKubernetes } from '../servers/kubernetes-pool.ts'
import { type Receiver, startReceiver } from '../servers/receiver.ts'
import { startRedis } from '../servers/redis.ts'
import { type FakeSlack, type SlackOptions, startSlack } from '../servers/slack.ts'
import { waitFor } from '../wait-for.ts'
import { startKubeherald } from './kubeherald.ts'
import { CONFIG_MAPS } from './workload.ts'

const EVENTS = '/api/v1/namespaces/default/events'
const SECRETS = '/api/v1/namespaces/default/secrets'
const PASSWORD = 'pa55word-of-the-brokers'
const HOOK_TOKEN = 't0ken-of-the-webhook'

let kubernetes: Kubernetes
beforeAll(async () => {
  kubernetes = await borrowKubernetes({})
})
afterAll(() => kubernetes[Symbol.asyncDispose]())

interface Peers {
  slack: FakeSlack
  hook: Receiver
  kafka: FakeCluster
  /** A folder of the test's own. */
  dir: string
}

/** A kubeherald on the cluster of this file, with a Redis and peers of its own. */
async function startAll(config: (peers: Peers) => string, limits: SlackOptions = {}) {
  await using opened = new AsyncDisposableStack()
  const redis = opened.use(await startRedis())
  const dir = mkdtempSync(join(tmpdir(), 'kubeherald-sinks-'))
  opened.defer(() => rmSync(dir, { recursive: true, force: true }))
  const peers: Peers = {
    dir,
    slack: opened.use(await startSlack(limits)),
    hook: opened.use(await startReceiver()),
    kafka: opened.use(await startFakeCluster({ state: [0], events: [0] })),
  }
  peers.kafka.password = PASSWORD
  const kubeherald = opened.use(
    await startKubeherald({
      kubeconfig: kubernetes.kubeconfig,
      config: `cluster: test\nredis: { url: "${redis.url}" }\n${config(peers)}`,
    }),
  )
  const all = opened.move()
  const pending = async () => {
    const { ledger } = await kubeherald.status()
    const sinks = Object.values(ledger.sinks as Record<string, { pending: number }>)
    return sinks.reduce((sum, it) => sum + it.pending, 0)
  }
  return { ...peers, kubeherald, pending, [Symbol.asyncDispose]: () => all.disposeAsync() }
}

const put = (name: string, data: Record<string, string>) =>
  kubernetes.request('POST', CONFIG_MAPS, { metadata: { name }, data })
const patch = (name: string, data: Record<string, string>) =>
  kubernetes.request('PATCH', `${CONFIG_MAPS}/${name}`, { data })
const remove = (name: string) => kubernetes.request('DELETE', `${CONFIG_MAPS}/${name}`)

const slackOptions = (slack: FakeSlack) => `type: slack, token: ${slack.token}, apiUrl: ${slack.apiUrl}`
const kafkaOptions = ({ brokers }: FakeCluster) =>
  `type: kafka, brokers: ${JSON.stringify(brokers)}, compression: none, sasl: { mechanism: plain, username: herald, password: ${PASSWORD} }`

/** The severity and the title are what the object says. */
const SAYS = 'message: { severity: "{{ object.data.is }}", title: "{{ object.data.says }}" }'

test('a thread survives a kill and a restart of the process, and what is resolved turns its first message green', async () => {
  await using it = await startAll(
    ({ slack }) => `
watch: [{ kind: ConfigMap, namespaces: default }]
sinks: { chat: { ${slackOptions(slack)}, channel: "#shop" } }
rules: [{ name: all, when: { name: "incident-*" }, to: [chat], ${SAYS} }]`,
    { perSecond: 50, burst: 50 },
  )
  const { slack, kubeherald, pending } = it
  slack.channel('shop')
  /** And settled: what is not would be told again after a kill. */
  const told = (count: number) =>
    waitFor(async () => slack.messages.length >= count && (await pending()) === 0, {
      timeoutMs: 40_000,
      what: () => `${count} messages; ${kubeherald.log().slice(-1_500)}`,
    })
  await put('incident-1', { is: 'error', says: 'it is down' })
  await told(1)
  await kubeherald.kill()
  await patch('incident-1', { says: 'it is still down' })
  await kubeherald.start()
  await told(2)
  expect(await kubeherald.stop()).toBe(0)
  await kubeherald.start()
  await patch('incident-1', { is: 'resolved', says: 'it is up' })
  await told(3)
  const [root, ...replies] = slack.messages
  expect(replies.map(({ threadTs, text }) => [threadTs, text])).toEqual([
    [root?.ts, expect.stringContaining('still down')],
    [root?.ts, expect.stringContaining('it is up')],
  ])
  await waitFor(() => root?.attachments[0].color === '#2EB67D', { what: 'the first message to be green' })
  expect(root?.text).toMatch(/^✅.*it is up/)

  await patch('incident-1', { is: 'error', says: 'down again' })
  await told(4)
  expect(slack.messages[3]?.threadTs).toBeUndefined()
  expect((await kubeherald.status()).ledger).toMatchObject({ balanced: true })
})

const STORM = 300

test('a storm of events for one channel becomes digests that account for all of it, within the limits of Slack', async () => {
  await using it = await startAll(
    ({ slack }) => `
watch: [{ kind: ConfigMap, namespaces: default }]
sinks: { chat: { ${slackOptions(slack)}, channel: "#shop" } }
rules: [{ name: all, when: { name: "storm-*", type: ADDED }, to: [chat] }]`,
  )
  const { slack, kubeherald, pending } = it
  slack.channel('shop')
  for (let i = 0; i < STORM; i += 20)
    await Promise.all(Array.from({ length: 20 }, (_, j) => put(`storm-${i + j}`, {})))
  await waitFor(async () => (await pending()) === 0 && toldBy(slack) >= STORM, {
    timeoutMs: 60_000,
    what: () =>
      `all to be told; ${toldBy(slack)} are, by ${JSON.stringify(slack.messages.map(({ text }) => text.slice(0, 60)))}; it said ${kubeherald.log()}`,
  })
  expect(toldBy(slack)).toBe(STORM)
  expect(slack.messages.length).toBeLessThan(STORM / 10)
  // What is slow on its way may come too soon after the one before it.
  expect([...new Set(slack.calls.map(({ error }) => error))].toSorted().join()).toMatch(/^(,ratelimited)?$/)
  const ledger = await kubeherald.settled()
  expect(ledger).toMatchObject({ balanced: true, sinks: { chat: { delivered: STORM, dead: 0 } } })
})

/** How many events the messages account for. */
function toldBy({ messages }: FakeSlack): number {
  return messages.reduce(
    (sum, { text }) => sum + Number(/([\d,]+) events/.exec(text)?.[1]?.replace(',', '') ?? 1),
    0,
  )
}

const BAD = [
  '<!channel> <@U0123456789> <!subteam^S0123456789> <#C0123456789> <https://evil.example.com|here>',
  '```*bold* _it_ ~s~ &lt;!here&gt; [a](https://evil.example.com) @everyone',
  '\u001b[31mred\u009b2J\u202e\u2066 "quotes" \\ \b',
  'a\r\nx-injected: 1\r\n\r\n{"id":"no"}\n',
  '../../admin?token=1#x {{ 7 | times: 7 }} {% raw %}',
]

test('what objects say harms no sink: no ping, no link, no line, header or path of its own, and no secret is told', async () => {
  await using it = await startAll(
    ({ slack, hook, kafka, dir }) =>
      `
watch: [Event, { kind: Secret, namespaces: default }]
sinks:
  chat: { ${slackOptions(slack)}, channel: "#shop", mode: message, digest: false, rate: 50 }
  hook: { type: webhook, url: "${new URL(hook.url).origin}/{{ object.reason }}/{{ name }}?why={{ object.message }}", format: binary, headers: { x-token: ${HOOK_TOKEN} } }
  tree: { type: webhook, url: "${hook.url}", body: { why: "{{ object.message }}", "{{ name }}": ["{{ object.reason }}"] } }
  bus: { ${kafkaOptions(kafka)}, topic: events, key: "{{ object.message }}{{ uid }}", format: structured }
  disk: { type: file, path: "${dir}/events.ndjson" }
  screen: { type: stdout }
rules: [{ name: all, when: { name: "hostile-*" }, to: [chat, hook, tree, bus, disk, screen] }]`,
    { perSecond: 100, burst: 100 },
  )
  const { slack, hook, kafka, kubeherald, pending } = it
  slack.channel('shop')
  const count = BAD.length + 1
  for (const [i, text] of BAD.entries())
    await kubernetes.request('POST', EVENTS, {
      metadata: { name: `hostile-${i}`, annotations: { text }, labels: { constructor: 'x' } },
      involvedObject: { kind: text, namespace: 'default', name: text },
      type: 'Warning',
      reason: text,
      message: text,
    })
  await kubernetes.request('POST', SECRETS, {
    metadata: { name: 'hostile-secret' },
    stringData: { password: 'hunter2-hunter2' },
  })
  await waitFor(async () => kafka.log.length >= count && (await pending()) === 0, {
    timeoutMs: 20_000,
    what: () => `all to be delivered; ${kubeherald.log().slice(-3_000)}`,
  })

  expect(slack.messages).toHaveLength(count)
  for (const { pings, links, channels } of slack.messages)
    expect({ pings, links, channels }).toEqual({ pings: [], links: [], channels: [] })

  const binary = hook.requests.filter(({ path }) => path !== '/hook')
  const trees = hook.requests.filter(({ path }) => path === '/hook').map(({ body }) => JSON.parse(body))
  expect([binary.length, trees.length]).toEqual([count, count])
  for (const { path, headers, body } of binary) {
    expect(new URL(`http://x${path}`).pathname.split('/')).toHaveLength(3)
    expect([...new URL(`http://x${path}`).searchParams.keys()]).toEqual(['why'])
    expect(headers).not.toHaveProperty('x-injected')
    expect(JSON.parse(body)).toHaveProperty('object')
  }
  expect(trees.map(({ why }) => why)).toEqual(expect.arrayContaining(BAD))

  const lines = (text: string) => text.split('\n').filter((line) => line !== '')
  const onDisk = lines(readFileSync(join(it.dir, 'events.ndjson'), 'utf8'))
  expect(onDisk.map((line) => JSON.parse(line).name).toSorted()).toHaveLength(count)
  expect(kafka.log.map(({ value }) => JSON.parse(value ?? '').name).toSorted()).toHaveLength(count)
  const printed = kubeherald.log()
  const events = lines(printed).filter((line) => line.startsWith('{"specversion"'))
  expect(events.map((line) => JSON.parse(line).name).toSorted()).toHaveLength(count)
  expect(printed).not.toMatch(/[\u001b\u009b]/)

  const { ledger } = await kubeherald.status()
  expect(ledger.balanced).toBe(true)
  const told = [
    JSON.stringify(slack.messages),
    JSON.stringify(hook.requests.map(({ path, body }) => path + body)),
    JSON.stringify(kafka.log),
    onDisk.join('\n'),
    printed,
    await kubeherald.metrics(),
    JSON.stringify(await kubeherald.status()),
  ].join('\n')
  for (const secret of [slack.token, HOOK_TOKEN, PASSWORD, 'hunter2-hunter2', btoa('hunter2-hunter2')])
    expect(told.split(secret)).toHaveLength(1)
})

test('SIGTERM in the middle of requests: the process ends in time, and the next one delivers them; a compacted topic gets null for what was deleted meanwhile, and behind it what was created again', async () => {
  await using it = await startAll(
    ({ slack, hook, kafka }) => `
watch: [{ kind: ConfigMap, namespaces: default }]
sinks:
  chat: { ${slackOptions(slack)}, channel: "#shop", mode: message }
  hook: { type: webhook, url: "${hook.url}" }
  bus: { ${kafkaOptions(kafka)}, topic: events, format: structured }
  table: { ${kafkaOptions(kafka)}, topic: state, state: true }
rules:
  - { name: held, when: { name: "held-*" }, to: [chat, hook, bus] }
  - { name: kept, when: { name: "kept-*" }, to: [table] }`,
  )
  const { slack, hook, kafka, kubeherald, pending } = it
  slack.channel('shop')
  const keyOf = (name: string) => `test/ConfigMap/default/${name}`
  const recordsOf = (topic: 'state' | 'events') =>
    kafka.log.filter(({ key }) => key.startsWith(keyOf(topic === 'state' ? 'kept-' : 'held-')))
  for (const name of ['kept-1', 'kept-2', 'kept-3']) await put(name, { step: '0' })
  await waitFor(async () => recordsOf('state').length >= 3 && (await pending()) === 0, {
    what: 'three objects',
  })

  slack.fault({ method: 'chat.postMessage', hang: 'before-headers' })
  hook.answer(() => ({ hang: true }))
  const produced = kafka.produced.length
  kafka.onProduce(() => ({ append: false, answer: 'none' }))
  await put('held-1', {})
  const isAsked = () =>
    slack.calls.some(({ method }) => method === 'chat.postMessage') &&
    hook.requests.length > 0 &&
    kafka.produced.length > produced
  await waitFor(isAsked, { what: 'requests to all' })
  expect({ code: await kubeherald.stop(), log: kubeherald.log() }).toMatchObject({ code: 0 })
  expect(kubeherald.log()).toMatch(/kubeherald stopped: 3 deliveries are pending/)
  slack.mend()
  hook.answer(() => ({ status: 200 }))
  kafka.onProduce(() => undefined)

  await remove('kept-1')
  await remove('kept-2')
  await put('kept-2', { step: 'again' })
  await kubernetes.compact()
  await kubeherald.start()
  await waitFor(async () => recordsOf('state').length >= 6 && (await pending()) === 0, {
    timeoutMs: 20_000,
    what: () => `all to be delivered; ${JSON.stringify(kafka.log)}`,
  })
  expect([slack.messages.length, recordsOf('events').length]).toEqual([1, 1])
  expect(hook.requests.filter(({ status }) => status === 200)).toHaveLength(1)
  const newest = new Map(recordsOf('state').map(({ key, value }) => [key, value]))
  expect(Object.fromEntries(newest)).toEqual({
    [keyOf('kept-1')]: null,
    [keyOf('kept-2')]: expect.stringContaining('again'),
    [keyOf('kept-3')]: expect.stringContaining('kept-3'),
  })
  const ofRecreated = recordsOf('state').filter(({ key }) => key === keyOf('kept-2'))
  expect(ofRecreated.map(({ value }) => value)).toEqual([expect.any(String), null, expect.any(String)])
  expect(recordsOf('state')).toHaveLength(6)
  expect((await kubeherald.status()).ledger.balanced).toBe(true)
})
