import { once } from 'node:events'
import { median, pairs, perSecond } from './pairs.ts'
import { type MeasuredLine, type Server, serve } from './processes.ts'
import type { BenchContext, Result, Row } from './row.ts'
import { runLine } from './row-throughput.ts'

/** So many that the code for clients being compiled counts little. */
const EVENTS = 120_000
const CLIENTS = 1_000

export const liveViewRow: Row = {
  name: 'live-view',
  title: 'whole line to a null sink while a page shows its live view / without one',
  measure: (context) => compare(context, (url) => serve('./page-client.ts', url), 0.95),
}

export const streamsRow: Row = {
  name: 'streams',
  title: `whole line to a null sink with ${CLIENTS} clients of the stream, half of them with filters / without`,
  async measure(context) {
    const received: number[] = []
    const result = await compare(
      context,
      async (url) => {
        const clients = await serve('./stream-clients.ts', url, String(CLIENTS))
        return {
          async [Symbol.asyncDispose]() {
            received.push(await bytesOf(clients))
            await clients[Symbol.asyncDispose]()
          },
        }
      },
      0.9,
    )
    return { ...result, ours: `${result.ours}, ${(median(received) / 1e6).toFixed(0)} MB sent` }
  },
}

async function bytesOf({ child }: Server): Promise<number> {
  const answer = once(child, 'message')
  child.send('bytes')
  return ((await answer)[0] as { bytes: number }).bytes
}

async function compare(
  context: BenchContext,
  clients: (url: string) => Promise<AsyncDisposable>,
  least: number,
): Promise<Result> {
  const runs = await pairs(
    context.pairs,
    () => runLine(context, 'served', { count: EVENTS, clients }),
    () => runLine(context, 'served', { count: EVENTS }),
  )
  const ratio = median(runs.map(({ a, b }) => b.seconds / a.seconds))
  return {
    ours: describe(runs.map(({ a }) => a)),
    yardstick: describe(runs.map(({ b }) => b)),
    ratio,
    target: `≥ ${least} ×`,
    met: ratio >= least,
  }
}

function describe(runs: readonly MeasuredLine[]): string {
  const rate = perSecond(median(runs.map(({ seconds }) => EVENTS / seconds)))
  const cpu = median(runs.map((it) => (it.cpu / EVENTS) * 1e6)).toFixed(0)
  const peak = median(runs.map(({ peakMb }) => peakMb)).toFixed(0)
  return `${rate}, ${cpu} µs of the processor an event, ${peak} MB at most`
}
