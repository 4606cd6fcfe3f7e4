import { request } from 'undici'
import { keysOf } from '../../src/store/keys.ts'
import { waitFor } from '../wait-for.ts'
import { buildBundle, runBundle } from './bundle.ts'
import { median } from './pairs.ts'
import { serve } from './processes.ts'
import type { BenchContext, Row } from './row.ts'

const PER_SECOND = 500
/** Before the outage: until the code is compiled. */
const BEFORE = 5_000
const WAITING = 10_000
const AFTER = 2_000
const MOST_MORE_MB = 50

export const outageRow: Row = {
  name: 'outage',
  title: `memory while a backlog of ${WAITING.toLocaleString('en-US')} Events is delivered after an outage, ${PER_SECOND} Events/s / before the outage`,
  async measure(context) {
    buildBundle()
    const runs: Memory[] = []
    for (let i = 0; i < context.pairs; i++) runs.push(await memoryOfOutage(context))
    const [before, down, peak] = [
      median(runs.map((it) => it.beforeMb)),
      median(runs.map((it) => it.downMb)),
      median(runs.map((it) => it.peakMb)),
    ]
    const more = median(runs.map((it) => it.peakMb - it.beforeMb))
    return {
      ours: `${peak.toFixed(0)} MB at most (${down.toFixed(0)} MB at the end of the outage)`,
      yardstick: `${before.toFixed(0)} MB`,
      ratio: peak / before,
      target: `≤ ${MOST_MORE_MB} MB more (${more.toFixed(0)} MB)`,
      met: more <= MOST_MORE_MB,
    }
  },
}

interface Memory {
  beforeMb: number
  downMb: number
  peakMb: number
}

async function memoryOfOutage(context: BenchContext): Promise<Memory> {
  const total = BEFORE + WAITING + AFTER
  await using feed = await serve('./feed.ts', String(total), String(PER_SECOND), '0', 'Event')
  await using redis = await context.startRedis()
  await using hook = await serve('./hook.ts', 'outage')
  await using bundle = runBundle(feed.url, redis.url, `{ type: webhook, url: "${hook.url}" }`, {
    watch: 'Event',
  })
  const get = async (path: string) => (await request(hook.url + path)).body.text()
  const delivered = async () => (JSON.parse(await get('/stats')) as { count: number }).count
  const ledger = keysOf('bench').sinkLedger('out')
  const enqueued = async () => Number(await redis.command('HGET', ledger, 'enqueued'))
  const wait = { timeoutMs: 120_000 }
  await waitFor(async () => (await delivered()) >= BEFORE, { ...wait, what: 'deliveries before the outage' })
  const beforeMb = bundle.residentMb()
  await get('/down')
  const since = await delivered()
  await waitFor(async () => (await enqueued()) >= since + WAITING, { ...wait, what: 'waiting deliveries' })
  const downMb = bundle.residentMb()
  await get('/up')
  let peakMb = downMb
  const isOver = async () => {
    peakMb = Math.max(peakMb, bundle.residentMb())
    return (await delivered()) >= total
  }
  await waitFor(isOver, { ...wait, what: 'an empty queue' })
  return { beforeMb, downMb, peakMb }
}
