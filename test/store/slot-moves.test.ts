import { execFileSync } from 'node:child_process'
import { expect, test, vi } from 'vitest'
import type { Evaluate } from '../../src/model/change.ts'
import { silentLog } from '../../src/observe/log.ts'
import { createMetrics } from '../../src/observe/metrics.ts'
import { createCommitConnection } from '../../src/store/commit/commit-connection.ts'
import { createSourceStore } from '../../src/store/commit/source-store.ts'
import { keysOf } from '../../src/store/keys.ts'
import { openRedis } from '../../src/store/redis/connection.ts'
import { hashSlot } from '../../src/store/redis/locate-master.ts'
import type { RedisServer } from '../servers/redis.ts'
import { type RedisCluster, startRedisCluster } from '../servers/redis-cluster.ts'
import { waitFor } from '../wait-for.ts'
import { change, SOURCE, sendAll } from './objects.ts'

// Several servers each; a busy machine starts them slowly.
vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 })

/** Whatever becomes of the slot between WATCH and EXEC, a commit is made once, on the node that has it. */

const never = new AbortController().signal
const keys = keysOf('test')
const KEY = keys.bullmq

/** Commits on a Redis Cluster; `between` is done once, while nothing else can happen, between a commit's reads and its EXEC. */
async function startBed(cluster: RedisCluster) {
  const target = { cluster: { nodes: cluster.addresses, key: KEY } }
  const redis = openRedis(target, 'commit', silentLog)
  const reader = openRedis(target, 'work', silentLog)
  let between: (() => void) | undefined
  const evaluate: Evaluate = (source, transitions) => {
    const now = between
    between = undefined
    now?.()
    return sendAll(source, transitions)
  }
  const commitConnection = createCommitConnection({
    redis,
    room: async () => {},
    onOutOfMemory() {},
    log: silentLog,
  })
  const store = createSourceStore({
    commitConnection,
    keys,
    stages: { evaluator: () => ({ evaluate, laneOf: () => 'hook/0' }), enqueued() {} },
    metrics: createMetrics(),
    clock: Date,
  })
  const session = await store.open(SOURCE, never)
  await session.beginList('newer', never)
  await session.endList('1', never)
  let version = 1
  return {
    reader,
    commitConnection,
    async commit(meanwhile?: () => void) {
      between = meanwhile
      version++
      await session.commit([change('ADDED', `o${version}`, version)], String(version), never)
    },
    /** Each was enqueued once. */
    async expectAll() {
      const read = () => reader.hgetall(keys.sinkLedger('hook')).catch(() => ({}))
      await waitFor(async () => 'enqueued' in (await read()), { what: 'the reader to be there' })
      expect(await read()).toEqual({ enqueued: String(version - 1) })
      expect(await reader.xlen(keys.lane('hook/0'))).toBe(version - 1)
    },
    [Symbol.dispose]() {
      redis.disconnect()
      reader.disconnect()
    },
  }
}

/** One command, while this process stands still. */
function now(node: RedisServer, ...words: string[]): string {
  return execFileSync('redis-cli', ['-p', String(node.port), ...words], { encoding: 'utf8' }).trim()
}

function move(from: RedisServer, to: RedisServer, count: number): void {
  const found = now(from, 'CLUSTER', 'GETKEYSINSLOT', slot, String(count)).split('\n').filter(Boolean)
  now(from, 'MIGRATE', '127.0.0.1', String(to.port), '', '0', '5000', 'KEYS', ...found)
}

const slot = String(hashSlot(KEY))
const idOf = (node: RedisServer) => now(node, 'CLUSTER', 'MYID')

function begin(from: RedisServer, to: RedisServer): void {
  now(to, 'CLUSTER', 'SETSLOT', slot, 'IMPORTING', idOf(from))
  now(from, 'CLUSTER', 'SETSLOT', slot, 'MIGRATING', idOf(to))
}

function end(from: RedisServer, to: RedisServer): void {
  for (const node of [to, from]) now(node, 'CLUSTER', 'SETSLOT', slot, 'NODE', idOf(to))
}

test('queue.md: MOVED during EXEC: the slot is elsewhere by then; the commit is made once, over there', async () => {
  await using cluster = await startRedisCluster()
  using it = await startBed(cluster)
  await it.commit()
  const from = await cluster.masterOf(KEY)
  const to = await cluster.otherMaster(from)
  await it.commit(() => {
    begin(from, to)
    move(from, to, 100)
    end(from, to)
  })
  expect(await cluster.masterOf(KEY)).toBe(to)
  // And back again: the node that is left keeps nothing that could be taken for the truth.
  await it.commit(() => {
    begin(to, from)
    move(to, from, 100)
    end(to, from)
  })
  await it.commit()
  await it.expectAll()
})

test('queue.md: ASK and TRYAGAIN during EXEC: a commit waits until the slot has moved', async () => {
  await using cluster = await startRedisCluster()
  using it = await startBed(cluster)
  await it.commit()
  const from = await cluster.masterOf(KEY)
  const to = await cluster.otherMaster(from)
  const commit = it.commit(() => {
    begin(from, to)
    move(from, to, 2)
  })
  await waitFor(() => it.commitConnection.trouble()?.includes('being moved to another node'), {
    what: () => `the trouble to be told, not ${it.commitConnection.trouble()}`,
  })
  move(from, to, 100)
  end(from, to)
  await commit
  await it.commit()
  await it.expectAll()
  expect(it.commitConnection.trouble()).toBeUndefined()
})
