import { spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { buildBundle, runBundle } from './bundle.ts'
import { median, pairs } from './pairs.ts'
import { serve } from './processes.ts'
import type { Row } from './row.ts'

export const startRow: Row = {
  name: 'start',
  title: 'start of the bundle to its first watch open, not the first of all / node -e 0',
  async measure(context) {
    buildBundle()
    await using redis = await context.startRedis()
    await using feed = await serve('./feed.ts')
    await firstOfAll(feed, redis.url)
    const times = await pairs(
      context.pairs,
      () => timeToFirstWatch(feed, redis.url),
      async () => timeOfNothing(),
    )
    const ratio = median(times.map(({ a, b }) => a / b))
    return {
      ours: `${median(times.map(({ a }) => a)).toFixed(0)} ms`,
      yardstick: `${median(times.map(({ b }) => b)).toFixed(0)} ms`,
      ratio,
      target: '≤ 6 ×',
      met: ratio <= 6,
    }
  },
}

/** Compiles; its clean end keeps what it compiled for the next ones. */
async function firstOfAll(feed: Awaited<ReturnType<typeof serve>>, redisUrl: string): Promise<void> {
  const watching = once(feed.child, 'message')
  await using bundle = runBundle(feed.url, redisUrl, '{ type: stdout }')
  await watching
  const gone = once(bundle.child, 'exit')
  bundle.child.kill('SIGTERM')
  await gone
}

async function timeToFirstWatch(feed: Awaited<ReturnType<typeof serve>>, redisUrl: string): Promise<number> {
  const watching = once(feed.child, 'message')
  await using bundle = runBundle(feed.url, redisUrl, '{ type: stdout }')
  await watching
  return performance.now() - bundle.startedMs
}

function timeOfNothing(): number {
  const startedMs = performance.now()
  spawnSync(process.execPath, ['-e', '0'])
  return performance.now() - startedMs
}
