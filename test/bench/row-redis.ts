import { keysOf } from '../../src/store/keys.ts'
import type { RedisServer } from '../servers/redis.ts'
import { waitFor } from '../wait-for.ts'
import { buildBundle, runBundle } from './bundle.ts'
import { benchPod } from './pod.ts'
import { serve } from './processes.ts'
import type { BenchContext, Row } from './row.ts'

const WAITING = 6_000
const PER_SECOND = 500

export const redisRow: Row = {
  name: 'redis-bytes',
  title: 'Redis per waiting 5.7 KB event, arriving 500 a second / as fast as they are read',
  async measure(context) {
    buildBundle()
    const paced = await bytesPerEvent(context, PER_SECOND)
    const rushed = await bytesPerEvent(context, 0)
    return {
      ours: `${paced.toFixed(0)} B / ${rushed.toFixed(0)} B`,
      yardstick: `${JSON.stringify(benchPod(1)).length} B of JSON`,
      target: '≤ 700 B',
      met: Math.max(paced, rushed) <= 700,
    }
  },
}

/** As docs/operating.md says, and as the private Redis runs. */
const RECOMMENDED = ['--stream-node-max-bytes', '16384']

/** What Redis keeps for a delivery that nobody answers: what its data shrinks by when the lanes are deleted. */
async function bytesPerEvent(context: BenchContext, perSecond: number): Promise<number> {
  await using feed = await serve('./feed.ts', String(WAITING), String(perSecond))
  await using hook = await serve('./hook.ts', 'never')
  await using redis = await context.startRedis({ args: RECOMMENDED })
  await using _bundle = runBundle(feed.url, redis.url, `{ type: webhook, url: "${hook.url}" }`)
  const ledger = keysOf('bench').sinkLedger('out')
  const enqueued = async () => Number(await redis.command('HGET', ledger, 'enqueued')) >= WAITING
  await waitFor(enqueued, { timeoutMs: 60_000, what: `${WAITING} waiting deliveries` })
  const before = await datasetBytes(redis)
  const lanes = (await redis.command('KEYS', keysOf('bench').lane('*'))) as string[]
  await redis.command('DEL', ...lanes)
  return (before - (await datasetBytes(redis))) / WAITING
}

async function datasetBytes(redis: RedisServer): Promise<number> {
  const info = String(await redis.command('INFO', 'memory'))
  return Number(/used_memory_dataset:(\d+)/.exec(info)?.[1])
}
