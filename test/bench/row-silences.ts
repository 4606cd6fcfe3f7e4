import { Redis } from 'ioredis'
import { addSilence } from '../../src/store/control/silences.ts'
import { keysOf } from '../../src/store/keys.ts'
import type { RedisServer } from '../servers/redis.ts'
import { median, perSecond } from './pairs.ts'
import type { BenchContext, Row } from './row.ts'
import { lineRate } from './row-throughput.ts'

const EVENTS = 30_000
const MANY = 100
const [LEAST_ONE, LEAST_MANY] = [0.95, 0.9]

/** Silences as they are added for an incident or a roll-out; they match no pod of the feed. */
const MATCHES: readonly ((i: number) => object)[] = [
  (i) => ({ namespace: `shop-${i}`, rule: 'crash-*' }),
  (i) => ({ kind: 'Deployment', namespace: `shop-${i}`, name: 'web' }),
  (i) => ({ namespace: 'team-*', labels: { app: `none-${i}` } }),
  (i) => ({ kind: 'Pod', name: `none-${i}-*` }),
  (i) => ({ sink: `oncall-${i}` }),
]

export const silencesRow: Row = {
  name: 'silences',
  title: `whole line to a null sink with 1 and with ${MANY} silences that match nothing / without`,
  async measure(context) {
    const rates: { none: number; one: number; many: number }[] = []
    for (let i = 0; i < context.pairs; i++)
      rates.push({
        none: await rateWith(0, context),
        one: await rateWith(1, context),
        many: await rateWith(MANY, context),
      })
    const [one, many] = [
      median(rates.map((it) => it.one / it.none)),
      median(rates.map((it) => it.many / it.none)),
    ]
    return {
      ours: `${perSecond(median(rates.map((it) => it.one)))} (${one.toFixed(2)} ×), ${perSecond(median(rates.map((it) => it.many)))} (${many.toFixed(2)} ×)`,
      yardstick: perSecond(median(rates.map(({ none }) => none))),
      ratio: many,
      target: `≥ ${LEAST_ONE} × and ${LEAST_MANY} ×`,
      met: one >= LEAST_ONE && many >= LEAST_MANY,
    }
  },
}

function rateWith(silences: number, context: BenchContext): Promise<number> {
  return lineRate(context, 'null', { count: EVENTS, before: (redis) => addSilences(redis, silences) })
}

async function addSilences({ url }: RedisServer, count: number): Promise<void> {
  const redis = new Redis(url)
  const nowMs = Date.now()
  for (let i = 0; i < count; i++) {
    const match = MATCHES[i % MATCHES.length]?.(i) as Record<string, unknown>
    await addSilence(redis, keysOf('bench'), {
      ...{ match, fromMs: nowMs, untilMs: nowMs + 3_600_000, reason: 'roll-out', by: 'bench' },
    })
  }
  redis.disconnect()
}
