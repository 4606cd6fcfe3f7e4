import type { RedisServer } from '../servers/redis.ts'
import { median, pairs, perSecond } from './pairs.ts'
import type { Row } from './row.ts'
import { lineRate } from './row-throughput.ts'

const EVENTS = 30_000

/** Each of these events reads and writes three states under WATCH: at 0.6 it costs as much as eight without limits. */
const LEAST = 0.6

export const limitsRow: Row = {
  name: 'limits',
  title: 'whole line, a rule with after, throttle and group for one event of ten / without its limits',
  async measure(context) {
    const commands = { limits: [] as number[], 'no-limits': [] as number[] }
    const rate = (mode: 'limits' | 'no-limits') =>
      lineRate(context, mode, {
        count: EVENTS,
        async after(redis) {
          commands[mode].push((await commandsOf(redis)) / EVENTS)
        },
      })
    const rates = await pairs(
      context.pairs,
      () => rate('limits'),
      () => rate('no-limits'),
    )
    const ratio = median(rates.map(({ a, b }) => a / b))
    const told = (each: number[], mode: keyof typeof commands) =>
      `${perSecond(median(each))}, ${median(commands[mode]).toFixed(2)} commands of Redis an event`
    return {
      ours: told(
        rates.map(({ a }) => a),
        'limits',
      ),
      yardstick: told(
        rates.map(({ b }) => b),
        'no-limits',
      ),
      ratio,
      target: `≥ ${LEAST} ×`,
      met: ratio >= LEAST,
    }
  },
}

async function commandsOf(redis: RedisServer): Promise<number> {
  const info = String(await redis.command('INFO', 'stats'))
  return Number(/total_commands_processed:(\d+)/.exec(info)?.[1])
}
