import { median, pairs, perSecond } from './pairs.ts'
import { type Measured, measure, serve } from './processes.ts'
import type { Row } from './row.ts'

const SINGLE = 15_000
const BULK = 60_000
const LEAST = 5

/**
 * `bulk-events`, `bulk-cloudevents`, `bulk-objects`: the receiver parses every event, in a process of its own. Compared by the processor
 * time of the sender; a rate depends on what else the machine does.
 */
export const bulkRows: readonly Row[] = [
  rowOf('events', 'the usual fields of Kubernetes Events by template'),
  rowOf('cloudevents', 'pods as CloudEvents'),
  rowOf('objects', 'titles and whole pods by template'),
]

function rowOf(form: string, title: string): Row {
  return {
    name: `bulk-${form}`,
    title: `the webhook sink alone, ${title}: many in a request / one in a request`,
    async measure(context) {
      await using hook = await serve('./hook.ts', 'lines')
      const of = async (mode: 'bulk' | 'single', count: number) => {
        const measured = await measure('./bulk-loop.ts', form, mode, hook.url, String(count))
        return { rate: count / measured.seconds, micros: microsOf(measured, count) }
      }
      const results = await pairs(
        context.pairs,
        () => of('bulk', BULK),
        () => of('single', SINGLE),
      )
      const [ours, theirs] = [results.map(({ a }) => a), results.map(({ b }) => b)]
      const ratios = results.map(({ a, b }) => b.micros / a.micros)
      const rates = results.map(({ a, b }) => a.rate / b.rate)
      const shown = (all: typeof ours) =>
        `${median(all.map(({ micros }) => micros)).toFixed(0)} µs of processor time, ${perSecond(median(all.map(({ rate }) => rate)))}`
      const rounds = (all: number[]) => all.map((it) => it.toFixed(1)).join(' ')
      return {
        ours: shown(ours),
        yardstick: shown(theirs),
        ratio: median(ratios),
        target: `≥ ${LEAST} × in every round (${rounds(ratios)}; of rates ${rounds(rates)})`,
        met: Math.min(...ratios) >= LEAST,
      }
    },
  }
}

function microsOf({ cpu = Number.NaN }: Measured, count: number): number {
  return (cpu * 1_000_000) / count
}
