import { expect, test } from 'vitest'
import { openQueue } from '../../src/cli/queue/open-queue.ts'
import { listSilences } from '../../src/store/control/silences.ts'
import { borrowKubernetes } from '../servers/kubernetes-pool.ts'
import { startRedis } from '../servers/redis.ts'
import { startSlack } from '../servers/slack.ts'
import { waitFor } from '../wait-for.ts'
import { startKubeherald } from './kubeherald.ts'
import { CONFIG_MAPS } from './workload.ts'

const ALICE = 'U0000000001'

test('a click in Slack silences an object or acknowledges its incident: what comes next is suppressed, and who did it is in the log', async () => {
  await using kubernetes = await borrowKubernetes()
  await using redis = await startRedis()
  await using slack = await startSlack({ perSecond: 50, burst: 50 })
  slack.channel('shop')
  await using kubeherald = await startKubeherald({
    kubeconfig: kubernetes.kubeconfig,
    config: `
cluster: test
redis: { url: "${redis.url}" }
watch: [{ kind: ConfigMap, namespaces: default }]
sinks:
  oncall:
    type: slack
    token: "${slack.token}"
    channel: "#shop"
    apiUrl: "${slack.apiUrl}"
    actions: { appToken: "${slack.clicks.appToken}", users: [${ALICE}] }
rules:
  - { name: plain, when: { name: "plain-*" }, to: [oncall] }
  - { name: incident, when: { name: "incident-*" }, resolve: { after: 1h }, to: [oncall] }`,
  })
  let version = 0
  const change = async (name: string) => {
    const object = {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name },
      data: { version: `${++version}` },
    }
    await kubernetes.request('PUT', `${CONFIG_MAPS}/${name}`, object)
  }
  const create = (name: string) => kubernetes.request('POST', CONFIG_MAPS, { metadata: { name } })
  const about = (name: string) => slack.messages.filter(({ text }) => text.includes(name))
  const first = (name: string) => waitFor(() => about(name)[0], { what: `a message about ${name}` })
  const repliesTo = (ts: string, count: number) =>
    waitFor(() => slack.repliesTo(ts).length === count, {
      what: () => `${count} replies, not ${slack.repliesTo(ts).length}; ${kubeherald.log().slice(-2_000)}`,
    })
  const suppressed = async (count: number) =>
    waitFor(
      async () => {
        const { ledger } = await kubeherald.status()
        const watches = Object.values(ledger.watches as Record<string, { limited: number }>)
        return watches.reduce((sum, it) => sum + it.limited, 0) >= count
      },
      { what: `${count} suppressed` },
    )
  await waitFor(() => slack.clicks.connections === 1, { what: 'a connection' })
  await create('plain-1')
  await create('incident-1')
  const [plain, incident] = [await first('plain-1'), await first('incident-1')]

  await slack.clicks.click(plain, 'Silence 1 h', { user: 'U0000000666', username: 'mallory' })
  await waitFor(() => slack.clicks.answers.length === 1, { what: 'the refusal' })
  await using queue = await openQueue({ config: kubeherald.configFile })
  const silences = () => listSilences(queue.redis, queue.keys)
  expect(await silences()).toEqual([])

  await slack.clicks.click(plain, 'Silence 1 h')
  await repliesTo(plain.ts, 1)
  await slack.clicks.click(plain, 'Silence 1 h')
  await repliesTo(plain.ts, 2)
  const object = { kind: 'ConfigMap', namespace: 'default', name: 'plain-1' }
  const by = `slack:${ALICE} (alice)`
  expect(await silences()).toMatchObject([{ match: { rule: 'plain', ...object }, by, state: 'active' }])
  await slack.clicks.click(incident, 'Acknowledge')
  await repliesTo(incident.ts, 1)

  // A silence is in force within seconds.
  await waitFor(async () => /^kubeherald_silences 1$/m.test(await kubeherald.metrics()), {
    what: 'the silence',
  })
  await change('plain-1')
  await change('incident-1')
  await suppressed(2)
  await create('plain-2')
  await first('plain-2')
  await kubeherald.settled()
  expect(slack.repliesTo(plain.ts)).toHaveLength(2)
  expect(slack.repliesTo(incident.ts)).toHaveLength(1)
  const { ledger } = await kubeherald.status()
  expect(ledger.balanced).toBe(true)

  const audits = kubeherald
    .log()
    .split('\n')
    .filter((line) => line.includes('"audit":true'))
  expect(audits.map((line) => JSON.parse(line))).toMatchObject([
    { sink: 'oncall', who: 'slack:U0000000666', operation: 'silence', result: 'refused' },
    {
      who: `slack:${ALICE}`,
      operation: 'silence',
      result: 'done',
      params: { rule: 'plain', name: 'plain-1' },
    },
    { who: `slack:${ALICE}`, operation: 'silence', result: 'already' },
    { who: `slack:${ALICE}`, operation: 'acknowledge', result: 'done', params: { rule: 'incident' } },
  ])
  expect(kubeherald.log()).not.toContain(slack.clicks.appToken)
  expect(slack.clicks.faults).toEqual([])
})
