import { setTimeout as pause } from 'node:timers/promises'
import type { Redis } from 'ioredis'
import { vi } from 'vitest'
import type { Delivery } from '../../src/model/delivery.ts'
import { type Logger, silentLog } from '../../src/observe/log.ts'
import { createMetrics, type Metrics } from '../../src/observe/metrics.ts'
import { createRender } from '../../src/render/message.ts'
import type { Message, Outcome, Sink } from '../../src/sink/index.ts'
import type { QueueBounds } from '../../src/store/bounds/queue-bounds.ts'
import { encodeEntries } from '../../src/store/entry.ts'
import { type HistoryBounds, startHistory } from '../../src/store/history/history.ts'
import { keysOf } from '../../src/store/keys.ts'
import { Lanes } from '../../src/store/lanes/lanes.ts'
import type { DeliveryLogs } from '../../src/store/lanes/owned-lanes.ts'
import { readLedger } from '../../src/store/ledger.ts'
import { openRedis } from '../../src/store/redis/connection.ts'
import { createTroubles, type Troubles } from '../../src/store/redis/redis-fault.ts'
import { contentOfSummary } from '../render/content-of-summary.ts'
import { CONFIRMS_WHAT_IS_WRITTEN, startRedis } from '../servers/redis.ts'
import { waitFor } from '../wait-for.ts'
import { headerFor } from './objects.ts'

export const DELIVERED: Outcome = { kind: 'delivered' }
export const DOWN: Outcome = { kind: 'retry', reason: 'network', detail: 'refused', scope: 'sink' }
export const ODD: Outcome = { kind: 'retry', reason: 'server-error', detail: '500', scope: 'event' }

/** A sink that answers as told and keeps what it took, in order. */
export function scriptedSink(
  answer: (message: Message) => Outcome | Promise<Outcome>,
): Sink & { took: string[]; calls: number } {
  const sink = {
    took: [] as string[],
    calls: 0,
    async deliver(batch: readonly Message[]) {
      sink.calls++
      const blocked = new Set<string>()
      const outcomes: Outcome[] = []
      for (const message of batch) {
        const { uid, name, resourceVersion } = message.event
        const outcome = blocked.has(uid) ? ODD : await answer(message)
        if (outcome.kind === 'delivered') sink.took.push(`${name}@${resourceVersion}`)
        if (outcome.kind === 'retry') blocked.add(uid)
        outcomes.push(outcome)
      }
      return outcomes
    },
    async close() {},
  }
  return sink
}

/** Redis takes 100 ms longer for scripts: measurements that take long have a long pause after them. Returns what ends that. */
export function slowScripts({ redis }: { redis: Redis }): () => void {
  const run = redis.evalsha.bind(redis)
  const spy = vi.spyOn(redis, 'evalsha').mockImplementation(async (...args: any[]) => {
    await pause(100)
    return run(...(args as Parameters<typeof run>))
  })
  return () => spy.mockRestore()
}

