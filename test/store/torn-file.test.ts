import { mkdtempSync, readdirSync, readFileSync, rmSync, truncateSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { SourceSession } from '../../src/model/change.ts'
import { silentLog } from '../../src/observe/log.ts'
import { createMetrics } from '../../src/observe/metrics.ts'
import { createCommitConnection } from '../../src/store/commit/commit-connection.ts'
import { createSourceStore } from '../../src/store/commit/source-store.ts'
import { decodeEntry } from '../../src/store/entry.ts'
import { keysOf } from '../../src/store/keys.ts'
import { openRedis } from '../../src/store/redis/connection.ts'
import { startEmbedded } from '../../src/store/redis/embedded.ts'
import { waitFor } from '../wait-for.ts'
import { change, SOURCE, sendAll } from './objects.ts'

const never = new AbortController().signal
const keys = keysOf('test')

/** One life of the private Redis, with the store on it. */
async function live(dir: string) {
  const embedded = await startEmbedded(dir, silentLog)
  const redis = openRedis(embedded.url, 'commit', silentLog)
  const commitConnection = createCommitConnection({
    redis,
    room: async () => {},
    onOutOfMemory() {},
    log: silentLog,
  })
  const store = createSourceStore({
    commitConnection,
    keys,
    stages: { evaluator: () => ({ evaluate: sendAll, laneOf: () => 'hook/0' }), enqueued() {} },
    metrics: createMetrics(),
    clock: Date,
  })
  const persisted = async () => (await redis.info('persistence')).includes('aof_rewrite_in_progress:0')
  // While the file is written anew, the old one is the one that counts.
  await waitFor(async () => redis.status === 'ready' && (await persisted()), { what: 'Redis' })
  return {
    session: await store.open(SOURCE, never),
    async enqueued(): Promise<string[]> {
      const entries = await redis.xrangeBuffer(keys.lane('hook/0'), '-', '+')
      return entries.flatMap(([, fields]) => decodeEntry(fields[5] as Buffer).map(({ event }) => event.name))
    },
    async end(): Promise<void> {
      redis.disconnect()
      await embedded.stop()
    },
  }
}

/** Cuts the file's end within its last transaction, as a loss of power does. */
function tear(dir: string): void {
  const folder = join(dir, 'appendonlydir')
  const name = readdirSync(folder)
    .filter((it) => it.endsWith('.incr.aof'))
    .toSorted((a, b) => Number(a.split('.').at(-3)) - Number(b.split('.').at(-3)))
    .at(-1)
  const file = join(folder, name ?? '')
  const bytes = readFileSync(file)
  const begin = bytes.lastIndexOf('MULTI')
  const end = bytes.lastIndexOf('EXEC')
  expect(begin).toBeGreaterThan(0)
  expect(end).toBeGreaterThan(begin)
  truncateSync(file, begin + Math.floor((end - begin) * 0.7))
}

test('queue.md: an append-only file that is torn again and again loses no change for good, and repeats none', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'kubeherald-torn-'))
  await using stack = new AsyncDisposableStack()
  stack.defer(() => rmSync(dir, { recursive: true, force: true }))
  /** What the API server has: the change of position n is of object n. */
  async function goOn(session: SourceSession, to: number): Promise<void> {
    for (let at = Number(session.checkpoint?.resourceVersion) + 1; at <= to; at++)
      await session.commit([change('ADDED', `o${at}`, at)], String(at), never)
  }
  const first = await live(dir)
  await first.session.beginList('newer', never)
  await first.session.endList('1', never)
  await goOn(first.session, 11)
  await first.end()
  for (let tears = 1; tears <= 3; tears++) {
    tear(dir)
    const next = await live(dir)
    expect(Number(next.session.checkpoint?.resourceVersion)).toBe(1 + tears * 10 - 1)
    await goOn(next.session, 11 + tears * 10)
    await next.end()
  }
  const last = await live(dir)
  expect(await last.enqueued()).toEqual(Array.from({ length: 40 }, (_, i) => `o${i + 2}`))
  await last.end()
})
