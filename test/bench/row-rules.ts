import { median, pairs, perSecond } from './pairs.ts'
import { measure, serve } from './processes.ts'
import type { BenchContext, Result, Row } from './row.ts'

const EVENTS = 60_000
const IN_MEMORY = 20_000

export const rulesRows: readonly Row[] = [
  {
    name: 'rules-few',
    title: '100 rules of a large team, one event of a hundred matches / parse loop',
    measure: (context) => againstParseLoop(context, 'few', 1.5),
  },
  {
    name: 'rules-all',
    title: '100 rules of a large team, every event matches one / parse loop',
    measure: (context) => againstParseLoop(context, 'all', 0.4),
  },
  {
    name: 'rules-1000',
    title: 'matching alone: what 1,000 rules cost / what 100 cost',
    async measure(context) {
      const cost = async (rules: string) =>
        ((await measure('./rules-loop.ts', String(IN_MEMORY), rules)).seconds / IN_MEMORY) * 1e6
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
    async () => EVENTS / (await measure('./rules-loop.ts', String(EVENTS), '100', matched, feed.url)).seconds,
    async () => EVENTS / (await measure('./parse-loop.ts', feed.url, String(EVENTS))).seconds,
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
