import type { Change, Evaluate, Evaluator, Source, SourceSession } from '../../src/model/change.ts'
import type { Delivery } from '../../src/model/delivery.ts'
import { silentLog } from '../../src/observe/log.ts'
import { createMetrics } from '../../src/observe/metrics.ts'
import { createCommitConnection } from '../../src/store/commit/commit-connection.ts'
import type { JournalParts } from '../../src/store/commit/journal.ts'
import { createSourceStore } from '../../src/store/commit/source-store.ts'
import type { PreviousStorage } from '../../src/store/commit/transact.ts'
import { decodeEntry } from '../../src/store/entry.ts'
import type { History } from '../../src/store/history/history.ts'
import { keysOf } from '../../src/store/keys.ts'
import { openRedis } from '../../src/store/redis/connection.ts'
import { CONFIRMS_WHAT_IS_WRITTEN, startRedis } from '../servers/redis.ts'
import { startTcpProxy } from '../servers/tcp-proxy.ts'
import { SOURCE, sendAll } from './objects.ts'

export const never = new AbortController().signal

/** The write side on a real Redis behind a proxy. Every `newStore` stands for a process of its own. */
export async function startStoreBed(
  options: {
    decide?: Evaluate
    source?: Source
    previous?: PreviousStorage
    journal?: JournalParts
    history?: Pick<History, 'entryOf'>
    lane?(): string
    /** Instead of `decide` and `lane`. */
    routing?(): Evaluator
    clock?: { now(): number }
    redisArgs?: string[]
  } = {},
) {
  const stack = new AsyncDisposableStack()
  const server = stack.use(
    await startRedis({ args: [...CONFIRMS_WHAT_IS_WRITTEN, ...(options.redisArgs ?? [])] }),
  )
  const proxy = stack.use(await startTcpProxy(server.port))
  const keys = keysOf('test')
  const woken: string[] = []
  const refusals = { outOfMemory: 0 }
  const reader = openRedis(server.url, 'work', silentLog)
  stack.defer(() => reader.disconnect())

  /** `instance` is the name of its process. */
  const newStore = (previous = options.previous, metrics = createMetrics(), instance?: string) => {
    const redis = openRedis(`redis://127.0.0.1:${proxy.port}`, 'commit', silentLog)
    stack.defer(() => redis.disconnect())
    const commitConnection = createCommitConnection({
      redis,
      room: async () => {},
      onOutOfMemory: () => void refusals.outOfMemory++,
      log: silentLog,
    })
    const store = createSourceStore({
      commitConnection,
      keys,
      stages: {
        evaluator() {
          if (options.routing) return options.routing()
          const lane = options.lane?.() ?? 'hook/0'
          return { evaluate: options.decide ?? sendAll, laneOf: () => lane }
        },
        enqueued: (lanes) => void woken.push(...lanes.map((it) => it.lane)),
      },
      ...(previous && { previous }),
      ...(options.journal && { journal: options.journal }),
      ...(options.history && { history: options.history }),
      ...(instance !== undefined && { instance }),
      metrics,
      clock: options.clock ?? Date,
    })
    return { ...store, trouble: commitConnection.trouble, commitConnection, metrics }
  }

  /** A session that watches, with nothing in the index. */
  async function watching(): Promise<SourceSession> {
    const session = await newStore().open(SOURCE, never)
    await session.beginList('newer', never)
    await session.endList('1', never)
    return session
  }

  /** A session that watches, with these objects in the index. */
  async function seeded(objects: readonly Change[]): Promise<SourceSession> {
    const session = await newStore().open(SOURCE, never)
    await session.beginSeed(never)
    await session.seed(objects, never)
    await session.endList('1', never)
    return session
  }

  async function deliveries(): Promise<Delivery[]> {
    const entries = await reader.xrangeBuffer(keys.lane('hook/0'), '-', '+')
    return entries.flatMap(([, fields]) => decodeEntry(fields[5] as Buffer))
  }

  async function enqueued(): Promise<string[]> {
    return (await deliveries()).map(
      ({ event }) =>
        `${event.type} ${event.name}@${event.resourceVersion}${event.synthesized ? ' synthesized' : ''}`,
    )
  }

  return {
    server,
    proxy,
    keys,
    newStore,
    watching,
    seeded,
    reader,
    deliveries,
    enqueued,
    woken,
    refusals,
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  }
}
