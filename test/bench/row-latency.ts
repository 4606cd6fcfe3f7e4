import { request } from 'undici'
import type { Row } from './main.ts'
import { measure, serve } from './processes.ts'

const COUNT = 10_000
const PER_SECOND = 500

export const latencyRow: Row = {
  name: 'latency',
  title: 'change → webhook at 500 events/s, nothing else running',
  async measure(context) {
    await using feed = await serve('./feed.ts', String(COUNT), String(PER_SECOND))
    await using hook = await serve('./hook.ts')
    await using redis = await context.startRedis()
    await measure('./line.ts', feed.url, redis.url, String(COUNT), 'webhook', hook.url)
    const { body } = await request(`${hook.url}/stats`)
    const { p50, p99 } = (await body.json()) as { p50: number; p99: number }
    return {
      ours: `p50 ${p50} ms, p99 ${p99} ms`,
      yardstick: `${COUNT} changes`,
      target: 'p50 ≤ 10 ms, p99 ≤ 50 ms',
      met: p50 <= 10 && p99 <= 50,
    }
  },
}
