import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { Agent, request } from 'undici'
import { expect, test } from 'vitest'
import { installElsewhere } from '../packed.ts'
import { startFakeCluster } from '../servers/fake-broker.ts'
import type { Kubernetes } from '../servers/kubernetes.ts'
import { borrowKubernetes } from '../servers/kubernetes-pool.ts'
import { type Receiver, startReceiver } from '../servers/receiver.ts'
import { startRedis } from '../servers/redis.ts'
import { startSlack } from '../servers/slack.ts'
import { waitFor } from '../wait-for.ts'
import { folder } from '../watch/folder.ts'
import { type Kubeherald, startKubeherald } from './kubeherald.ts'
import { applyStrictly } from './service-account.ts'
import { CONFIG_MAPS } from './workload.ts'

/** The largest objects that an API server accepts, from a user with permissions in one namespace, through every stage. */

const TEAM = '/api/v1/namespaces/team'
/** Go's encoding/json writes `<` as six bytes: 6 MB on the wire. */
const ESCAPED = '<'.repeat(1_000_000)
/** Near the limit of etcd. */
const PLAIN = 'x'.repeat(1_500_000)
/** `message.max.bytes` of a Kafka broker by default. */
const KAFKA_MAX = 1_048_588
const MESSAGE_TOO_LARGE = 10

const TENANT = `
apiVersion: v1
kind: Namespace
metadata: { name: team }
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: { name: tenant, namespace: team }
rules:
  - { apiGroups: [""], resources: [configmaps, events], verbs: [create, patch, delete] }
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: { name: tenant, namespace: team }
roleRef: { apiGroup: rbac.authorization.k8s.io, kind: Role, name: tenant }
subjects: [{ kind: User, name: plain, apiGroup: rbac.authorization.k8s.io }]
`

/** Writes as the user `plain`, who has permissions in one namespace alone. */
async function asTenant(
  kubernetes: Kubernetes,
  method: 'POST' | 'PATCH' | 'DELETE',
  path: string,
  body?: object,
) {
  const agent = new Agent({ connect: { rejectUnauthorized: false } })
  const type = method === 'PATCH' ? 'application/merge-patch+json' : 'application/json'
  const answer = await request(`${kubernetes.url}${path}`, {
    dispatcher: agent,
    method,
    headers: { authorization: 'Bearer plain', 'content-type': type },
    ...(body && { body: JSON.stringify(body) }),
  })
  const text = await answer.body.text()
  await agent.close()
  if (answer.statusCode >= 300)
    throw new Error(`${method} ${path}: ${answer.statusCode} ${text.slice(0, 500)}`)
}

const configMapOf = (name: string, data: Record<string, string>) => ({ metadata: { name }, data })

const eventOf = (name: string, message: string, annotations = {}) => ({
  metadata: { name, annotations },
  involvedObject: { kind: 'ConfigMap', namespace: 'team', name: 'large' },
  reason: 'Grown',
  message,
  type: 'Warning',
})

interface Seen {
  type: string
  name: string
  bytes: number
  atMs: number
}

/** What the webhook took, without the bodies. */
function seenAt(hook: Receiver): Seen[] {
  return hook.requests.filter(({ status }) => status === 200).map(seenOf)
}

const parsed = new WeakMap<object, Seen>()

/** Each body is parsed once: megabytes at every look would delay what is measured. */
function seenOf(received: Receiver['requests'][0]): Seen {
  const known = parsed.get(received)
  if (known) return known
  const { body, atMs } = received
  const { data, subject } = JSON.parse(body) as { subject: string; data: { type: string } }
  const seen = { type: data.type, name: subject.split('/').at(-1) as string, bytes: body.length, atMs }
  parsed.set(received, seen)
  return seen
}

