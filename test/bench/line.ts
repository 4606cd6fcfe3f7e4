import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { z } from 'zod'
import { startApp } from '../../src/app.ts'
import type { Config } from '../../src/config/schema.ts'
import { createLog } from '../../src/log.ts'
import { defineSink, type SinkType } from '../../src/sink/index.ts'
import { userAgent } from '../../src/version.ts'
import { connectCluster } from '../../src/watch/connect.ts'

/**
 * The whole line in one process: watches a feed, and ends when all of its events are through. Prints the seconds from the
 * first change observed to the last one delivered (or committed, when no rule matches).
 */
const [feed = '', redisUrl = '', countText = '0', mode = 'null', hook = ''] = process.argv.slice(2)
const count = Number(countText)
let delivered = 0

const nullSink = defineSink({
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

const webhook = {
  url: new URL(hook || 'http://127.0.0.1:1'),
  secret: [],
  headers: {},
  timeout: 20_000,
  concurrency: 64,
  allowLinkLocal: false,
}
const config: Config = {
  kubernetes: {},
  redis: { url: redisUrl },
  server: false,
  watch: [{ kind: 'Pod' }],
  sinks: [
    mode === 'webhook'
      ? { name: 'out', type: 'webhook', options: webhook }
      : { name: 'out', type: 'null', options: {} },
  ],
  rules: [
    {
      name: 'all',
      when: { kind: 'Pod', namespace: mode === 'unmatched' ? 'nowhere' : 'team-*' },
      to: ['out'],
    },
  ],
}
const dir = mkdtempSync(join(tmpdir(), 'kubeherald-bench-'))
const kubeconfig = join(dir, 'kubeconfig')
writeFileSync(
  kubeconfig,
  JSON.stringify({
    'current-context': 'b',
    contexts: [{ name: 'b', context: { cluster: 'b', user: 'b' } }],
    clusters: [{ name: 'b', cluster: { server: feed } }],
    users: [{ name: 'b', user: {} }],
  }),
)
const log = createLog({ level: 'warn', format: 'text', colour: false, output: process.stderr })
const client = connectCluster({ kubeconfig, env: {}, userAgent })
const sinkTypes = { null: nullSink as SinkType }
const app = await startApp({ config, cluster: 'bench', role: 'all', redisUrl, client, log, sinkTypes })
const total = async (name: string) =>
  ((await app.metrics.registry.getSingleMetric(`kubeherald_${name}`)?.get())?.values ?? []).reduce(
    (sum, { value }) => sum + value,
    0,
  )
const done = async () =>
  mode === 'null'
    ? delivered
    : await total(mode === 'unmatched' ? 'changes_observed_total' : 'deliveries_delivered_total')

while ((await total('changes_observed_total')) === 0) await new Promise((resolve) => setTimeout(resolve, 1))
const startedMs = performance.now()
while ((await done()) < count) await new Promise((resolve) => setTimeout(resolve, 5))
rmSync(dir, { recursive: true, force: true })
console.log(JSON.stringify({ seconds: (performance.now() - startedMs) / 1_000 }))
process.exit(0)
