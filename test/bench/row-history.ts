import { keysOf } from '../../src/store/keys.ts'
import { median, pairs, perSecond } from './pairs.ts'
import type { Row } from './row.ts'
import { lineRate } from './row-throughput.ts'

/** As many as the row `null-sink` has: of 30,000 a third is warm-up. */
const EVENTS = 60_000
/** Deliveries that come a few at a time take most. */
const PACED = 20
const PACED_EVENTS = 200

const LEAST = 0.9
const MOST_BYTES = 250

export const historyRow: Row = {
  name: 'history',
  title: `whole line to a null sink with the history of deliveries / without; Redis for each delivery, at full speed and at ${PACED}/s`,
  async measure(context) {
    const sizes = { fast: [] as number[], paced: [] as number[] }
    const measured =
      (into: number[], count: number) => async (redis: { command(...words: string[]): Promise<unknown> }) => {
        const size = await redis.command('MEMORY', 'USAGE', keysOf('bench').history, 'SAMPLES', '0')
        into.push(Number(size) / count)
      }
    const rates = await pairs(
      context.pairs,
      () => lineRate(context, 'history', { count: EVENTS, after: measured(sizes.fast, EVENTS) }),
      () => lineRate(context, 'null', { count: EVENTS }),
    )
    const after = measured(sizes.paced, PACED_EVENTS)
    await lineRate(context, 'history', { count: PACED_EVENTS, paced: PACED, after })
    const ratio = median(rates.map(({ a, b }) => a / b))
    const [fast, paced] = [median(sizes.fast), median(sizes.paced)]
    return {
      ours: `${perSecond(median(rates.map(({ a }) => a)))}, ${fast.toFixed(0)} and ${paced.toFixed(0)} B a delivery`,
      yardstick: perSecond(median(rates.map(({ b }) => b))),
      ratio,
      target: `≥ ${LEAST} ×, ≤ ${MOST_BYTES} B`,
      met: ratio >= LEAST && Math.max(fast, paced) <= MOST_BYTES,
    }
  },
}
