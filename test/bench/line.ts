import { once } from 'node:events'
import { z } from 'zod'
import { WebhookConfig } from '../../sinks/webhook/config.ts'
import { startApp } from '../../src/app/app.ts'
import type { Config } from '../../src/config/schema.ts'
import { createLog } from '../../src/observe/log.ts'
import type { Rule } from '../../src/rules/schema.ts'
import { defineSink, type SinkType } from '../../src/sink/index.ts'
import { userAgent } from '../../src/version.ts'
import type { ClusterClient } from '../../src/watch/client/cluster-client.ts'
import { connectCluster } from '../../src/watch/client/connect.ts'
import { CALLERS, tokenOf } from './callers.ts'

// The whole line in one process: watches a feed, and ends when all of its events are through. Arguments: a kubeconfig, the
// URL of Redis, how many events, `null`, `unmatched`, `webhook`, `limits`, `no-limits`, `journal`, `history` or `served`, and the webhook's URL.
// `served` keeps a history and serves the API: it gives its parent the address, and watches when the parent answers. Prints the seconds from
// the opening of the watch to the last delivery (or commit, when no rule matches), those of the processor, and the peak of resident memory.
const [kubeconfig = '', redisUrl = '', countText = '0', mode = 'null', hook = ''] = process.argv.slice(2)
const count = Number(countText)
// As main.ts has it.
Buffer.poolSize = 8 * 1024
let delivered = 0
let startedMs = Number.POSITIVE_INFINITY
let startedCpu = process.cpuUsage()

const nullSink = defineSink({
  apiVersion: 1,
  type: 'null',
  config: z.strictObject({}),
  open: () => ({
    async deliver(batch) {
      delivered += batch.length
      return batch.map(() => ({ kind: 'delivered' as const }))
    },
    async close() {},
  }),
})

const webhook = WebhookConfig.parse({ url: hook || 'http://127.0.0.1:1' })
const sink = mode === 'webhook' ? { type: 'webhook', options: webhook } : { type: 'null', options: {} }
const namespace = mode === 'unmatched' ? 'nowhere' : 'team-*'
/** One event of ten is of a rule of its own; with `limits` that rule counts, throttles and gathers them by namespace. */
const NAMES = ['service-1-*', 'service-11-*', 'service-21-*', 'service-31-*']
const LIMITS = {
  after: { count: 2, within: 60_000, per: ['namespace'] },
  throttle: { every: 1_000, per: ['namespace'] },
  group: { by: ['namespace'], wait: 1_000, interval: 1_000 },
}
const tenth: Rule = { name: 'tenth', when: { kind: 'Pod', name: NAMES }, to: ['out'], continue: false }
const rules: Rule[] = [
  ...(mode === 'limits' || mode === 'no-limits' ? [{ ...tenth, ...(mode === 'limits' && LIMITS) }] : []),
  { name: 'all', when: { kind: 'Pod', namespace }, to: ['out'] },
]
const config: Config = {
  kubernetes: {},
  leases: false,
  redis: { url: redisUrl },
  server:
    mode === 'served'
      ? {
          host: '127.0.0.1',
          port: 0,
          tokens: CALLERS.map((name) => ({ name, role: 'read', token: tokenOf(name) })),
        }
      : false,
  watch: [{ kind: 'Pod' }],
  sinks: [{ name: 'out', source: '', ...sink }],
  rules,
  ...(mode === 'journal' && { journal: { keep: 86_400_000, max: 2 ** 30 } }),
  // As before there was one, so that the rows can be compared with those of former versions.
  history: mode === 'history' || mode === 'served' ? { maxBytes: 2 ** 30 } : false,
  routes: new Map(),
}

const begun = mode === 'served' ? once(process, 'message') : Promise.resolve()

/** Notes when the watch is opened. */
function timed(client: ClusterClient): ClusterClient {
  return {
    ...client,
    async stream(path, options, signal) {
      if (path.includes('watch=') && !path.includes('sendInitialEvents')) {
        await begun
        if (startedMs === Number.POSITIVE_INFINITY) {
          startedMs = performance.now()
          startedCpu = process.cpuUsage()
        }
      }
      return client.stream(path, options, signal)
    },
  }
}

const log = createLog({ level: 'warn', format: 'text', colour: false, output: process.stderr })
const client = timed(connectCluster({ kubeconfig, env: {}, userAgent }))
const sinkTypes = { null: nullSink as SinkType }
const app = await startApp({
  config,
  cluster: 'bench',
  role: 'all',
  redis: { url: redisUrl },
  client,
  log,
  sinkTypes,
})
if (app.url) process.send?.({ url: app.url })

async function total(name: string): Promise<number> {
  const metric = await app.metrics.registry.getSingleMetric(`kubeherald_${name}`)?.get()
  return (metric?.values ?? []).reduce((sum, { value }) => sum + value, 0)
}

async function done(): Promise<number> {
  // Digests are few.
  if (mode === 'limits') return delivered + (await total('changes_limited_total'))
  if (mode !== 'unmatched' && mode !== 'webhook') return delivered
  return total(mode === 'unmatched' ? 'changes_unmatched_total' : 'deliveries_delivered_total')
}

while ((await done()) < count) await new Promise((resolve) => setTimeout(resolve, 5))
const seconds = (performance.now() - startedMs) / 1_000
const { user, system } = process.cpuUsage(startedCpu)
const peakMb = process.resourceUsage().maxRSS / 1_024
console.log(JSON.stringify({ seconds, cpu: (user + system) / 1e6, peakMb }))
process.exit(0)
