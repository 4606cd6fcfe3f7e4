import { median } from './pairs.ts'
import { measure, serve } from './processes.ts'
import type { Row } from './row.ts'

const PODS = 50_000
/** Seconds of 40,000 Events → microseconds of one. */
const MICROSECONDS = 1_000_000 / 40_000

interface Measured {
  seconds: number
  bytes: number
  requests: number
  objects: number
  runs: { with: number; without: number }[]
}

export const enrichRow: Row = {
  name: 'enrich',
  title: 'metadata of 50,000 pods remembered; Events read with labels and owners of their pods / without',
  async measure({ pairs }) {
    await using feed = await serve('./feed.ts', '0', '0', String(PODS))
    const measured: Measured[] = []
    for (let i = 0; i < pairs; i++)
      measured.push((await measure('./enrich-loop.ts', feed.url, String(PODS))) as Measured)
    const [{ requests, objects }] = measured as [Measured]
    // Few of the feed's pods have the same name.
    if (objects < PODS * 0.999) throw new Error(`${objects} objects are remembered`)
    const of = (value: (it: Measured) => number) => median(measured.map(value))
    const bytes = of((it) => it.bytes)
    const ratio = of(({ runs }) => median(runs.map((run) => run.with / run.without)))
    const more = of(({ runs }) => median(runs.map((run) => run.with - run.without))) * MICROSECONDS
    const micro = (value: (it: Measured) => number) => `${(of(value) * MICROSECONDS).toFixed(1)} µs an Event`
    return {
      ours: `${bytes.toFixed(0)} B an object, ${requests} requests, ${of((it) => it.seconds).toFixed(1)} s; ${micro(({ runs }) => median(runs.map((run) => run.with)))}`,
      yardstick: micro(({ runs }) => median(runs.map((run) => run.without))),
      ratio,
      target: '≤ 450 B, ≤ 15 µs more',
      met: bytes <= 450 && more <= 15,
    }
  },
}
