import { expect, test } from 'vitest'
import { keysOf } from '../../src/store/keys.ts'
import type { RedisServer } from '../servers/redis.ts'
import { startRedisCluster } from '../servers/redis-cluster.ts'
import { startSentinels } from '../servers/redis-sentinel.ts'
import { waitFor } from '../wait-for.ts'
import { type Bed, startBed } from './bed.ts'
import { differences } from './compare.ts'
import { CONFIG_MAPS, churn } from './workload.ts'

/** What Redis loses with a master, it loses together: position, deliveries and ledger. So the ledger is always exact. */

const KEY = keysOf('test').bullmq

/** Everything arrived, in order, and what Redis has now was enqueued once. */
async function allIsThere(bed: Bed) {
  const history = await bed.allArrived()
  const { repeated, ...rest } = differences(history, bed.arrivals())
  expect(rest).toEqual({ missing: [], unexpected: [], outOfOrder: [] })
  await waitFor(() => bed.kubeherald.ready(), { what: 'readiness' })
  const counts = async () => (await bed.kubeherald.status()).ledger
  await waitFor(async () => (await counts()).sinks.hook.pending === 0, { what: 'the lanes to be empty' })
  const ledger = await counts()
  expect(ledger.balanced).toBe(true)
  expect(ledger.sinks.hook).toMatchObject({ enqueued: history.length, dead: 0 })
  return { history, repeated }
}

/** Does it in the middle of a load of 120 objects; gives the longest time in which nothing arrived. */
async function underLoad(bed: Bed, doIt: () => Promise<unknown>): Promise<number> {
  let [lastMs, longestMs] = [performance.now(), 0]
  bed.hook.answer(() => {
    longestMs = Math.max(longestMs, performance.now() - lastMs)
    lastMs = performance.now()
    return { status: 200 }
  })
  const load = churn(bed.kubernetes, [CONFIG_MAPS], { count: 120, parallel: 8 })
  load.catch(() => {})
  await waitFor(() => bed.hook.requests.length > 40, { what: 'the load to flow' })
  await doIt()
  await load
  return longestMs
}

const sentinelYaml = (addresses: readonly string[]) =>
  `{ sentinel: { name: main, nodes: ${JSON.stringify(addresses)} } }`

test('acceptance 5-7: Sentinel fails over under load; nothing is lost, and nothing enqueued twice', async () => {
  await using sentinels = await startSentinels()
  await using bed = await startBed({ redis: sentinelYaml(sentinels.addresses) })
  const old = await sentinels.master()
  const stalledMs = await underLoad(bed, async () => {
    await old.kill()
    await waitFor(async () => (await sentinels.master()) !== old, { timeoutMs: 60_000, what: 'the failover' })
  })
  await allIsThere(bed)
  expect(stalledMs).toBeLessThan(60_000)
})

test('acceptance 5-7: a replica that lacks the last writes takes the position back, and its changes are told again', async () => {
  await using sentinels = await startSentinels()
  await using bed = await startBed({ redis: sentinelYaml(sentinels.addresses) })
  const old = await sentinels.master()
  const replica = sentinels.servers.find((it) => it !== old) as RedisServer
  await churn(bed.kubernetes, [CONFIG_MAPS], { count: 20, parallel: 4, prefix: 'before' })
  await bed.allArrived()
  process.kill(replica.pid, 'SIGSTOP')
  await old.command('CLIENT', 'KILL', 'TYPE', 'replica')
  await churn(bed.kubernetes, [CONFIG_MAPS], { count: 20, parallel: 4, prefix: 'forgotten' })
  await bed.allArrived()
  await old.kill()
  process.kill(replica.pid, 'SIGCONT')
  await waitFor(async () => (await sentinels.master()) === replica, {
    timeoutMs: 60_000,
    what: 'the failover',
  })
  const startedMs = performance.now()
  await churn(bed.kubernetes, [CONFIG_MAPS], { count: 20, parallel: 4, prefix: 'after' })
  const { repeated } = await allIsThere(bed)
  expect(repeated.filter((it) => it.includes('forgotten')).length).toBeGreaterThan(40)
  // It is its own position that went back: nobody else is waited for.
  expect(performance.now() - startedMs).toBeLessThan(90_000)
})

test('acceptance 5-7: the master of our slot is killed in a Redis Cluster; its replica goes on, exactly', async () => {
  await using cluster = await startRedisCluster({ replicas: true })
  const redis = `{ cluster: { nodes: ${JSON.stringify(cluster.addresses)} } }`
  await using bed = await startBed({ redis })
  const old = await cluster.masterOf(KEY)
  const stalledMs = await underLoad(bed, async () => {
    await old.kill()
    const promoted = () => cluster.masterOf(KEY).catch(() => old)
    await waitFor(async () => (await promoted()) !== old, { timeoutMs: 60_000, what: 'the failover' })
  })
  await allIsThere(bed)
  expect(stalledMs).toBeLessThan(60_000)
})

test('acceptance 5-7: our slot moves to another node of a Redis Cluster under load; exactly everything arrives', async () => {
  await using cluster = await startRedisCluster()
  const redis = `{ cluster: { nodes: ${JSON.stringify(cluster.addresses)} } }`
  await using bed = await startBed({ redis })
  const to = await cluster.otherMaster(await cluster.masterOf(KEY))
  await underLoad(bed, async () => {
    await cluster.beginMove(KEY, to)
    while ((await cluster.moveSome(KEY, to, 3)) > 0);
    await cluster.endMove(KEY, to)
  })
  const { history, repeated } = await allIsThere(bed)
  expect(repeated.length).toBeLessThan(history.length / 10)
})
