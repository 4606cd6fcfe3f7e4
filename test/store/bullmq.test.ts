import { Queue, Worker, type WorkerOptions } from 'bullmq'
import { expect, test } from 'vitest'
import { silentLog } from '../../src/observe/log.ts'
import { openRedis } from '../../src/store/redis/connection.ts'
import { startRedis } from '../servers/redis.ts'
import { waitFor } from '../wait-for.ts'

/** What the lanes rely on in BullMQ, asked of BullMQ itself: an update that changes it must fail here. */

async function startQueue() {
  const stack = new AsyncDisposableStack()
  const server = stack.use(await startRedis())
  const open = () => {
    const redis = openRedis(server.url, 'work', silentLog)
    stack.defer(() => redis.disconnect())
    return redis
  }
  const queue = new Queue('lanes', { connection: open(), prefix: '{test}' })
  queue.on('error', () => {})
  stack.defer(() => queue.close())
  const options = {
    deduplication: { id: 'hook/0', keepLastIfActive: true },
    attempts: Number.MAX_SAFE_INTEGER,
    backoff: { type: 'custom' },
    removeOnComplete: true,
    removeOnFail: true,
  }
  return {
    redis: open(),
    /** As `wake` does it. */
    add: (count = 1) =>
      queue.addBulk(
        Array.from({ length: count }, () => ({ name: 'lane', data: { lane: 'hook/0' }, opts: options })),
      ),
    work(process: () => Promise<unknown>, more: Partial<WorkerOptions> = {}) {
      const worker = new Worker('lanes', process, {
        connection: open(),
        prefix: '{test}',
        concurrency: 8,
        lockDuration: 600,
        stalledInterval: 300,
        maxStalledCount: Number.MAX_SAFE_INTEGER,
        ...more,
      })
      worker.on('error', () => {})
      stack.defer(() => worker.close(true))
      return worker
    },
    idle: () =>
      waitFor(async () => Object.values(await queue.getJobCounts()).every((count) => count === 0), {
        what: 'an empty queue',
      }),
    counts: () => queue.getJobCounts('active', 'waiting', 'delayed', 'failed'),
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  }
}

test('queue.md: BullMQ keeps one job of a deduplication id while it waits', async () => {
  await using it = await startQueue()
  await it.add(5)
  await it.add()
  expect(await it.counts()).toEqual({ active: 0, waiting: 1, delayed: 0, failed: 0 })
  let runs = 0
  it.work(async () => runs++)
  await it.idle()
  expect(runs).toBe(1)
})

test('queue.md: BullMQ runs a job of an active deduplication id once more after its end, on any worker, never beside it', async () => {
  await using it = await startQueue()
  let [running, most, runs] = [0, 0, 0]
  const gates = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const process = async () => {
    most = Math.max(most, ++running)
    await gates[runs++]?.promise
    running--
  }
  for (let i = 0; i < 3; i++) it.work(process)
  await it.add()
  await waitFor(() => runs === 1, { what: 'the first run' })
  await it.add(3)
  await it.add()
  expect(await it.counts()).toMatchObject({ active: 1, waiting: 0, delayed: 0 })
  gates[0]?.resolve()
  await waitFor(() => runs === 2, { what: 'the second run' })
  await it.add()
  gates[1]?.resolve()
  await waitFor(() => runs === 3, { what: 'the third run' })
  await it.idle()
  expect({ runs, most }).toEqual({ runs: 3, most: 1 })
})

test('queue.md: BullMQ gives a job of a worker that died to another, however often', async () => {
  await using it = await startQueue()
  await it.add()
  let runs = 0
  for (let deaths = 1; deaths <= 3; deaths++) {
    const doomed = it.work(() => {
      runs++
      return new Promise(() => {})
    })
    await waitFor(() => runs === deaths, { what: `run ${deaths}` })
    await doomed.close(true)
  }
  it.work(async () => runs++)
  await it.idle()
  expect(runs).toBe(4)
})

test('queue.md: BullMQ renews the lock of a job that takes longer than its lock', async () => {
  await using it = await startQueue()
  const end = Promise.withResolvers<void>()
  let runs = 0
  const process = async () => {
    runs++
    await end.promise
  }
  // A lock that no pause of the machine outlasts, and that is renewed often.
  const timing = { lockDuration: 30_000, lockRenewTime: 100 }
  it.work(process, timing)
  it.work(process, timing)
  await it.add()
  await waitFor(() => runs > 0, { what: 'a run' })
  let [leftMs, renewals] = [0, 0]
  const isRenewed = async () => {
    const [lock] = await it.redis.keys('{test}:lanes:*:lock')
    const nowMs = lock === undefined ? 0 : await it.redis.pttl(lock)
    if (leftMs > 0 && nowMs > leftMs) renewals++
    leftMs = nowMs
    return renewals >= 3
  }
  await waitFor(isRenewed, { what: 'three renewals of the lock' })
  end.resolve()
  await it.idle()
  expect(runs).toBe(1)
})

test('queue.md: BullMQ delays a job that failed as the custom backoff says, and adds none beside it', async () => {
  await using it = await startQueue()
  const asked: { attempts: number; message: string | undefined }[] = []
  const startedMs: number[] = []
  it.work(
    async () => {
      startedMs.push(Date.now())
      if (startedMs.length < 3) throw new Error(`failure ${startedMs.length}`)
    },
    {
      settings: {
        backoffStrategy(attempts, _type, error) {
          asked.push({ attempts, message: error?.message })
          return 400
        },
      },
    },
  )
  await it.add()
  await waitFor(async () => (await it.counts()).delayed === 1, { what: 'the delay' })
  await it.add(2)
  expect(await it.counts()).toMatchObject({ waiting: 0, delayed: 1 })
  await it.idle()
  expect(asked).toEqual([
    { attempts: 1, message: 'failure 1' },
    { attempts: 2, message: 'failure 2' },
  ])
  expect(startedMs).toHaveLength(3)
  for (const [i, at] of startedMs.slice(1).entries())
    expect(at - (startedMs[i] ?? 0)).toBeGreaterThanOrEqual(398)
})

test('queue.md: BullMQ leaves nothing of jobs that are over', async () => {
  await using it = await startQueue()
  let runs = 0
  const failOnce = async () => {
    if (runs++ === 0) throw new Error('once')
  }
  it.work(failOnce, { settings: { backoffStrategy: () => 10 } })
  await it.add()
  await waitFor(() => runs === 2, { what: 'the second run' })
  await it.idle()
  const left = (await it.redis.keys('*')).filter((key) => /:lanes:(\d+|de|failed|completed)/.test(key))
  expect(left).toEqual([])
})
