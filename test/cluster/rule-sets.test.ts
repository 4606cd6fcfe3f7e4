import { readdirSync, readFileSync } from 'node:fs'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { parse } from 'yaml'
import { type Kubernetes, startKubernetes } from '../servers/kubernetes.ts'
import { type Receiver, startReceiver } from '../servers/receiver.ts'
import { type RedisServer, startRedis } from '../servers/redis.ts'
import { waitFor } from '../wait-for.ts'
import { type Kubeherald, startKubeherald } from './kubeherald.ts'
import { type Step, TRIGGERS } from './rule-set-triggers.ts'

const FOLDER = new URL('../../rule-sets/', import.meta.url)
const SETS = readdirSync(FOLDER).map((file) => file.replace('.yaml', ''))

/** What must have become of an event: told, or held by the rule's own limit until its time comes. */
const OUTCOMES = { sent: ['sent'], held: ['waiting'], either: ['sent', 'waiting', 'digested'] } as const

let stack: AsyncDisposableStack
let kubernetes: Kubernetes
let redis: RedisServer
let hook: Receiver
let kubeherald: Kubeherald

beforeAll(async () => {
  stack = new AsyncDisposableStack()
  kubernetes = stack.use(await startKubernetes())
  redis = stack.use(await startRedis())
  hook = stack.use(await startReceiver())
  await kubernetes.request('POST', '/api/v1/namespaces', { metadata: { name: 'shop' } })
  kubeherald = stack.use(
    await startKubeherald({
      kubeconfig: kubernetes.kubeconfig,
      config: `
cluster: test
redis: { url: "${redis.url}" }
sinks: { ${SETS.map((set) => `${set}: { type: webhook, url: "${hook.url}/${set}" }`).join(', ')} }
include:
${SETS.map((set) => `  - { from: "kubeherald:${set}", to: [${set}] }`).join('\n')}
`,
    }),
  )
}, 120_000)
afterAll(() => stack?.disposeAsync())

interface RuleStatus {
  matched: number
  sent: number
  waiting: number
  digested: number
}

async function rulesNow(): Promise<Record<string, RuleStatus>> {
  return (await kubeherald.status()).ledger.rules
}

async function perform({ method, path, body }: Step): Promise<void> {
  await kubernetes.request(method, path, body)
}

for (const set of SETS) {
  const { rules } = parse(readFileSync(new URL(`${set}.yaml`, FOLDER), 'utf8')) as {
    rules: { name: string; drop?: true }[]
  }
  test(`each rule of kubeherald:${set} is held against the cluster`, () => {
    const telling = rules.filter(({ drop }) => !drop).map(({ name }) => name)
    expect(Object.keys(TRIGGERS[set] ?? {}).sort()).toEqual(telling.sort())
  })

  for (const [rule, { steps, outcome }] of Object.entries(TRIGGERS[set] ?? {})) {
    test(`kubeherald:${set} tells of ${rule}`, { timeout: 30_000 }, async () => {
      for (const step of steps) await perform(step)
      const names = OUTCOMES[outcome]
      let counts: RuleStatus | undefined
      await waitFor(
        async () => {
          counts = (await rulesNow())[rule]
          return names.some((name) => (counts?.[name] ?? 0) > 0)
        },
        { what: () => `${rule} to match; ${JSON.stringify(counts)}`, timeoutMs: 20_000 },
      )
      if (outcome !== 'sent') return
      const told = () =>
        hook.requests.filter(({ path, body }) => path === `/${set}` && JSON.parse(body).rule === rule)
      await waitFor(() => told().length > 0, { what: () => `${set} to get ${rule}` })
    })
  }
}

test('the ledger balances with what the limits of the sets hold', async () => {
  expect((await kubeherald.status()).ledger.balanced).toBe(true)
})
