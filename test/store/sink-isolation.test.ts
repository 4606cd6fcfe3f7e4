import { randomBytes } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { arrivalIn, differences, nameOf } from '../cluster/compare.ts'
import { waitFor } from '../wait-for.ts'
import { named, type Stage, sayMissing, startStage } from './stage-bed.ts'

/** A sink that is down fills its own share of Redis and no more: other sinks get everything meanwhile. */

const OBJECTS = named('object', 50)
const CHANGES = 1_500
/** Random, so that it takes as much of Redis as it is long. */
const CHANGE_BYTES = 20_000
/** Half of what the sink that is down has to keep. */
const SMALL_REDIS_BYTES = 16 * 2 ** 20
const SMALL_REDIS = ['--maxmemory', String(SMALL_REDIS_BYTES), '--save', '', '--appendonly', 'no']

test('a sink that is down for more than a small Redis can keep delays no other, and closes no watch', async () => {
  await using it = await startStage({
    sinks: ['down', 'healthy'],
    redisArgs: SMALL_REDIS,
    more: 'deadLetters: { archive: { file: DIR/archive/dead.ndjson } }',
  })
  it.hook.answer(({ path }) => ({ status: path.endsWith('/down') ? 503 : 200 }))
  // Faster than the bounds are kept, the changes would fill Redis in between.
  await change(it, { what: 'room in Redis', isReady: async () => (await usedPercent(it)) < 65 })
  await it.expectAll('healthy', 45_000)
  expect(it.kubeherald.log()).not.toContain('Redis is nearly full')
  // Each of its deliveries waits, is a dead letter, or is in the archive.
  // The archive goes on while the status is read.
  const { ledger, lines, deadLetters } = await waitFor(
    async () => {
      const status = await it.kubeherald.status()
      const lines: ReturnType<typeof archivedIn> = archivedIn(it.dir)
      const { archived, dead } = status.ledger.sinks.down
      const isAtRest =
        new Set(lines.map(({ id }) => id)).size === archived && archived + status.deadLetters === dead
      return isAtRest ? { ledger: status.ledger, deadLetters: status.deadLetters, lines } : undefined
    },
    { what: 'an archive that agrees with the ledger' },
  )
  const { enqueued, delivered, dead, pending, archived, dropped } = ledger.sinks.down
  expect({ enqueued, delivered, dropped }).toEqual({ enqueued: CHANGES, delivered: 0, dropped: 0 })
  expect(dead + pending).toBe(CHANGES)
  expect(archived + deadLetters).toBe(dead)
  expect(ledger).toMatchObject({ balanced: true, verified: true })
  expect(new Set(lines.map(({ id }) => id)).size).toBe(archived)
  expect(lines[0]).toMatchObject({
    ...{ sink: 'down', rule: 'all', reason: 'queue-full', event: { kind: 'ConfigMap' } },
    object: { kind: 'ConfigMap' },
  })
  const { stdout } = await it.kubeherald.command('status')
  expect(stdout).toMatch(/queue of down: \d+\.\d of \d+\.\d MB/)
  expect(stdout).toMatch(/dead letters: \d+ kept, .* MB.*; \d+ archived\n/)
  const metrics = await it.kubeherald.metrics()
  expect(metrics).toMatch(/kubeherald_queue_max_bytes\{sink="down"\} 33\d{5}\n/)
  expect(metrics).toMatch(/kubeherald_deliveries_dead_total\{sink="down",reason="queue-full"\} [1-9]/)
})

