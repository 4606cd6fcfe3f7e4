import { expect, test } from 'vitest'
import { LANES, laneByKey, orderOf } from '../../src/sink/order.ts'
import type { ReceivedRequest } from '../servers/receiver.ts'
import { waitFor } from '../wait-for.ts'
import { startBed } from './bed.ts'
import { differences } from './compare.ts'
import { startKubeherald } from './kubeherald.ts'
import { CONFIG_MAPS, churn } from './workload.ts'

/** A busy machine takes a multiple of the 6 s that `npm run bench` measures (recovery). */
const TAKE_OVER_LIMIT_MS = 30_000

test('acceptance 7: of two delivering processes one is killed under a backlog; the other takes over, in order', async () => {
  await using bed = await startBed({ args: ['--role', 'watch'] })
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
  // They share the lanes while little is under way.
  let round = 0
  const both = async () => {
    await churn(bed.kubernetes, [CONFIG_MAPS], { count: 16, parallel: 8, prefix: `early-${round++}` })
    return (await delivered(first)) > 0 && (await delivered(second)) > 0
  }
  await waitFor(both, {
    timeoutMs: 30_000,
    everyMs: 500,
    what: () => `both to deliver; ${bed.hook.requests.length} requests came\n${first.log()}\n${second.log()}`,
  })
  let delayMs = 5_000
  bed.hook.answer(() => ({ status: 200, delayMs }))
  await churn(bed.kubernetes, [CONFIG_MAPS], { count: 200, parallel: 16 })
  await waitFor(async () => (await bed.kubeherald.status()).ledger.sinks.hook?.pending >= 300, {
    what: 'a backlog',
  })

  const untilKill = bed.hook.requests.length
  await first.kill()
  const killedAtMs = Date.now()
  delayMs = 50
  const history = await bed.allArrived(60_000)
  const takeOver = takeOverMs(bed.hook.requests.slice(untilKill), killedAtMs)
  console.log(
    `after the kill each of ${takeOver.length} lanes with a backlog went on within ${Math.max(...takeOver)} ms; ` +
      `all was delivered after ${Date.now() - killedAtMs} ms`,
  )
  // Each process had half of the lanes: some of these were the killed one's.
  expect(takeOver.length).toBeGreaterThan(LANES / 2)
  expect(Math.max(...takeOver)).toBeLessThan(TAKE_OVER_LIMIT_MS)
  const { outOfOrder, unexpected } = differences(history, bed.arrivals())
  expect({ outOfOrder, unexpected }).toEqual({ outOfOrder: [], unexpected: [] })
  await waitFor(async () => (await bed.kubeherald.status()).ledger.sinks.hook.pending === 0, {
    what: 'empty lanes',
  })
  expect((await bed.kubeherald.status()).ledger.balanced).toBe(true)
})

/** For each lane that had something left: how long after the kill its first delivery came. */
function takeOverMs(requests: readonly ReceivedRequest[], killedAtMs: number): number[] {
  const first = new Map<string, number>()
  for (const { body, atMs } of requests) {
    const lane = laneOf(body)
    if (!first.has(lane) && atMs > killedAtMs) first.set(lane, atMs - killedAtMs)
  }
  return [...first.values()]
}

/** Returns the lane of the object that a CloudEvent is about. */
function laneOf(body: string): string {
  const { apiversion, ...event } = JSON.parse(body)
  return laneByKey(orderOf({ event: { ...event, apiVersion: apiversion } }))
}
