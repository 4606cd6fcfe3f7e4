import type { RedisServer } from '../servers/redis.ts'
import { writeFiles } from './bundle.ts'
import { median, pairs, perSecond } from './pairs.ts'
import { type MeasuredLine, measure, measureLine, serve } from './processes.ts'
import type { BenchContext, Result, Row } from './row.ts'

const EVENTS = 60_000
const POSTS = 30_000
const SLOW_POSTS = 15_000

export const nullSinkRow: Row = {
  name: 'null-sink',
  title: 'whole line to a null sink, one process, Redis with AOF / parse loop',
  measure: (context) => againstParseLoop(context, 'null', 1),
}

export const unmatchedRow: Row = {
  name: 'unmatched',
  title: 'events that no rule matches / parse loop',
  measure: (context) => againstParseLoop(context, 'unmatched', 2),
}

export const webhookRow: Row = {
  name: 'webhook',
  title: 'whole line to a loopback webhook / a bare loop posting the same bodies with the same client',
  async measure(context) {
    await using hook = await serve('./hook.ts')
    const rates = await pairs(
      context.pairs,
      () => lineRate(context, 'webhook', { count: POSTS, hook: hook.url }),
      async () => POSTS / (await measure('./post-loop.ts', hook.url, String(POSTS))).seconds,
    )
    return compare(rates, 0.6)
  },
}

export const slowWebhookRow: Row = {
  name: 'slow-webhook',
  title: 'to a webhook that takes 20 ms to answer, order per object kept',
  async measure(context) {
    await using hook = await serve('./hook.ts', '20')
    const rates: number[] = []
    for (let i = 0; i < context.pairs; i++)
      rates.push(await lineRate(context, 'webhook', { count: SLOW_POSTS, hook: hook.url }))
    const ours = median(rates)
    return {
      ours: perSecond(ours),
      yardstick: '49/s (tools that post one at a time)',
      ratio: ours / 49,
      target: '≥ 3,000/s',
      met: ours >= 3_000,
    }
  },
}

/** The line against the parse loop, each reading the same frames. */
async function againstParseLoop(
  context: BenchContext,
  mode: 'null' | 'unmatched',
  least: number,
): Promise<Result> {
  await using feed = await serve('./feed.ts', String(EVENTS))
  const rates = await pairs(
    context.pairs,
    () => lineRate(context, mode, { count: EVENTS }),
    async () => EVENTS / (await measure('./parse-loop.ts', feed.url, String(EVENTS))).seconds,
  )
  return compare(rates, least)
}

export type LineMode =
  | 'null'
  | 'unmatched'
  | 'webhook'
  | 'limits'
  | 'no-limits'
  | 'journal'
  | 'history'
  | 'served'

export interface LineOptions {
  /** How many events. */
  count: number
  /** How many the feed sends a second; 0, the default: as many as are read. */
  paced?: number
  /** The webhook's URL. */
  hook?: string
  /** Prepares Redis. */
  before?(redis: RedisServer): Promise<void>
  /** Looks at Redis before it ends. */
  after?(redis: RedisServer): Promise<void>
  /** Of `served`: connects clients to the API, before the watch is opened. */
  clients?(url: string): Promise<AsyncDisposable>
}

/** Events a second through the whole line, from a feed and a Redis of its own. */
export async function lineRate(context: BenchContext, mode: LineMode, options: LineOptions): Promise<number> {
  return options.count / (await runLine(context, mode, options)).seconds
}

export async function runLine(
  context: BenchContext,
  mode: LineMode,
  { count, paced = 0, hook = '', before, after, clients }: LineOptions,
): Promise<MeasuredLine> {
  await using stack = new AsyncDisposableStack()
  const feed = stack.use(await serve('./feed.ts', String(count), String(paced)))
  const redis = stack.use(await context.startRedis())
  await before?.(redis)
  const files = writeFiles(feed.url, redis.url, '{ type: stdout }')
  stack.defer(() => files.remove())
  const args = [files.kubeconfig, redis.url, String(count), mode, hook]
  const served = async (url: string) => {
    if (clients) stack.use(await clients(url))
  }
  const measured = await measureLine(args, mode === 'served' ? served : undefined)
  await after?.(redis)
  return measured
}

function compare(rates: { a: number; b: number }[], least: number): Result {
  const ratio = median(rates.map(({ a, b }) => a / b))
  return {
    ours: perSecond(median(rates.map(({ a }) => a))),
    yardstick: perSecond(median(rates.map(({ b }) => b))),
    ratio,
    target: `≥ ${least} ×`,
    met: ratio >= least,
  }
}
