import { keysOf } from '../../src/store/keys.ts'
import { median, pairs, perSecond } from './pairs.ts'
import type { Row } from './row.ts'
import { lineRate } from './row-throughput.ts'

const EVENTS = 30_000

/** An event is packed and written a second time, and must not take more of Redis than an old value. */
const LEAST = 0.6
const MOST_BYTES = 700

export const journalRow: Row = {
  name: 'journal',
  title: 'whole line to a null sink with a journal / without; Redis for each 5.7 KB event in it',
  async measure(context) {
    const sizes: number[] = []
    const rates = await pairs(
      context.pairs,
      () =>
        lineRate(context, 'journal', {
          count: EVENTS,
          async after(redis) {
            const size = await redis.command('MEMORY', 'USAGE', keysOf('bench').journal, 'SAMPLES', '0')
            sizes.push(Number(size) / EVENTS)
          },
        }),
      () => lineRate(context, 'null', { count: EVENTS }),
    )
    const ratio = median(rates.map(({ a, b }) => a / b))
    const bytes = median(sizes)
    return {
      ours: `${perSecond(median(rates.map(({ a }) => a)))}, ${bytes.toFixed(0)} B an event`,
      yardstick: perSecond(median(rates.map(({ b }) => b))),
      ratio,
      target: `≥ ${LEAST} ×, ≤ ${MOST_BYTES} B`,
      met: ratio >= LEAST && bytes <= MOST_BYTES,
    }
  },
}
