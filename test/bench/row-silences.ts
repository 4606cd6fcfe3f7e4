import { Redis } from 'ioredis'
import { addSilence } from '../../src/store/control/silences.ts'
import { keysOf } from '../../src/store/keys.ts'
import type { RedisServer } from '../servers/redis.ts'
import { median, perSecond } from './pairs.ts'
import type { MeasuredLine } from './processes.ts'
import type { BenchContext, Row } from './row.ts'
import { runLine } from './row-throughput.ts'

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
    const runs: { none: MeasuredLine; one: MeasuredLine; many: MeasuredLine }[] = []
    for (let i = 0; i < context.pairs; i++)
      runs.push({
        none: await lineWith(0, context),
        one: await lineWith(1, context),
        many: await lineWith(MANY, context),
      })
    const ratioOf = (of: 'one' | 'many') => median(runs.map((it) => it.none.seconds / it[of].seconds))
    const [one, many] = [ratioOf('one'), ratioOf('many')]
    const described = (of: 'none' | 'one' | 'many') => describe(runs.map((it) => it[of]))
    return {
      ours: `${described('one')} (${one.toFixed(2)} ×); ${described('many')} (${many.toFixed(2)} ×)`,
      yardstick: described('none'),
      target: `≥ ${LEAST_ONE} × and ${LEAST_MANY} ×`,
      met: one >= LEAST_ONE && many >= LEAST_MANY,
    }
  },
}

function describe(runs: readonly MeasuredLine[]): string {
  const rate = perSecond(median(runs.map(({ seconds }) => EVENTS / seconds)))
  const cpu = median(runs.map((it) => (it.cpu / EVENTS) * 1e6)).toFixed(0)
  return `${rate}, ${cpu} µs of the processor an event`
}

function lineWith(silences: number, context: BenchContext): Promise<MeasuredLine> {
  return runLine(context, 'null', { count: EVENTS, before: (redis) => addSilences(redis, silences) })
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