const rssMb = ({ pid }: Kubeherald) =>
  Math.round(Number(/VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1_024)

test('large objects of one namespace arrive in every sink or are dead letters, and delay the others little', async () => {
  using files = folder()
  await using kubernetes = await borrowKubernetes()
  await applyStrictly(kubernetes, TENANT)
  await using redis = await startRedis()
  await using hook = await startReceiver()
  await using slack = await startSlack({ perSecond: 50, burst: 50 })
  await using kafka = await startFakeCluster({ events: [0] })
  slack.channel('changes')
  kafka.onProduce(({ records }) =>
    records.some(({ value }) => (value?.length ?? 0) > KAFKA_MAX) ? { code: MESSAGE_TOO_LARGE } : undefined,
  )
  using shipped = installElsewhere()
  await using kubeherald = await startKubeherald({
    main: shipped.main,
    kubeconfig: kubernetes.kubeconfig,
    config: `
cluster: test
redis: { url: "${redis.url}" }
watch: [ConfigMap, { kind: Event }]
sinks:
  hook: { type: webhook, url: "${hook.url}" }
  chat: { type: slack, token: ${slack.token}, apiUrl: ${slack.apiUrl}, channel: "#changes" }
  kafka: { type: kafka, brokers: ${JSON.stringify(kafka.brokers)}, compression: none, topic: events }
  file: { type: file, path: "\${env:EVENTS_FILE}" }
  screen: { type: stdout }
rules:
  - { name: large, when: { namespace: team, name: "large*", type: [ADDED, MODIFIED, DELETED] }, to: [hook, chat, kafka, file, screen] }
  - { name: small, when: { name: "small-*" }, to: [hook] }`,
    env: { EVENTS_FILE: join(files.dir, 'events.ndjson') },
  })
  const seen = (name: string) => seenAt(hook).filter((it) => it.name === name)
  const arrived = (name: string, count = 1) =>
    waitFor(() => seen(name).length >= count, {
      timeoutMs: 60_000,
      what: () => `${count} of ${name}; ${kubeherald.log().slice(-3_000)}`,
    })
  await kubernetes.request('POST', CONFIG_MAPS, configMapOf('small-first', {}))
  await arrived('small-first')
  const rssBefore = rssMb(kubeherald)

  const written = new Map<string, number>()
  let isDone = false
  const others = (async () => {
    for (let i = 0; !isDone; i++) {
      written.set(`small-${i}`, Date.now())
      await kubernetes.request('POST', CONFIG_MAPS, configMapOf(`small-${i}`, {}))
      await pause(100)
    }
  })()
  try {
    await asTenant(kubernetes, 'POST', `${TEAM}/configmaps`, configMapOf('large', { text: ESCAPED }))
    await asTenant(kubernetes, 'POST', `${TEAM}/events`, eventOf('large-plain', PLAIN))
    await asTenant(
      kubernetes,
      'POST',
      `${TEAM}/events`,
      eventOf('large-event', '<'.repeat(700_000), { text: '<'.repeat(250_000) }),
    )
    for (const name of ['large', 'large-plain', 'large-event']) await arrived(name)
  } finally {
    isDone = true
    await others
  }
  for (const name of written.keys()) await arrived(name)
  const delays = [...written]
    .map(([name, atMs]) => (seen(name)[0]?.atMs ?? 0) - atMs)
    .toSorted((a, b) => a - b)
  console.log(
    `other changes: ${delays.length}, median ${delays[delays.length >> 1]} ms, slowest ${delays.at(-1)} ms; ` +
      `large on the wire: ${seen('large')[0]?.bytes}, ${seen('large-plain')[0]?.bytes}, ${seen('large-event')[0]?.bytes} bytes`,
  )
  expect(delays.at(-1)).toBeLessThan(20_000)
  expect(seen('large')[0]?.bytes).toBeGreaterThan(6_000_000)

  // A restart goes on from the position, with changes of the large object in between.
  expect(await kubeherald.stop()).toBe(0)
  await asTenant(kubernetes, 'PATCH', `${TEAM}/configmaps/large`, { data: { more: 'yes' } })
  await kubeherald.start()
  await arrived('large', 2)
  await asTenant(kubernetes, 'PATCH', `${TEAM}/configmaps/large`, { data: { text: 'small' } })
  await asTenant(kubernetes, 'DELETE', `${TEAM}/events/large-plain`)
  await arrived('large', 3)
  await arrived('large-plain', 2)
  expect(seen('large').map(({ type }) => type)).toEqual(['ADDED', 'MODIFIED', 'MODIFIED'])
  expect(seen('large-plain').map(({ type }) => type)).toEqual(['ADDED', 'DELETED'])

  const ledger = await kubeherald.settled()
  console.log(`ledger: ${JSON.stringify(ledger.sinks)}`)
  expect(ledger.balanced).toBe(true)
  for (const name of ['hook', 'file', 'screen', 'chat'])
    expect(ledger.sinks[name], name).toMatchObject({ dead: 0 })
  expect(ledger.sinks.kafka).toMatchObject({ delivered: 1, dead: 5 })
  const { stdout } = await kubeherald.command('dead-letters', 'list', '--json')
  expect(stdout.match(/MESSAGE_TOO_LARGE/g), stdout.slice(0, 1_000)).toHaveLength(5)
  expect(slack.messages.length).toBe(6)
  const lines = readFileSync(join(files.dir, 'events.ndjson'), 'utf8').trim().split('\n')
  expect(lines.filter((line) => line.length > 6 * ESCAPED.length)).toHaveLength(3)
  let rssAfter = rssMb(kubeherald)
  for (let i = 0; i < 60 && rssAfter > rssBefore * 1.2; i++) {
    await pause(1_000)
    rssAfter = rssMb(kubeherald)
  }
  console.log(`RSS: ${rssBefore} MB before, ${rssAfter} MB after`)
  expect(rssAfter).toBeLessThan(rssBefore * 1.5)
})

/** At 6 MB each, more than fits into one page of a list, of 32 MiB. */
const COUNT = 6

test.each([
  ['a stream of initial events', {}],
  ['pages', { flags: ['--feature-gates', 'WatchList=false'] }],
])('a first list and a relist with large objects, as %s', async (_name, options) => {
  await using kubernetes = await borrowKubernetes(options)
  await applyStrictly(kubernetes, TENANT)
  for (let i = 0; i < COUNT; i++)
    await asTenant(kubernetes, 'POST', `${TEAM}/configmaps`, configMapOf(`large-${i}`, { text: ESCAPED }))
  await asTenant(kubernetes, 'POST', `${TEAM}/events`, eventOf('plain', PLAIN))
  await using redis = await startRedis()
  await using hook = await startReceiver()
  await using kubeherald = await startKubeherald({
    kubeconfig: kubernetes.kubeconfig,
    config: `
cluster: test
redis: { url: "${redis.url}" }
watch: [{ kind: ConfigMap, initial: emit }, { kind: Event, initial: emit }]
sinks: { hook: { type: webhook, url: "${hook.url}" } }
rules: [{ name: all, when: { namespace: team, name: ["large-*", plain, late] }, to: [hook] }]`,
    unready: true,
  })
  const seen = () => seenAt(hook).map(({ type, name }) => `${type} ${name}`)
  const has = (...expected: string[]) =>
    waitFor(() => expected.every((it) => seen().includes(it)), {
      timeoutMs: 120_000,
      what: () => `${expected}; there are ${seen()}; ${kubeherald.log().slice(-2_000)}`,
    })
  const all = [...Array.from({ length: COUNT }, (_, i) => `ADDED large-${i}`), 'ADDED plain']
  await has(...all)
  console.log(`RSS after a first list of ${COUNT * 6} MB: ${rssMb(kubeherald)} MB`)
  expect(await kubeherald.stop()).toBe(0)
  await asTenant(kubernetes, 'DELETE', `${TEAM}/configmaps/large-3`)
  await asTenant(kubernetes, 'PATCH', `${TEAM}/configmaps/large-4`, { data: { more: 'yes' } })
  await kubernetes.compact()
  await kubeherald.start()
  await has('DELETED large-3', 'MODIFIED large-4')
  await asTenant(kubernetes, 'POST', `${TEAM}/configmaps`, configMapOf('late', {}))
  await has('ADDED late')
  expect(seen().toSorted()).toEqual([...all, 'DELETED large-3', 'MODIFIED large-4', 'ADDED late'].toSorted())
  expect((await kubeherald.settled()).balanced).toBe(true)
})
