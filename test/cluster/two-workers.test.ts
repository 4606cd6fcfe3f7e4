import { expect, test } from 'vitest'
import { waitFor } from '../wait-for.ts'
import { startBed } from './bed.ts'
import { differences } from './compare.ts'
import { startKubeherald } from './kubeherald.ts'
import { CONFIG_MAPS, churn } from './workload.ts'

test('acceptance 7: of two delivering processes one is killed under a backlog; the other takes over, in order', async () => {
  await using bed = await startBed({ args: ['--role', 'watch'] })
  await churn(bed.kubernetes, [CONFIG_MAPS], { count: 700, parallel: 16 })
  await waitFor(async () => (await bed.kubeherald.status()).ledger.sinks.hook?.pending >= 2_000, {
    what: 'a backlog',
  })
  bed.hook.answer(() => ({ status: 200, delayMs: 100 }))
  const config = `
cluster: test
redis: { url: "${bed.redis.url}" }
watch: [{ kind: ConfigMap, namespaces: default }]
sinks: { hook: { type: webhook, url: "${bed.hook.url}", concurrency: 16 } }
rules: [{ name: all, when: { namespace: default }, to: [hook] }]`
  const start = () => startKubeherald({ config, args: ['--role', 'deliver'] })
  const [first, second] = await Promise.all([start(), start()])
  await using _first = first
  await using _second = second
  const delivered = async (process: typeof first) =>
    Number(
      /kubeherald_deliveries_delivered_total\{sink="hook"\} (\d+)/.exec(await process.metrics())?.[1] ?? 0,
    )
  await waitFor(async () => (await delivered(first)) > 0 && (await delivered(second)) > 0, {
    timeoutMs: 30_000,
    what: () => `both to deliver; ${bed.hook.requests.length} requests came\n${first.log()}\n${second.log()}`,
  })

  await first.kill()
  const killedAt = Date.now()
  const history = await bed.allArrived(60_000)
  console.log(`took over and finished ${Date.now() - killedAt} ms after the kill`)
  const { outOfOrder, unexpected } = differences(history, bed.arrivals())
  expect({ outOfOrder, unexpected }).toEqual({ outOfOrder: [], unexpected: [] })
  await waitFor(async () => (await bed.kubeherald.status()).ledger.sinks.hook.pending === 0, {
    what: 'empty lanes',
  })
  expect((await bed.kubeherald.status()).ledger.balanced).toBe(true)
}, 120_000)
