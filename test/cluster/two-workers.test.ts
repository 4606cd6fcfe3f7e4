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
  bed.hook.answer(() => ({ status: 200, delayMs: 20 }))
  const config = `
cluster: test
redis: { url: "${bed.redis.url}" }
watch: [{ kind: ConfigMap, namespaces: default }]
sinks: { hook: { type: webhook, url: "${bed.hook.url}", concurrency: 2 } }
rules: [{ name: all, when: { namespace: default }, to: [hook] }]`
  await using first = await startKubeherald({ config, args: ['--role', 'deliver'] })
  await using second = await startKubeherald({ config, args: ['--role', 'deliver'] })
  const delivered = async (process: typeof first) =>
    Number(
      /kubeherald_deliveries_delivered_total\{sink="hook"\} (\d+)/.exec(await process.metrics())?.[1] ?? 0,
    )
  await waitFor(async () => (await delivered(first)) > 0 && (await delivered(second)) > 0, {
    what: 'both to deliver',
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
