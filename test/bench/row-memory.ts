import { once } from 'node:events'
import { setTimeout as pause } from 'node:timers/promises'
import { freePort } from '../servers/ports.ts'
import { type BundleOptions, buildBundle, runBundle } from './bundle.ts'
import { median, pairs } from './pairs.ts'
import { serve } from './processes.ts'
import type { BenchContext, Row } from './row.ts'

const SECONDS = 20
const PER_SECOND = 100
/** More than it can have sent when the measuring ends. */
const COUNT = 10 * SECONDS * PER_SECOND

export const memoryRow: Row = {
  name: 'memory',
  title: 'memory of the bundle, 50,000 pods watched, 100 changes/s / with 500 pods',
  async measure(context) {
    buildBundle()
    const large = await memoryWith(50_000, context)
    const small = await memoryWith(500, context)
    const ratio = large / small
    return {
      ours: `${large.toFixed(0)} MB`,
      yardstick: `${small.toFixed(0)} MB`,
      ratio,
      target: '≤ 130 MB, ≤ 1.05 ×',
      met: large <= 130 && ratio <= 1.05,
    }
  },
}

/** Nobody asks for the page or the API: their code is not loaded. */
const MOST_OF_SERVER = 1.05

export const serverMemoryRow: Row = {
  name: 'server-memory',
  title:
    'memory of the bundle with the server of the page and the API, which nobody asks / with server: false',
  async measure(context) {
    buildBundle()
    const sizes = await pairs(
      context.pairs,
      async () => memoryWith(500, context, { port: await freePort() }),
      () => memoryWith(500, context),
    )
    const ratio = median(sizes.map(({ a, b }) => a / b))
    return {
      ours: `${median(sizes.map(({ a }) => a)).toFixed(0)} MB`,
      yardstick: `${median(sizes.map(({ b }) => b)).toFixed(0)} MB`,
      ratio,
      target: `≤ ${MOST_OF_SERVER} ×`,
      met: ratio <= MOST_OF_SERVER,
    }
  },
}

/** Resident memory in MB: the median of the seconds after its first list, while changes flow. Throws when the process ends. */
export async function memoryWith(
  objects: number,
  context: BenchContext,
  options: Pick<BundleOptions, 'launcher' | 'port'> = {},
): Promise<number> {
  await using feed = await serve('./feed.ts', String(COUNT), String(PER_SECOND), String(objects))
  await using hook = await serve('./hook.ts')
  await using redis = await context.startRedis()
  const watching = once(feed.child, 'message')
  await using bundle = runBundle(feed.url, redis.url, `{ type: webhook, url: "${hook.url}" }`, options)
  await watching
  const samples: number[] = []
  for (let i = 0; i < SECONDS; i++) {
    await pause(1_000)
    samples.push(bundle.residentMb())
  }
  return median(samples)
}
