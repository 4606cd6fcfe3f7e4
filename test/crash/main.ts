import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { silentLog } from '../../src/observe/log.ts'
import { keysOf } from '../../src/store/keys.ts'
import { listDeadLetters } from '../../src/store/lanes/dead-letters.ts'
import { openRedis } from '../../src/store/redis/connection.ts'
import { startBed } from '../cluster/bed.ts'
import { arrivalOf } from '../cluster/compare.ts'
import { startKubeherald } from '../cluster/kubeherald.ts'
import { CONFIG_MAPS, churn, DEPLOYMENTS, WIDGETS } from '../cluster/workload.ts'
import { seeded } from '../seeded-random.ts'
import { startKubernetes } from '../servers/kubernetes.ts'
import { waitFor } from '../wait-for.ts'
import { createFaults } from './faults.ts'
import { faultsOfLimits, LIMITED_RULES, limitedSinks } from './limits.ts'
import { MAXMEMORY } from './redis-faults.ts'
import { verdictOf } from './verdict.ts'

/**
 * Tries to make kubeherald lose, repeat or reorder something: under load it kills kubeherald, Redis and the API
 * server at random, and lets the webhook fail, hang and cut connections; then it compares what arrived with etcd's own history.
 */
const USAGE = `npm run test:crash -- [--minutes 1] [--seed N] [--processes 2] [--leases]

The same seed gives the same sequence of faults.`

const values = argumentsOf()
if (values.help) {
  console.log(USAGE)
  process.exit(0)
}

const minutes = Number(values.minutes)
const random = seeded(Number(values.seed))
const until = Date.now() + minutes * 60_000
console.log(`crash test: ${minutes} min, seed ${values.seed}, ${values.processes} processes`)
const LEASES =
  'leases: { namespace: default, durationSeconds: 6, renewDeadlineSeconds: 4, retryPeriodSeconds: 1 }'

// One of its own: one that is borrowed stays for the next test, and with it this process.
await using kubernetes = await startKubernetes()
await using bed = await startBed({
  kubernetes,
  crd: true,
  redisArgs: ['--maxmemory', String(MAXMEMORY)],
  watch: `[{ kind: ConfigMap, namespaces: default, verify: 1m }, { kind: Deployment, verify: 1m },
    { kind: widgets.stable.example.com, verify: 1m }]`,
  prefixes: ['configmaps', 'deployments', 'stable.example.com/widgets'],
  sinks: ({ url }) => `{ hook: { type: webhook, url: "${url}" }, ${limitedSinks(url)} }`,
  rules: `
  - { name: all, when: { namespace: default }, to: hook }${LIMITED_RULES}${values.leases ? `\n${LEASES}` : ''}`,
})
const { configFile } = bed.kubeherald
const config = readFileSync(configFile, 'utf8').replace(/^server:.*$/m, '')
const { kubeconfig } = bed.kubernetes
await using others = new AsyncDisposableStack()
const processes = [bed.kubeherald]
while (processes.length < Number(values.processes))
  processes.push(others.use(await startKubeherald({ kubeconfig, config, unready: true })))
for (const signal of ['SIGINT', 'SIGTERM'] as const)
  process.once(signal, async () => {
    console.log('stopped: ends what it started')
    await others.disposeAsync()
    await bed[Symbol.asyncDispose]()
    await kubernetes[Symbol.asyncDispose]()
    process.exit(1)
  })
const arrivals = () =>
  bed.hook.requests
    .filter(({ status, path }) => status === 200 && path === '/hook')
    .map(({ body }) => arrivalOf(body))
const faults = createFaults(bed, processes, random)

/** Rare: the receiver keeps all that it takes. 1 MB of < is 6 MB of JSON. */
const sizes = { escaped: 0, plain: 0 }
const chances = seeded(Number(values.seed) + 1)
function largeNowAndThen(): Record<string, string> | undefined {
  const chance = chances()
  if (chance < 1 / 400) {
    sizes.escaped++
    return { large: '<'.repeat(1_000_000) }
  }
  if (chance >= 1 / 60) return undefined
  sizes.plain++
  return { large: 'x'.repeat(100_000 + Math.floor(chances() * 200_000)) }
}

const load = (async () => {
  for (let round = 0; Date.now() < until; round++) {
    await churn(bed.kubernetes, [CONFIG_MAPS, DEPLOYMENTS, WIDGETS], {
      count: 40,
      parallel: 6,
      prefix: `r${round}`,
      deleteEvery: 3,
      recreateEvery: 2,
      dataOf: largeNowAndThen,
    }).catch(() => faults.apiServerIsBack())
  }
})()

while (Date.now() < until) {
  const fault = faults.next()
  console.log(`${clock()}  ${fault.name}  (${bed.hook.requests.length} arrived)`)
  await fault.strike()
}
await faults.mendAll()
await load