/** Lanes on a real Redis; every `work` stands for a process of its own. */
export async function startLaneBed(options: { redisArgs?: string[] } = {}) {
  const stack = new AsyncDisposableStack()
  const server = stack.use(
    await startRedis({ args: [...CONFIRMS_WHAT_IS_WRITTEN, ...(options.redisArgs ?? [])] }),
  )
  const keys = keysOf('test')
  const redis = openRedis(server.url, 'work', silentLog)
  stack.defer(() => redis.disconnect())

  /** Names are `[namespace|]name[@version][~life][#group]`. */
  const put = (lane: string, ...names: string[]) => putAt(lane, new Date(), ...names)

  async function putAt(lane: string, observed: Date, ...names: string[]): Promise<void> {
    const sink = lane.split('/')[0] as string
    const deliveries = names.map((it): Delivery => {
      const [object = '', order] = it.split('#')
      const [path = '', version = '1', life = ''] = object.split(/[@~]/)
      const [name = '', namespace = 'default'] = path.split('|').toReversed()
      const event = {
        ...headerFor(name, version, 'MODIFIED', `uid-${path}${life}`),
        namespace,
        time: observed.toISOString(),
      }
      return { sink, rule: 'all', event, objectJson: Buffer.from('{}'), ...(order && { order }) }
    })
    const multi = redis.multi()
    for (const { count, observedAtMs, payload } of encodeEntries(deliveries)) {
      multi.xadd(keys.lane(lane), '*', 'n', count, 't', observedAtMs, 'z', payload)
    }
    multi.hincrby(keys.pending, lane, names.length)
    multi.hincrby(keys.sinkLedger(sink), 'enqueued', names.length)
    await multi.exec()
  }

  /** An entry with these bytes, as a commit would have written it. */
  async function enqueue(lane: string, count: number, payload: Buffer): Promise<void> {
    const sink = lane.split('/')[0] as string
    await redis
      .multi()
      .xadd(keys.lane(lane), '*', 'n', count, 't', Date.now(), 'z', payload)
      .hincrby(keys.pending, lane, count)
      .hincrby(keys.sinkLedger(sink), 'enqueued', count)
      .exec()
  }

  function work(
    sinks: Record<string, Sink> | ReadonlyMap<string, Sink>,
    options: {
      drainedAfterMs?: number
      onDrained?(sink: string): void
      maxAgeMs?: number
      maxTries?: number
      deliverTimeoutMs?: number
      minFailingMs?: number
      namesLanes?: boolean
      joins?: boolean
      maxBatch?: number | undefined
      clock?: { now(): number }
      metrics?: Metrics
      troubles?: Troubles
      bounds?: Record<string, Partial<QueueBounds>>
      maxmemory?: number
      budgetBytes?: number
      log?: Logger
      logs?: DeliveryLogs
      history?: HistoryBounds
      /** Called when a message is rendered. */
      onRender?(): void
      /** Redis is nearly full. */
      isFull?(): boolean
      /** Another way to the same Redis. */
      url?: string
    } = {},
  ) {
    const open = () => openRedis(options.url ?? server.url, 'work', silentLog)
    const connections = [open(), open(), open()] as const
    const { history: bounds, isFull = () => false } = options
    const parts = { redis: connections[0], keys, log: silentLog, clock: options.clock ?? Date }
    const history =
      bounds && startHistory({ ...parts, bounds: () => bounds, isFull, troubles: createTroubles(silentLog) })
    const lanes = new Lanes({
      redis: connections[0],
      ...(history && { history }),
      ...(options.logs && { logs: options.logs }),
      queueConnection: connections[1],
      workerConnection: connections[2],
      keys,
      sinks: sinks instanceof Map ? sinks : new Map(Object.entries(sinks)),
      drainedAfterMs: options.drainedAfterMs ?? 30_000,
      onDrained: (sink) => options.onDrained?.(sink),
      maxBatchOf: () => options.maxBatch,
      render: createRender({
        routeOf: () => ({}),
        contentOf({ summary }) {
          options.onRender?.()
          return contentOfSummary(summary)
        },
      }),
      namesLanes: () => options.namesLanes ?? false,
      joins: () => options.joins ?? false,
      policy: {
        maxAgeMs: options.maxAgeMs ?? 86_400_000,
        maxTries: options.maxTries ?? 5,
        minFailingMs: options.minFailingMs ?? 0,
        firstPauseMs: 50,
        maxPauseMs: 500,
      },
      deliverTimeoutMs: options.deliverTimeoutMs ?? 30_000,
      metrics: options.metrics ?? createMetrics(),
      troubles: options.troubles ?? createTroubles(silentLog),
      log: options.log ?? silentLog,
      boundsOf: (sink) => options.bounds?.[sink] ?? {},
      maxmemory: () => options.maxmemory ?? 0,
      ...(options.budgetBytes !== undefined && { budgetBytes: options.budgetBytes }),
      clock: options.clock ?? Date,
      random: Math.random,
      onOutOfMemory() {},
    })
    const close = async () => {
      await lanes.close(500)
      history?.close()
      for (const connection of connections) connection.disconnect()
    }
    stack.defer(close)
    return lanes
  }
  /** Deliveries of another object of the same sink, on another lane, now and then. */
  function trickle(lanes: Lanes): { stop(): Promise<void> } {
    let version = 1_000
    let stopped = false
    async function go(): Promise<void> {
      while (!stopped) {
        await put('hook/1', `passing@${version++}`)
        lanes.wake(['hook/1'])
        await new Promise((resolve) => setTimeout(resolve, 50))
      }
    }
    const going = go()
    const stop = () => {
      stopped = true
      return going
    }
    stack.defer(stop)
    return { stop }
  }

  const ledger = () => readLedger(redis, keys, { verify: true })
  const drained = (sink: string) =>
    waitFor(async () => (await ledger()).sinks[sink]?.pending === 0, {
      timeoutMs: 25_000,
      what: `${sink} to be drained`,
    })
  return {
    server,
    redis,
    keys,
    put,
    putAt,
    enqueue,
    trickle,
    work,
    ledger,
    drained,
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  }
}

/** `a@1`, `a@2` and so on; `a@3~b` is of another object of that name, `n|a@1` of one in the namespace `n`. */
export const numbered = (name: string, count: number) =>
  Array.from({ length: count }, (_, i) => `${name}@${i + 1}`)
