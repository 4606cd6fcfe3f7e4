import { z } from 'zod'
import { WebhookConfig } from '../../sinks/webhook/config.ts'
import { startApp } from '../../src/app.ts'
import type { Config } from '../../src/config/schema.ts'
import { createLog } from '../../src/log.ts'
import { defineSink, type SinkType } from '../../src/sink/index.ts'
import { userAgent } from '../../src/version.ts'
import type { ClusterClient } from '../../src/watch/cluster-client.ts'
import { connectCluster } from '../../src/watch/connect.ts'

// The whole line in one process: watches a feed, and ends when all of its events are through. Arguments: a kubeconfig, the
// URL of Redis, how many events, `null`, `unmatched` or `webhook`, and the webhook's URL. Prints the seconds from the opening
// of the watch to the last delivery (or commit, when no rule matches).
const [kubeconfig = '', redisUrl = '', countText = '0', mode = 'null', hook = ''] = process.argv.slice(2)
const count = Number(countText)
let delivered = 0
let startedMs = Number.POSITIVE_INFINITY

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
const config: Config = {
  kubernetes: {},
  redis: { url: redisUrl },
  server: false,
  watch: [{ kind: 'Pod' }],
  sinks: [{ name: 'out', source: '', ...sink }],
  rules: [{ name: 'all', when: { kind: 'Pod', namespace }, to: ['out'] }],
  routes: new Map(),
}

/** Notes when the watch is opened. */
function timed(client: ClusterClient): ClusterClient {
  return {
    ...client,
    stream(path, options, signal) {
      if (!path.includes('sendInitialEvents')) startedMs = Math.min(startedMs, performance.now())
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

async function total(name: string): Promise<number> {
  const metric = await app.metrics.registry.getSingleMetric(`kubeherald_${name}`)?.get()
  return (metric?.values ?? []).reduce((sum, { value }) => sum + value, 0)
}

async function done(): Promise<number> {
  if (mode === 'null') return delivered
  return total(mode === 'unmatched' ? 'changes_unmatched_total' : 'deliveries_delivered_total')
}

while ((await done()) < count) await new Promise((resolve) => setTimeout(resolve, 5))
console.log(JSON.stringify({ seconds: (performance.now() - startedMs) / 1_000 }))
process.exit(0)
