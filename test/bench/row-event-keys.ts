import { buildBundle } from './bundle.ts'
import { median, pairs } from './pairs.ts'
import { serve } from './processes.ts'
import type { Row } from './row.ts'
import { type CostOptions, costOfOurs, type Rate } from './row-event-cost.ts'

const MOST = 1.1

/** `event-keys-100`, `event-keys-10`: what the keys of rules and watches that few need cost an Event to which they do nothing. */
export const eventKeysRows: readonly Row[] = [
  rowAt({ perSecond: 100, warmUpSeconds: 6, seconds: 12 }),
  rowAt({ perSecond: 10, warmUpSeconds: 10, seconds: 18 }),
]

function rowAt(rate: Rate): Row {
  return {
    name: `event-keys-${rate.perSecond}`,
    title: `processor time an Event at ${rate.perSecond}/s with debounce, logs, mute by dates, verify, labels of namespaces and regarded objects / without`,
    async measure(context) {
      buildBundle()
      const cost = async (options: CostOptions) => {
        await using hook = await serve('./hook.ts')
        return (await costOfOurs(context, rate, hook, options)).ms
      }
      const results = await pairs(
        context.pairs,
        () => cost(WITH),
        () => cost(WITHOUT),
      )
      const ratio = median(results.map(({ a, b }) => a / b))
      return {
        ours: `${median(results.map(({ a }) => a)).toFixed(2)} ms`,
        yardstick: `${median(results.map(({ b }) => b)).toFixed(2)} ms`,
        ratio,
        target: `≤ ${MOST} ×`,
        met: ratio <= MOST,
      }
    },
  }
}

/** The last rule matches every Event; the others none. */
const WITH: CostOptions = {
  watch: '{ kind: Event, verify: 1h }',
  routing: (url) => `sinks: { out: { type: webhook, url: "${url}" } }
rules:
  - { name: debounced, when: { reason: Never }, debounce: { quiet: 30s }, to: [out] }
  - { name: with-logs, when: { reason: Nowhere, regarding: { kind: Pod } }, logs: true, to: [out] }
  - name: all
    when: { namespaceLabels: env=prod, regarding: { kind: Pod, labels: team=shop } }
    mute:
      - { dates: [05-01, 12-24..12-26], timezone: Europe/Berlin }
      - { from: 2030-12-12 20:00, to: 2030-12-13 02:00, timezone: Europe/Berlin }
    to: [out]
`,
}

/** The same rules without these keys. */
const WITHOUT: CostOptions = {
  routing: (url) => `sinks: { out: { type: webhook, url: "${url}" } }
rules:
  - { name: debounced, when: { reason: Never }, to: [out] }
  - { name: with-logs, when: { reason: Nowhere, regarding: { kind: Pod } }, to: [out] }
  - { name: all, when: { regarding: { kind: Pod } }, to: [out] }
`,
}