await waitFor(async () => (await bed.kubeherald.status()).ledger.sinks.hook?.pending === 0, {
  timeoutMs: 120_000,
  what: 'empty lanes after the last fault',
})
const gaps = await faults.gaps.close()
const current = async () => verdictOf(await bed.history(), arrivals(), gaps)
await waitFor(async () => (await current()).lost.length === 0, {
  timeoutMs: 120_000,
  what: 'everything to arrive',
}).catch(console.error)
const verdict = await current()

// Timers decide what still waits, and lanes bring it.
const settled = async () => {
  const { ledger } = await bed.kubeherald.status()
  const rules = Object.values(ledger.rules as Record<string, { waiting: number }>)
  const sinks = Object.values(ledger.sinks as Record<string, { pending: number }>)
  return rules.every(({ waiting }) => waiting === 0) && sinks.every(({ pending }) => pending === 0)
    ? ledger
    : undefined
}
await waitFor(settled, { timeoutMs: 120_000, what: 'nothing to wait for limits' }).catch(console.error)
const settledAtMs = Date.now()
const { ledger } = await bed.kubeherald.status()
const limitFaults = faultsOfLimits(bed.hook.requests, ledger.rules)
console.log(`rules: ${JSON.stringify(ledger.rules, null, 1)}`)
console.log(limitFaults.join('\n'))
const differences = await differencesOfIndexes().catch((error) => String(error))
console.log(`differences between indexes and cluster: ${differences}`)
console.log(`large objects: ${sizes.escaped} of 6 MB, ${sizes.plain} of 100 to 300 KB`)
console.log(`\n${verdict.summary}`)
if (verdict.lost.length > 0) console.log(`dead letters: ${JSON.stringify(await reasonsOfDeadLetters())}`)
console.log(`ledger: ${JSON.stringify(ledger.sinks.hook)} balanced ${ledger.balanced}`)
const good =
  verdict.lost.length === 0 &&
  verdict.outOfOrder.length === 0 &&
  verdict.unexpected.length === 0 &&
  limitFaults.length === 0 &&
  differences === 0 &&
  ledger.balanced
console.log(
  good ? 'crash test: passed' : `crash test: FAILED\n${JSON.stringify(verdict, null, 2).slice(0, 5_000)}`,
)
if (!good) {
  const dir = mkdtempSync(join(tmpdir(), 'kubeherald-crash-'))
  for (const [i, process] of processes.entries()) writeFileSync(join(dir, `process-${i}.log`), process.log())
  writeFileSync(join(dir, 'verdict.json'), JSON.stringify(verdict, null, 2))
  console.log(`the logs of the processes and the whole verdict are in ${dir}`)
}
process.exitCode = good ? 0 : 1

/** Of each watch, the objects that differ in the first comparison after the last fault. */
async function differencesOfIndexes(): Promise<number> {
  type Watch = { key: string; phase: string; verified?: { atMs: number; differences: number } }
  const watches = async () => {
    const { instances } = await bed.kubeherald.status()
    return (instances as { watches: Watch[] }[])
      .flatMap((it) => it.watches)
      .filter((it) => it.phase === 'watching')
  }
  let seen: Watch[] = []
  await waitFor(
    async () => {
      seen = await watches()
      const isDone = seen.every(({ verified }) => verified !== undefined && verified.atMs > settledAtMs)
      return isDone && new Set(seen.map(({ key }) => key)).size === 3
    },
    { timeoutMs: 150_000, everyMs: 1_000, what: () => `comparisons: ${JSON.stringify(seen)}` },
  )
  return seen.reduce((sum, { verified }) => sum + (verified?.differences ?? 0), 0)
}

/** How many dead letters there are of each reason. */
async function reasonsOfDeadLetters(): Promise<Record<string, number>> {
  const redis = openRedis(bed.redis.url, 'work', silentLog)
  const counts: Record<string, number> = {}
  for await (const { reason, detail } of listDeadLetters(redis, keysOf('test')))
    counts[`${reason}: ${detail}`] = (counts[`${reason}: ${detail}`] ?? 0) + 1
  redis.disconnect()
  return counts
}

function clock(): string {
  return new Date().toISOString().slice(11, 19)
}

function argumentsOf() {
  try {
    return parseArgs({
      options: {
        minutes: { type: 'string', default: '1' },
        processes: { type: 'string', default: '2' },
        leases: { type: 'boolean', default: false },
        seed: { type: 'string', default: String(Date.now() % 1_000_000) },
        help: { type: 'boolean', short: 'h' },
      },
    }).values
  } catch (error) {
    console.error(`${(error as Error).message}\n\n${USAGE}`)
    process.exit(2)
  }
}
