import { expect, test } from 'vitest'
import { borrowKubernetes } from '../servers/kubernetes-pool.ts'
import { startReceiver } from '../servers/receiver.ts'
import { startRedis } from '../servers/redis.ts'
import { waitFor } from '../wait-for.ts'
import { startKubeherald } from './kubeherald.ts'
import { CONFIG_MAPS } from './workload.ts'

test('a process that is frozen while something waits: the other tells it in time, and the first one nothing again when it wakes', async () => {
  await using kubernetes = await borrowKubernetes()
  await using redis = await startRedis()
  await using hook = await startReceiver()
  const start = (pod: string) =>
    startKubeherald({
      kubeconfig: kubernetes.kubeconfig,
      env: { POD_NAME: pod },
      config: `
cluster: drill
leases: { namespace: default, durationSeconds: 6, renewDeadlineSeconds: 4, retryPeriodSeconds: 1 }
redis: { url: "${redis.url}" }
watch: [{ kind: ConfigMap, namespaces: default }]
sinks: { hook: { type: webhook, url: "${hook.url}" } }
rules:
  - { name: lasting, when: { labels: "state=bad" }, for: 5s, resolve: true, to: hook }
  - { name: grouped, when: { name: "group-*" }, group: { by: rule, wait: 5s }, to: hook }
  - { name: quiet, when: { name: "quiet-*" }, resolve: { after: 5s, per: rule }, to: hook }`,
    })
  await using first = await start('pod-a')
  await using second = await start('pod-b')
  const holds = async (it: typeof first) =>
    /^kubeherald_lease_held\{.*\} 1$/m.test(await it.metrics()) ? it : undefined
  const holder = await waitFor(async () => (await holds(first)) ?? (await holds(second)), {
    timeoutMs: 30_000,
    what: 'one of them to watch',
  })
  const other = holder === first ? second : first
  const ledgerOf = async () => (await other.status()).ledger
  const put = (name: string, state = 'good') =>
    kubernetes.request('POST', CONFIG_MAPS, { metadata: { name, labels: { state } } })
  const told = () =>
    hook.requests
      .map(({ body }) => JSON.parse(body))
      .map(({ id, name, data }) => `${data.rule} ${/\/(digest|resolved)\/\w+$/.exec(id)?.[1] ?? name}`)
      .toSorted()

  await Promise.all([put('lasts', 'bad'), put('group-1'), put('group-2'), put('quiet-1')])
  await waitFor(
    async () => {
      const { rules = {}, sinks } = await ledgerOf()
      const { lasting, grouped, quiet } = rules
      // What was sent and not acknowledged when it is frozen comes once more.
      const isAcknowledged = quiet?.sent === 1 && sinks.hook?.pending === 0
      return lasting?.waiting === 1 && grouped?.waiting === 2 && isAcknowledged
    },
    { timeoutMs: 20_000, what: 'all to wait' },
  )
  holder.signal('SIGSTOP')
  const expected = ['grouped digest', 'lasting lasts', 'quiet quiet-1', 'quiet resolved']
  await waitFor(() => expected.every((it) => told().includes(it)), {
    timeoutMs: 60_000,
    what: () => `the other to tell ${expected}; it was ${told()}`,
  })
  holder.signal('SIGCONT')
  await waitFor(() => holder.ready(), { timeoutMs: 60_000, what: 'the frozen one to be well' })
  // What happens now comes after all that it may have believed to be due.
  await kubernetes.request('DELETE', `${CONFIG_MAPS}/lasts`)
  await waitFor(() => told().includes('lasting resolved'), {
    timeoutMs: 60_000,
    what: 'that it is over',
  })
  expect(told()).toEqual([...expected, 'lasting resolved'].toSorted())
  const { ledger } = await other.status()
  expect(ledger).toMatchObject({ balanced: true, verified: true })
  expect(ledger.rules).toMatchObject({
    // Its deletion matches, too, and is told as the end alone.
    lasting: { matched: 2, sent: 1, waiting: 0, notices: 1 },
    grouped: { matched: 2, digested: 2, waiting: 0, notices: 1 },
    quiet: { matched: 1, sent: 1, notices: 1 },
  })
})
