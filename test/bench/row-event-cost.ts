import { request } from 'undici'
import type { RedisServer } from '../servers/redis.ts'
import { waitFor } from '../wait-for.ts'
import { buildBundle, runBundle } from './bundle.ts'
import { median, pairs } from './pairs.ts'
import { measure, type Server, serve } from './processes.ts'
import type { BenchContext, Row } from './row.ts'

const MOST_REDIS_MS = 0.3
const MOST_COMMANDS = 15

/** `event-cost-100`, `event-cost-10`: what an Event costs at so many a second. */
export const eventCostRows: readonly Row[] = [
  rowAt({ perSecond: 100, warmUpSeconds: 6, seconds: 12, most: 1.2 }),
  rowAt({ perSecond: 10, warmUpSeconds: 10, seconds: 18, most: 1.3 }),
]

export interface Rate {
  perSecond: number
  warmUpSeconds: number
  seconds: number
}

function rowAt(rate: Rate & { most: number }): Row {
  const { perSecond, warmUpSeconds, seconds, most } = rate
  const warmUp = perSecond * warmUpSeconds
  const count = perSecond * seconds
  return {
    name: `event-cost-${perSecond}`,
    title: `processor time an Event at ${perSecond}/s to a webhook / a bare loop in Node with the same guarantees`,
    async measure(context) {
      buildBundle()
      const costs: Cost[] = []
      const results = await pairs(
        context.pairs,
        async () => {
          await using hook = await serve('./hook.ts')
          const cost = await costOfOurs(context, rate, hook)
          costs.push(cost)
          return cost.ms
        },
        async () => {
          await using feed = await serve('./feed.ts', String(warmUp + count), String(perSecond), '0', 'Event')
          await using hook = await serve('./hook.ts')
          await using redis = await context.startRedis()
          const words = [feed.url, redis.url, hook.url, String(warmUp), String(count)]
          return ((await measure('./event-loop.ts', ...words)).cpu ?? Number.NaN) * (1_000 / count)
        },
      )
      const of = (part: keyof Cost) => median(costs.map((it) => it[part]))
      const ratio = median(results.map(({ a, b }) => a / b))
      const [redisMs, commands] = [of('redisMs'), of('commands')]
      return {
        ours: `${of('ms').toFixed(2)} ms (Redis ${redisMs.toFixed(2)} ms and ${commands.toFixed(0)} commands, ${of('writes').toFixed(1)} writes)`,
        yardstick: `${median(results.map(({ b }) => b)).toFixed(2)} ms`,
        ratio,
        target: `≤ ${most} ×, Redis ≤ ${MOST_REDIS_MS} ms and ≤ ${MOST_COMMANDS} commands`,
        met: ratio <= most && redisMs <= MOST_REDIS_MS && commands <= MOST_COMMANDS,
      }
    },
  }
}

/** Of one Event, from its frame to its acknowledgement. */
export interface Cost {
  ms: number
  redisMs: number
  commands: number
  /** System calls that write, those that wake threads included. */
  writes: number
}

export interface CostOptions {
  /** Sinks and rules in place of one sink, as YAML. */
  routing?: (url: string) => string
  /** The watch of Events. */
  watch?: string
}

/** `hook` receives all that is sent. */
export async function costOfOurs(
  context: BenchContext,
  rate: Rate,
  hook: Server,
  { routing, watch = 'Event' }: CostOptions = {},
): Promise<Cost> {
  const { perSecond, warmUpSeconds, seconds } = rate
  const warmUp = perSecond * warmUpSeconds
  const count = perSecond * seconds
  await using feed = await serve('./feed.ts', String(2 * (warmUp + count)), String(perSecond), '0', 'Event')
  await using redis = await context.startRedis()
  const sink = `{ type: webhook, url: "${hook.url}" }`
  await using bundle = runBundle(feed.url, redis.url, sink, { watch, routing: routing?.(hook.url) })
  const delivered = async (least: number) => {
    let came = 0
    const enough = async () => {
      came = await countAt(hook.url)
      return came >= least
    }
    await waitFor(enough, { timeoutMs: 90_000, what: `${least} deliveries` })
    return { came, ...bundle.usage(), ...(await redisUsage(redis)) }
  }
  const before = await delivered(warmUp)
  const after = await delivered(warmUp + count)
  const events = after.came - before.came
  return {
    ms: ((after.cpuSeconds - before.cpuSeconds) * 1_000) / events,
    redisMs: ((after.redisSeconds - before.redisSeconds) * 1_000) / events,
    commands: (after.commands - before.commands) / events,
    writes: (after.writes - before.writes) / events,
  }
}

async function countAt(hook: string): Promise<number> {
  const { body } = await request(`${hook}/stats`)
  return ((await body.json()) as { count: number }).count
}

async function redisUsage(redis: RedisServer): Promise<{ redisSeconds: number; commands: number }> {
  const [cpu, stats] = await Promise.all(
    ['cpu', 'commandstats'].map(async (section) => String(await redis.command('INFO', section))),
  )
  const seconds = (field: string) => Number(new RegExp(`^${field}:([\\d.]+)`, 'm').exec(cpu ?? '')?.[1])
  const calls = [...(stats ?? '').matchAll(/^cmdstat_[^:]+:calls=(\d+)/gm)].map(([, it]) => Number(it))
  return {
    redisSeconds: seconds('used_cpu_user') + seconds('used_cpu_sys'),
    commands: calls.reduce((sum, it) => sum + it, 0),
  }
}
