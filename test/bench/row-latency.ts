import { request } from 'undici'
import { quantile } from './pairs.ts'
import { serve } from './processes.ts'
import type { Row } from './row.ts'
import { lineRate } from './row-throughput.ts'

const PER_SECOND = 500
const COUNT = 30 * PER_SECOND
/** Until the code is compiled it says little about a process that runs for weeks. */
const WARM_UP = 3 * PER_SECOND

export const latencyRow: Row = {
  name: 'latency',
  title: 'change → webhook at 500 events/s, nothing else running',
  async measure(context) {
    await using hook = await serve('./hook.ts', 'delays')
    await lineRate(context, 'webhook', { count: COUNT, paced: PER_SECOND, hook: hook.url })
    const { body } = await request(`${hook.url}/stats`)
    const { delays } = (await body.json()) as { delays: number[] }
    const measured = delays.slice(WARM_UP)
    const [p50, p99] = [quantile(measured, 0.5), quantile(measured, 0.99)]
    return {
      ours: `p50 ${p50.toFixed(1)} ms, p99 ${p99.toFixed(1)} ms`,
      yardstick: `${measured.length} changes, after ${WARM_UP} to warm up`,
      target: 'p50 ≤ 1.5 ms, p99 ≤ 10 ms',
      met: p50 <= 1.5 && p99 <= 10,
    }
  },
}
