import { PreviousObjects } from '../../src/store/commit/previous-objects.ts'
import type { RedisServer } from '../servers/redis.ts'
import { trimmedPod } from './pod.ts'
import type { Row } from './row.ts'

const PODS = 10_000
const BATCH = 200

/** What Redis keeps of an object so that rules and people can tell what changed. */
export const oldValuesRow: Row = {
  name: 'old-values',
  title: 'Redis per old value of a 5.7 KB pod',
  async measure(context) {
    await using redis = await context.startRedis({})
    const before = await datasetBytes(redis)
    let json = 0
    for (let i = 0; i < PODS; i += BATCH) {
      const kept = new PreviousObjects(({ bytes }) => bytes)
      for (let j = i; j < i + BATCH; j++) json += put(kept, j)
      await redis.command('HSET', 'old', ...(kept.plan().previousSet as string[]))
    }
    const bytes = ((await datasetBytes(redis)) - before) / PODS
    return {
      ours: `${bytes.toFixed(0)} B`,
      yardstick: `${(json / PODS).toFixed(0)} B of JSON`,
      target: '≤ 700 B',
      met: bytes <= 700,
    }
  },
}

function put(kept: PreviousObjects, i: number): number {
  const { metadata, ...rest } = trimmedPod(i)
  const resourceVersion = String(104_000 + i)
  const bytes = Buffer.from(JSON.stringify({ ...rest, metadata: { ...metadata, resourceVersion } }))
  kept.put({
    bytes,
    uid: metadata.uid,
    resourceVersion,
    namespace: metadata.namespace,
    name: metadata.name,
    labelsJson: '{}',
  })
  return bytes.length
}

async function datasetBytes(redis: RedisServer): Promise<number> {
  const info = String(await redis.command('INFO', 'memory'))
  return Number(/used_memory_dataset:(\d+)/.exec(info)?.[1])
}