test('what a sink that was down kept within its own bound is the newest, and arrives in order', async () => {
  await using it = await startStage({
    sinks: ['down', 'healthy'],
    sinkOptions: { down: 'queue: { maxBytes: 1MB }' },
    redisArgs: SMALL_REDIS,
  })
  it.hook.answer(({ path }) => ({ status: path.endsWith('/down') ? 503 : 200 }))
  await change(it)
  await it.expectAll('healthy', 45_000)
  it.hook.answer(() => ({ status: 200 }))
  const version = String(it.feed.change('MODIFIED', OBJECTS[0] as string))
  await waitFor(() => it.arrivals('down').some(({ resourceVersion }) => resourceVersion === version), {
    timeoutMs: 45_000,
    what: () => `a change after the outage; it said ${it.kubeherald.log().slice(-3_000)}`,
  })
  const down = async () => (await it.kubeherald.status()).ledger.sinks.down
  await waitFor(async () => (await down()).pending === 0, { what: 'the lanes to be empty' })
  const { delivered, dead } = await down()
  expect(delivered + dead).toBe(CHANGES + 1)
  expect(delivered).toBeGreaterThan(10)
  const { outOfOrder } = differences(it.feed.history, it.arrivals('down'))
  expect(outOfOrder).toEqual([])
  // Those that were under way are not given up; of the others, times decide between the lanes of a sink, about.
  const refused = it.hook.requests.filter(({ path, status }) => path.endsWith('/down') && status === 503)
  const underWay = new Set(refused.map((request) => nameOf(arrivalIn(request))))
  const versions = it
    .arrivals('down')
    .filter((arrival) => !underWay.has(nameOf(arrival)))
    .map(({ resourceVersion }) => Number(resourceVersion))
  expect(versions.length).toBeGreaterThan(1)
  const newest = it.feed.history.slice(-3 * delivered).map((entry) => Number(entry.resourceVersion))
  expect(Math.min(...versions)).toBeGreaterThanOrEqual(Math.min(...newest))
})

test('a sink that is the archive gets the dead letters beyond their bound', async () => {
  await using it = await startStage({
    sinks: ['down', 'healthy'],
    withoutRule: ['archive'],
    sinkOptions: { down: 'queue: { maxBytes: 1MB }' },
    redisArgs: SMALL_REDIS,
    more: 'deadLetters: { maxBytes: 1MB, archive: { sink: archive } }',
  })
  it.hook.answer(({ path }) => ({ status: path.endsWith('/down') ? 503 : 200 }))
  const counts = async () => (await it.kubeherald.status()).ledger
  const isArchived = async () => ((await counts()).sinks.archive?.pending ?? 0) === 0
  // An archive that is slower than its queue is long loses dead letters.
  await change(it, { what: 'the archive', isReady: isArchived })
  await it.expectAll('healthy', 45_000)
  await waitFor(isArchived, { what: 'the archive' })
  const { sinks, balanced } = await counts()
  expect(sinks.archive).toMatchObject({ enqueued: sinks.down.archived, dead: 0 })
  expect(sinks.down).toMatchObject({ enqueued: CHANGES, dropped: 0 })
  expect(balanced).toBe(true)
  const { unexpected } = differences(it.feed.history, it.arrivals('archive'))
  expect(unexpected).toEqual([])
  expect(it.arrivals('archive').length).toBeGreaterThan(CHANGES / 2)
})

async function usedPercent({ redis }: Stage): Promise<number> {
  const [, used] = /used_memory:(\d+)/.exec(String(await redis.command('INFO', 'memory'))) ?? []
  return (Number(used) / SMALL_REDIS_BYTES) * 100
}

/** In portions that the healthy receiver takes in, each when the last one is `isReady`: a burst may wait in Redis, too. */
async function change(it: Stage, pace?: { what: string; isReady(): Promise<boolean> }): Promise<void> {
  for (let i = 0; i < CHANGES; ) {
    for (const end = Math.min(i + 50, CHANGES); i < end; i++) {
      const name = OBJECTS[i % OBJECTS.length] as string
      const data = { random: randomBytes(CHANGE_BYTES / 2).toString('hex') }
      it.feed.change(i < OBJECTS.length ? 'ADDED' : 'MODIFIED', name, data)
    }
    await waitFor(() => it.missing('healthy').length === 0, {
      timeoutMs: 45_000,
      what: () => `the healthy receiver; ${sayMissing(it.missing('healthy'), it.feed.history.length)}`,
    })
    if (pace) await waitFor(pace.isReady, { timeoutMs: 45_000, what: pace.what })
    await pause(20)
  }
}

interface ArchivedLetter {
  id: string
  sink: string
}

function archivedIn(dir: string): ArchivedLetter[] {
  const folder = join(dir, 'archive')
  return readdirSync(folder)
    .toSorted()
    .flatMap((file) => readFileSync(join(folder, file), 'utf8').trimEnd().split('\n'))
    .map((line) => JSON.parse(line))
}
