import { setTimeout as pause } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { silentLog } from '../../src/observe/log.ts'
import { keysOf } from '../../src/store/keys.ts'
import { readLedger } from '../../src/store/ledger.ts'
import { openRedis } from '../../src/store/redis/connection.ts'
import type { Kubernetes } from '../servers/kubernetes.ts'
import { borrowKubernetes } from '../servers/kubernetes-pool.ts'
import { type Receiver, startReceiver } from '../servers/receiver.ts'
import { type RedisServer, startRedis } from '../servers/redis.ts'
import { waitFor } from '../wait-for.ts'
import { type Kubeherald, startKubeherald } from './kubeherald.ts'
import { CONFIG_MAPS } from './workload.ts'

const WAIT_SECONDS = 6

interface Bed {
  kubernetes: Kubernetes
  redis: RedisServer
  hook: Receiver
}

/** One process of two that share the watch. */
function startOne(bed: Bed, pod: string, lastsSeconds: number) {
  return startKubeherald({
    kubeconfig: bed.kubernetes.kubeconfig,
    env: { POD_NAME: pod },
    config: `
cluster: drill
leases: { namespace: default, durationSeconds: 6, renewDeadlineSeconds: 4, retryPeriodSeconds: 1 }
redis: { url: "${bed.redis.url}" }
watch: [{ kind: ConfigMap, namespaces: default }]
sinks: { hook: { type: webhook, url: "${bed.hook.url}" } }
rules:
  - { name: lasting, when: { labels: "state=bad" }, for: ${lastsSeconds}s, to: hook }
  - { name: grouped, when: { name: "group-*" }, group: { by: rule, wait: 1h, max: 3 }, to: hook }
  - { name: soon, when: { name: "soon-*" }, group: { by: rule, wait: ${WAIT_SECONDS}s }, to: hook }
  - { name: throttled, when: { name: "throttle-*" }, throttle: { per: rule, every: 1h, burst: 2 }, to: hook }
  - { name: after, when: { name: "after-*" }, after: { count: 3, within: 1h, per: rule }, to: hook }`,
  })
}

test('acceptance 4: restart, relist and replica change in the middle of group, after, for and throttle: the same notifications as without', async () => {
  // Longer than it takes to come to the point where nobody watches; nothing else depends on how long. A busy machine takes longer.
  for (let lastsSeconds = 8; !(await sameNotifications(lastsSeconds)); ) lastsSeconds *= 3
})

/** Returns false if a state had to last for so short that its time was over too early. */
async function sameNotifications(lastsSeconds: number): Promise<boolean> {
  await using kubernetes = await borrowKubernetes()
  await using redis = await startRedis()
  await using hook = await startReceiver()
  const bed = { kubernetes, redis, hook }
  await using first = await startOne(bed, 'pod-a', lastsSeconds)
  await using second = await startOne(bed, 'pod-b', lastsSeconds)

  const put = (name: string, state = 'good') =>
    kubernetes.request('POST', CONFIG_MAPS, { metadata: { name, labels: { state } } })
  const step = (n: number) => Promise.all(['group', 'throttle', 'after'].map((it) => put(`${it}-${n}`)))
  await using stack = new AsyncDisposableStack()
  const reader = openRedis(redis.url, 'work', silentLog)
  stack.defer(() => reader.disconnect())
  const rules = async () => (await readLedger(reader, keysOf('drill'), { verify: false })).rules
  const matched = (rule: string, count: number) =>
    waitFor(async () => (await rules())[rule]?.matched === count, {
      timeoutMs: 30_000,
      what: `${count} of ${rule}`,
    })
  const told = () =>
    hook.requests
      .map(({ body }) => JSON.parse(body))
      // The id of a digest says so, and whose it is.
      .map(({ id, name, data }) => `${data.rule} ${/\/digest\/\w+$/.test(id) ? 'digest' : name}`)
      .toSorted()

  const holder = await waitFor(
    async () => ((await holds(first)) ? first : (await holds(second)) ? second : undefined),
    { timeoutMs: 30_000, what: 'one of them to watch' },
  )
  const other = holder === first ? second : first
  await put('lasts', 'bad')
  const badMs = Date.now()
  await Promise.all([put('ends', 'bad'), put('soon-1'), put('soon-2'), step(1)])
  for (const [rule, count] of Object.entries({ lasting: 2, grouped: 1, soon: 2, throttled: 1, after: 1 }))
    await matched(rule, count)

  // The watch goes to the other process.
  expect(await holder.stop()).toBe(0)
  await step(2)
  for (const rule of ['grouped', 'throttled', 'after']) await matched(rule, 2)
  // What is under way when a process is killed may come twice; this is about what comes at all.
  await nothingPending(other)

  // Nobody watches while one ends, and while the time of both is over; and the history is gone then.
  await other.kill()
  const killedMs = Date.now() - badMs
  console.log(`nobody watches after ${killedMs} ms`)
  if (killedMs >= lastsSeconds * 1_000) return false
  await kubernetes.request('PATCH', `${CONFIG_MAPS}/ends`, { metadata: { labels: { state: 'good' } } })
  await step(3)
  await kubernetes.compact()
  await pause(Math.max(0, badMs + (lastsSeconds + 1) * 1_000 - Date.now()))
  await Promise.all([holder.start(), other.start()])

  const expected = [
    'after after-3',
    'grouped digest',
    'lasting lasts',
    'soon digest',
    'throttled throttle-1',
    'throttled throttle-2',
  ]
  await waitFor(() => told().length >= expected.length, {
    timeoutMs: 60_000,
    what: () => `${expected}; it was ${told()}`,
  })
  expect(told()).toEqual(expected)
  await nothingPending(other)
  const { ledger } = await other.status()
  expect(ledger).toMatchObject({ balanced: true, verified: true })
  expect(ledger.rules).toMatchObject({
    lasting: { matched: 2, sent: 1, waiting: 0, suppressed: { for: 1 } },
    grouped: { matched: 3, digested: 3, waiting: 0, notices: 1 },
    soon: { matched: 2, digested: 2, waiting: 0, notices: 1 },
    throttled: { matched: 3, sent: 2, suppressed: { throttle: 1 } },
    after: { matched: 3, sent: 1, suppressed: { after: 2 } },
  })
  // Shown in seconds once it is one.
  const { lastMatchMs } = ledger.rules.throttled
  await waitFor(() => Date.now() - lastMatchMs >= 1_000, { what: 'a second since the last match' })
  const { stdout } = await other.command('status')
  expect(stdout).toMatch(/^throttled +3 +2 +0 +0 +1 throttle +0 +\d+ (s|min) ago$/m)
  return true
}

async function nothingPending(process: Kubeherald): Promise<void> {
  await waitFor(async () => (await process.status()).ledger.sinks.hook.pending === 0, { what: 'empty lanes' })
}

async function holds(process: Kubeherald): Promise<boolean> {
  return /^kubeherald_lease_held\{.*\} 1$/m.test(await process.metrics())
}
