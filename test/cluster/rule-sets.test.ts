import { readFileSync } from 'node:fs'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { parse } from 'yaml'
import { ruleSetNames } from '../../src/rules/sets/rule-sets.ts'
import type { Kubernetes } from '../servers/kubernetes.ts'
import { borrowKubernetes } from '../servers/kubernetes-pool.ts'
import { type Receiver, startReceiver } from '../servers/receiver.ts'
import { type RedisServer, startRedis } from '../servers/redis.ts'
import { waitFor } from '../wait-for.ts'
import { type Kubeherald, startKubeherald } from './kubeherald.ts'
import { type Step, TRIGGERS } from './rule-set-triggers.ts'

const FOLDER = new URL('../../src/rules/sets/', import.meta.url)
const SETS = ruleSetNames()

let stack: AsyncDisposableStack
let kubernetes: Kubernetes
let redis: RedisServer
let hook: Receiver
let kubeherald: Kubeherald

beforeAll(async () => {
  stack = new AsyncDisposableStack()
  kubernetes = stack.use(await borrowKubernetes({ flags: ['--allow-privileged=true'] }))
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
})
afterAll(() => stack?.disposeAsync())

interface RuleStatus {
  waiting: number
}

const bodiesFor = (set: string): { data: { rule: string } }[] =>
  hook.requests.filter(({ path }) => path === `/hook/${set}`).map(({ body }) => JSON.parse(body))

async function rulesNow(): Promise<Record<string, RuleStatus>> {
  return (await kubeherald.status()).ledger.rules
}

async function perform({ method, path, body }: Step): Promise<void> {
  await kubernetes.request(method, path, body)
}

for (const set of SETS) {
  const { rules } = parse(readFileSync(new URL(`${set}.yaml`, FOLDER), 'utf8')) as {
    rules: { name: string }[]
  }
  const triggers = Object.entries(TRIGGERS[set] ?? {})

  test(`each rule of kubeherald:${set} tells of what it is for`, async () => {
    expect(triggers.map(([rule]) => rule).sort()).toEqual(rules.map(({ name }) => name).sort())
    for (const [, { steps }] of triggers) for (const step of steps) await perform(step)
    const told = () => new Set(bodiesFor(set).map(({ data }) => data.rule))
    const sent = triggers.filter(([, { outcome }]) => outcome === 'sent').map(([rule]) => rule)
    const unsent = () => sent.filter((rule) => !told().has(rule))
    await waitFor(() => unsent().length === 0, { what: () => `${unsent()} to be sent`, timeoutMs: 20_000 })
    const held = triggers.filter(([, { outcome }]) => outcome === 'held').map(([rule]) => rule)
    let counts: Record<string, RuleStatus> = {}
    const unheld = () => held.filter((rule) => !counts[rule]?.waiting && !told().has(rule))
    await waitFor(
      async () => {
        counts = await rulesNow()
        return unheld().length === 0
      },
      { what: () => `${unheld()} to wait; ${JSON.stringify(counts)}`, timeoutMs: 20_000 },
    )
  })
}

test('nothing is sent twice', () => {
  const ids = hook.requests.map(({ path, body }) => `${path} ${JSON.parse(body).id}`)
  expect(ids.filter((id, i) => ids.indexOf(id) !== i)).toEqual([])
})

test('the ledger balances with what the limits of the sets hold', async () => {
  expect((await kubeherald.status()).ledger.balanced).toBe(true)
})
