import { request } from 'undici'
import { buildBundle } from './bundle.ts'
import { median, quantile } from './pairs.ts'
import { serve } from './processes.ts'
import type { Row } from './row.ts'
import { type Cost, costOfOurs } from './row-event-cost.ts'

/** Of each service of the feed's Events one; each has 16 lanes. */
const SINKS = 125
const LANES = 16 * SINKS
const RATE = { perSecond: 100, warmUpSeconds: 25, seconds: 20 }
const MOST_MS = 1.5
const MOST_P99_MS = 50

export const manyLanesRow: Row = {
  name: 'many-lanes',
  title: `${LANES.toLocaleString('en-US')} lanes with few Events each, ${RATE.perSecond} Events a second: processor time an Event, change → webhook`,
  async measure(context) {
    buildBundle()
    const runs: { cost: Cost; p99: number }[] = []
    for (let i = 0; i < context.pairs; i++) {
      await using hook = await serve('./hook.ts', 'delays')
      const cost = await costOfOurs(context, RATE, hook, { routing })
      const { body } = await request(`${hook.url}/stats`)
      const { delays } = (await body.json()) as { delays: number[] }
      runs.push({ cost, p99: quantile(delays.slice(RATE.perSecond * RATE.warmUpSeconds), 0.99) })
    }
    const ms = median(runs.map(({ cost }) => cost.ms))
    const p99 = median(runs.map((it) => it.p99))
    return {
      ours: `${ms.toFixed(2)} ms, p99 ${p99.toFixed(0)} ms`,
      yardstick: '–',
      target: `≤ ${MOST_MS} ms, p99 ≤ ${MOST_P99_MS} ms`,
      met: ms <= MOST_MS && p99 <= MOST_P99_MS,
    }
  },
}

/** The last sink takes all that none of the others does. */
function routing(url: string): string {
  const names = Array.from({ length: SINKS }, (_, i) => `service-${i}`)
  const sinks = names.map((name) => `  ${name}: { type: webhook, url: "${url}/${name}" }`)
  const rules = names.map((name, i) => {
    const when = i < SINKS - 1 ? `when: { name: "${name}-*" }, continue: false, ` : ''
    return `  - { name: ${name}, ${when}to: [${name}] }`
  })
  return ['sinks:', ...sinks, 'rules:', ...rules].join('\n')
}
