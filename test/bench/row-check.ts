import { parse } from 'yaml'
import { loadConfig } from '../../src/config/load.ts'
import { builtInSinks } from '../../src/sink-types.ts'
import { median, pairs } from './pairs.ts'
import type { Row } from './row.ts'

const RULES = 1_000
const LIMIT_MS = 1_000

/** In process, as a reload does it; the yardstick only parses the YAML. */
export const checkRow: Row = {
  name: 'check',
  title: `check of ${RULES} rules / parsing their YAML`,
  async measure(context) {
    const text = configuration()
    // Code that runs for the first time is compiled.
    await check(text)
    const times = await pairs(
      context.pairs,
      () => timed(() => check(text)),
      () => timed(async () => void parse(text)),
    )
    const ours = median(times.map(({ a }) => a))
    return {
      ours: `${ours.toFixed(0)} ms`,
      yardstick: `${median(times.map(({ b }) => b)).toFixed(0)} ms`,
      ratio: median(times.map(({ a, b }) => a / b)),
      target: `≤ ${LIMIT_MS} ms`,
      met: ours <= LIMIT_MS,
    }
  },
}

async function timed(work: () => Promise<void>): Promise<number> {
  const startedMs = performance.now()
  await work()
  return performance.now() - startedMs
}

async function check(text: string): Promise<void> {
  const loaded = await loadConfig({
    file: 'kubeherald.yaml',
    text,
    env: {},
    readFile: () => '',
    sinkTypes: builtInSinks,
  })
  if (!loaded.ok || loaded.warnings.length > 0)
    throw new Error(`the rules of the bench are not good: ${JSON.stringify(loaded).slice(0, 300)}`)
}

/** Rules of many teams, for a few kinds. */
function configuration(): string {
  const kinds = ['Event', 'Pod', 'Deployment', 'Job', 'StatefulSet']
  const sinks = Array.from({ length: 20 }, (_, i) => `  team-${i}: { type: stdout }`)
  const rules = Array.from({ length: RULES }, (_, i) => {
    const kind = kinds[i % kinds.length]
    const what = kind === 'Event' ? 'type: Warning, reason: [BackOff, Failed], ' : ''
    return [
      `  - name: rule-${i}`,
      `    when: { kind: ${kind}, ${what}namespace: [shop-${i}, pay-*], labels: "team in (t${i}, b)", name: "/^web-${i}-.*$/" }`,
      '    throttle: { per: regarding, every: 10m }',
      `    to: [team-${i % 20}, team-${(i + 3) % 20}]`,
    ].join('\n')
  })
  return [`watch: [${kinds.join(', ')}]`, 'sinks:', ...sinks, 'rules:', ...rules, ''].join('\n')
}
