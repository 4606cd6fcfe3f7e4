import { once } from 'node:events'
import { request } from 'undici'
import { waitFor } from '../wait-for.ts'
import { buildBundle, runBundle } from './bundle.ts'
import { median, perSecond } from './pairs.ts'
import { serve } from './processes.ts'
import type { BenchContext, Row } from './row.ts'

const EVENTS = 20_000
const LEAST_PER_SECOND = 10_000
const MOST_MB = 170

export const burstRow: Row = {
  name: 'burst',
  title: `a burst of ${EVENTS.toLocaleString('en-US')} Events to an instant webhook: rate, peak memory`,
  async measure(context) {
    buildBundle()
    const results: Burst[] = []
    for (let i = 0; i < context.pairs; i++) results.push(await burst(context))
    const [rate, peak] = [median(results.map((it) => it.rate)), median(results.map((it) => it.peakMb))]
    return {
      ours: `${perSecond(rate)}, ${peak.toFixed(0)} MB`,
      yardstick: '–',
      target: `≥ ${perSecond(LEAST_PER_SECOND)}, ≤ ${MOST_MB} MB`,
      met: rate >= LEAST_PER_SECOND && peak <= MOST_MB,
    }
  },
}

interface Burst {
  /** Deliveries a second, from the opening of the watch to the last one. */
  rate: number
  peakMb: number
}

/** Throws when the process ends. */
export async function burst(context: BenchContext, launcher?: readonly string[]): Promise<Burst> {
  await using feed = await serve('./feed.ts', String(EVENTS), '0', '0', 'Event')
  await using hook = await serve('./hook.ts')
  await using redis = await context.startRedis()
  const watching = once(feed.child, 'message')
  await using bundle = runBundle(feed.url, redis.url, `{ type: webhook, url: "${hook.url}" }`, {
    watch: 'Event',
    launcher,
  })
  await watching
  const startedMs = performance.now()
  const all = async () => {
    const { body } = await request(`${hook.url}/stats`)
    return ((await body.json()) as { count: number }).count >= EVENTS
  }
  await waitFor(all, { timeoutMs: 60_000, what: `${EVENTS} deliveries` })
  return { rate: (EVENTS * 1_000) / (performance.now() - startedMs), peakMb: bundle.peakMb() }
}
