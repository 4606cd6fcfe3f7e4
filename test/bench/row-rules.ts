import { median, pairs, perSecond } from './pairs.ts'
import { measure, serve } from './processes.ts'
import type { BenchContext, Result, Row } from './row.ts'

const EVENTS = 60_000
const IN_MEMORY = 60_000

export const rulesRows: readonly Row[] = [
  {
    name: 'rules-few',
    title: '100 rules of a large team, one event of a hundred matches, by processor time / parse loop',
    measure: (context) => againstParseLoop(context, 'few', 1.5),
  },
  {
    name: 'rules-all',
    title: '100 rules of a large team, every event matches one, by processor time / parse loop',
    measure: (context) => againstParseLoop(context, 'all', 0.4),
  },
  {
    name: 'rules-1000',
    title: 'matching alone: what 1,000 rules cost / what 100 cost',
    async measure(context) {
      const cost = async (rules: string) =>
        1e6 / (await rate('./rules-loop.ts', IN_MEMORY, String(IN_MEMORY), rules))
      const costs = await pairs(
        context.pairs,
        () => cost('1000'),
        () => cost('100'),
      )
      const ratio = median(costs.map(({ a, b }) => a / b))
      return {
        ours: `${median(costs.map(({ a }) => a)).toFixed(2)} µs`,
        yardstick: `${median(costs.map(({ b }) => b)).toFixed(2)} µs`,
        ratio,
        target: '≤ 3 ×',
        met: ratio <= 3,
      }
    },
  },
]

/** Scanning, matching and what a delivery needs, against reading and parsing the same feed. */
async function againstParseLoop(
  context: BenchContext,
  matched: 'few' | 'all',
  least: number,
): Promise<Result> {
  await using feed = await serve('./feed.ts', String(EVENTS))
  const rates = await pairs(
    context.pairs,
    () => rate('./rules-loop.ts', EVENTS, String(EVENTS), '100', matched, feed.url),
    () => rate('./parse-loop.ts', EVENTS, feed.url, String(EVENTS)),
  )
  const ratio = median(rates.map(({ a, b }) => a / b))
  return {
    ours: perSecond(median(rates.map(({ a }) => a))),
    yardstick: perSecond(median(rates.map(({ b }) => b))),
    ratio,
    target: `≥ ${least} ×`,
    met: ratio >= least,
  }
}

/** Events for each second of the processor: the feed, which has to keep up with both, is not measured. */
async function rate(file: string, events: number, ...args: string[]): Promise<number> {
  const { seconds, cpu = seconds } = await measure(file, ...args)
  return events / cpu
}
