import { once } from 'node:events'
import { request } from 'undici'
import { keysOf } from '../../src/store/keys.ts'
import { waitFor } from '../wait-for.ts'
import { buildBundle, runBundle } from './bundle.ts'
import { median, perSecond } from './pairs.ts'
import { serve } from './processes.ts'
import type { BenchContext, Row } from './row.ts'

const WAITING = 60_000
const LEAST_PER_SECOND = 8_000
const MOST_MB = 170

export const backlogRow: Row = {
  name: 'backlog',
  title: `start on a backlog of ${WAITING.toLocaleString('en-US')} Events for a webhook: drain, peak memory`,
  async measure(context) {
    buildBundle()
    const results: Drain[] = []
    for (let i = 0; i < context.pairs; i++) results.push(await drain(context))
    const [rate, peak] = [median(results.map((it) => it.rate)), median(results.map((it) => it.peakMb))]
    return {
      ours: `${perSecond(rate)}, ${peak.toFixed(0)} MB`,
      yardstick: `–`,
      target: `≥ ${perSecond(LEAST_PER_SECOND)}, ≤ ${MOST_MB} MB`,
      met: rate >= LEAST_PER_SECOND && peak <= MOST_MB,
    }
  },
}

interface Drain {
  /** Deliveries a second, from the first to the last. */
  rate: number
  peakMb: number
}

/** Throws when the process that has to deliver it ends. */
export async function drain(context: BenchContext, launcher?: readonly string[]): Promise<Drain> {
  await using feed = await serve('./feed.ts', String(WAITING), '0', '0', 'Event')
  await using redis = await context.startRedis()
  const run = (url: string, launcher?: readonly string[]) =>
    runBundle(feed.url, redis.url, `{ type: webhook, url: "${url}" }`, { watch: 'Event', launcher })
  {
    await using silent = await serve('./hook.ts', 'never')
    await using bundle = run(silent.url)
    const ledger = keysOf('bench').sinkLedger('out')
    const enqueued = async () => Number(await redis.command('HGET', ledger, 'enqueued')) >= WAITING
    await waitFor(enqueued, { timeoutMs: 60_000, what: `${WAITING} waiting deliveries` })
    const gone = once(bundle.child, 'exit')
    bundle.child.kill('SIGTERM')
    await gone
  }
  await using hook = await serve('./hook.ts')
  await using bundle = run(hook.url, launcher)
  const count = async () => {
    const { body } = await request(`${hook.url}/stats`)
    return ((await body.json()) as { count: number }).count
  }
  const before = await waitFor(count, { timeoutMs: 60_000, what: 'the first delivery' })
  const startedMs = performance.now()
  await waitFor(async () => (await count()) >= WAITING, { timeoutMs: 120_000, what: 'an empty queue' })
  const seconds = (performance.now() - startedMs) / 1_000
  return { rate: (WAITING - before) / seconds, peakMb: bundle.peakMb() }
}
