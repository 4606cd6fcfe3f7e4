import { request } from 'undici'
import { waitFor } from '../wait-for.ts'
import { buildBundle, runBundle } from './bundle.ts'
import { median } from './pairs.ts'
import { end, serve } from './processes.ts'
import type { BenchContext, Row } from './row.ts'

/** So often that every lane has deliveries all the time: each of the feed's 500 pods changes twice a second. */
const PER_SECOND = 1_000
const PODS = 500
const COUNT = 120 * PER_SECOND
const MOST_IN_PLACE_S = 2
const MOST_ELSEWHERE_S = 6

export const recoveryRow: Row = {
  name: 'recovery',
  title: `kill -9 at ${PER_SECOND} changes/s: until every lane delivers again, started again in place / by another process`,
  async measure(context) {
    buildBundle()
    const [inPlace, elsewhere]: [number[], number[]] = [[], []]
    for (let i = 0; i < context.pairs; i++) {
      inPlace.push(await recoverySeconds(context, 'in place'))
      elsewhere.push(await recoverySeconds(context, 'elsewhere'))
    }
    return {
      ours: `${median(inPlace).toFixed(1)} s / ${median(elsewhere).toFixed(1)} s`,
      yardstick: `${PODS} objects have to arrive, each changes every ${PODS / PER_SECOND} s`,
      target: `≤ ${MOST_IN_PLACE_S} s / ≤ ${MOST_ELSEWHERE_S} s`,
      met: median(inPlace) <= MOST_IN_PLACE_S && median(elsewhere) <= MOST_ELSEWHERE_S,
    }
  },
}

/** Seconds from the kill until the last object has arrived for the first time since. */
async function recoverySeconds(context: BenchContext, how: 'in place' | 'elsewhere'): Promise<number> {
  await using feed = await serve('./feed.ts', String(COUNT), String(PER_SECOND))
  await using hook = await serve('./hook.ts', 'firsts')
  await using redis = await context.startRedis()
  const run = () => runBundle(feed.url, redis.url, `{ type: webhook, url: "${hook.url}" }`)
  const reset = async () => void (await (await request(`${hook.url}/reset`)).body.dump())
  const allCame = () =>
    waitFor(
      async () => {
        const { body } = await request(`${hook.url}/stats`)
        const { objects, lastFirstMs } = (await body.json()) as { objects: number; lastFirstMs: number }
        return objects === PODS ? lastFirstMs : undefined
      },
      { timeoutMs: 60_000, what: 'deliveries of all objects' },
    )
  await using first = run()
  await allCame()
  await using second = how === 'elsewhere' ? run() : undefined
  // Who starts last takes the watches. By then it has its share of the lanes, too.
  for (let i = 0; second && i < 3; i++) {
    await reset()
    await allCame()
  }
  const killedMs = Date.now()
  await end((second ?? first).child)
  await reset()
  await using _again = how === 'in place' ? run() : undefined
  return ((await allCame()) - killedMs) / 1_000
}
