import { expect, test, vi } from 'vitest'
import { ARCHIVE_WRITE_MS, type Archive } from '../../src/store/bounds/dead-letter-bounds.ts'
import { dropDeadLetter, retryDeadLetter } from '../../src/store/lanes/dead-letter-actions.ts'
import { listDeadLetters } from '../../src/store/lanes/dead-letters.ts'
import { waitFor } from '../wait-for.ts'
import { type Bed, DAY_MS, giveUp, keep, kept, keptFewer, MAX_BYTES, names } from './dead-letter-bed.ts'
import { DELIVERED, DOWN, scriptedSink, slowScripts, startLaneBed } from './lane-bed.ts'

/** Dead letters stay within their bounds; what is beyond is archived, if there is an archive, and counted. */

async function bytesTaken(it: Bed): Promise<number> {
  return Number((await it.redis.memory('USAGE', it.keys.deadLetters, 'SAMPLES', 0)) ?? 0)
}

test.concurrent('without an archive the oldest beyond the bytes are dropped, and counted', async () => {
  await using it = await startLaneBed()
  await giveUp(it, 'hook', names(200))
  await using running = keep(it)
  await keptFewer(it, 60)
  const left = await kept(it)
  expect(left).toEqual(names(200).slice(-left.length))
  expect(left.length).toBeGreaterThan(20)
  expect(await bytesTaken(it)).toBeLessThan(MAX_BYTES * 1.3)
  const { sinks, balanced, verified } = await it.ledger()
  const dropped = 200 - left.length
  expect(sinks['hook']).toMatchObject({ dead: 200, discarded: dropped, dropped, archived: 0 })
  expect({ balanced, verified }).toEqual({ balanced: true, verified: true })
  const { values } = await running.metrics.deadLettersDropped.get()
  expect(values).toMatchObject([{ labels: { sink: 'hook' }, value: dropped }])
})

test.concurrent('an estimate that is too high drops nothing', async () => {
  await using it = await startLaneBed()
  await giveUp(it, 'hook', names(20))
  // A measurement that takes long has a long pause after it: meanwhile what comes is added to its result.
  slowScripts(it)
  await using running = keep(it)
  await waitFor(() => running.bounds.status(), { what: 'the first measurement' })
  running.bounds.added(10 * MAX_BYTES)
  await waitFor(() => it.redis.exists(it.keys.deadLettersTurn), { what: 'the process to have its turn' })
  await running.bounds.close()
  expect(await kept(it)).toEqual(names(20))
  expect(running.bounds.status()?.bytes).toBeLessThan(MAX_BYTES)
})

test.concurrent('letters between deleted ones are not dropped for the memory that these still take', async () => {
  await using it = await startLaneBed({ redisArgs: ['--stream-node-max-bytes', '16384'] })
  await giveUp(it, 'hook', names(400))
  const letters = (await Array.fromAsync(listDeadLetters(it.redis, it.keys))).toReversed()
  for (const [i, letter] of letters.entries())
    if (i % 8 !== 0) await dropDeadLetter(it.redis, it.keys, letter)
  const before = await bytesTaken(it)
  await using running = keep(it, { maxBytes: before * 0.95 })
  await waitFor(async () => (await bytesTaken(it)) < before * 0.95, {
    what: 'the bytes to be in their bound',
  })
  await waitFor(() => (running.bounds.status()?.bytes ?? before) < before * 0.95, { what: 'a measurement' })
  expect((await kept(it)).length).toBeGreaterThan(35)
})

test('a few large letters before many small ones are read a few at a time', async () => {
  await using it = await startLaneBed()
  await giveUp(it, 'hook', names(20, 'large'), 8 * DAY_MS, 500_000)
  await giveUp(it, 'hook', names(3_000, 'small'), 8 * DAY_MS, 100)
  const read = vi.spyOn(it.redis, 'xrangeBuffer')
  await using _ = keep(it, { maxBytes: 1e9 })
  await keptFewer(it, 1)
  expect(await mostBytesRead(read)).toBeLessThan(5_000_000)
})

async function mostBytesRead({ mock }: { mock: { results: { value: unknown }[] } }): Promise<number> {
  const pages = await Promise.all(mock.results.map(({ value }) => value as Promise<[Buffer, Buffer[]][]>))
  const bytes = pages.map((rows) =>
    rows.flatMap(([, fields]) => fields).reduce((sum, it) => sum + it.length, 0),
  )
  return Math.max(...bytes)
}

test('large letters behind many small ones are read and unpacked a few at a time', async () => {
  await using it = await startLaneBed()
  await giveUp(it, 'hook', names(400, 'small'), 8 * DAY_MS, 100)
  await giveUp(it, 'hook', names(60, 'large'), 8 * DAY_MS, 500_000)
  const read = vi.spyOn(it.redis, 'xrangeBuffer')
  const unpacked: number[] = []
  const archive: Archive = {
    kind: 'file',
    write: async (letters) =>
      void unpacked.push(letters.reduce((sum, { delivery }) => sum + (delivery?.objectJson.length ?? 0), 0)),
  }
  await using _ = keep(it, { archive, maxBytes: 1e9 })
  await keptFewer(it, 1)
  expect(Math.max(...unpacked)).toBeLessThan(6_000_000)
  expect(await mostBytesRead(read)).toBeLessThan(20_000_000)
})

test.concurrent('those that are too old go, others stay', async () => {
  await using it = await startLaneBed()
  await giveUp(it, 'hook', names(5, 'old'), 8 * DAY_MS)
  await giveUp(it, 'hook', names(3, 'new'), DAY_MS)
  await using _ = keep(it, { maxBytes: 10_000_000 })
  await keptFewer(it, 4)
  expect(await kept(it)).toEqual(names(3, 'new'))
})

test.concurrent('none gets old because the clock was set', async () => {
  await using it = await startLaneBed()
  await giveUp(it, 'hook', names(5, 'old'), 8 * DAY_MS)
  await giveUp(it, 'hook', names(3, 'new'))
  let jumpedMs = 0
  await using running = keep(it, { maxBytes: 10_000_000, clock: { now: () => Date.now() + jumpedMs } })
  await keptFewer(it, 4)
  jumpedMs = 8 * DAY_MS
  const before = running.looks()
  await waitFor(() => running.looks() > before + 1, { what: 'the bounds to be compared after the jump' })
  expect(await kept(it)).toEqual(names(3, 'new'))
})

test.concurrent('a letter is deleted only when the archive has it', async () => {
  await using it = await startLaneBed()
  await giveUp(it, 'hook', names(200))
  const written: (string | undefined)[] = []
  const stillThere: number[] = []
  const archive: Archive = {
    kind: 'file',
    async write(letters) {
      written.push(...letters.map(({ delivery }) => delivery?.event.name))
      for (const { id } of letters)
        stillThere.push((await it.redis.xrange(it.keys.deadLetters, id, id)).length)
    },
  }
  await using running = keep(it, { archive })
  await keptFewer(it, 60)
  const left = await kept(it)
  expect([...written, ...left]).toEqual(names(200))
  expect(stillThere.every((count) => count === 1)).toBe(true)
  const archived = 200 - left.length
  const ledger = await it.ledger()
  expect(ledger.sinks['hook']).toMatchObject({ discarded: archived, archived, dropped: 0 })
  expect(ledger.balanced).toBe(true)
  const { values } = await running.metrics.deadLettersArchived.get()
  expect(values).toMatchObject([{ value: archived }])
})

test.concurrent('while the archive fails letters wait for it, up to twice the bound', async () => {
  await using it = await startLaneBed()
  await giveUp(it, 'hook', names(70))
  let fails = true
  const written: string[] = []
  let tried = 0
  const archive: Archive = {
    kind: 'file',
    async write(letters) {
      tried++
      if (fails) throw new Error('the disk is full')
      written.push(...letters.map(({ id }) => id))
    },
  }
  await using _ = keep(it, { archive, maxAgeMs: 1_000 })
  await waitFor(() => tried >= 2, { what: 'the archive to be tried again' })
  expect(await kept(it)).toEqual(names(70))
  await giveUp(it, 'hook', names(200, 'b'))
  await keptFewer(it, 200)
  expect((await it.ledger()).sinks['hook']).toMatchObject({ archived: 0 })
  const waiting = await bytesTaken(it)
  expect(waiting).toBeGreaterThan(1.5 * MAX_BYTES)
  expect(waiting).toBeLessThan(2.6 * MAX_BYTES)
  fails = false
  await waitFor(() => written.length > 0, { what: 'the archive to be written' })
  expect(await it.ledger()).toMatchObject({ balanced: true })
})

test.concurrent('an archive that is a sink gets them as deliveries of its own', async () => {
  await using it = await startLaneBed()
  await giveUp(it, 'hook', names(10), 8 * DAY_MS)
  const sink = scriptedSink(() => DELIVERED)
  const lanes = it.work({ archive: sink })
  const archive: Archive = {
    ...{ kind: 'sink', sink: 'archive', laneOf: () => 'archive/n0' },
    wake: (some) => lanes.wake(some),
  }
  await using _ = keep(it, { archive, maxBytes: 10_000_000 })
  await waitFor(() => sink.took.length === 10, { what: 'the archive to get them' })
  expect(sink.took).toEqual(names(10).map((name) => `${name}@1`))
  await it.drained('archive')
  const { sinks, balanced } = await it.ledger()
  expect(sinks['hook']).toMatchObject({ dead: 10, archived: 10, discarded: 10 })
  expect(sinks['archive']).toMatchObject({ enqueued: 10, delivered: 10 })
  expect(balanced).toBe(true)
})

test.concurrent("the archive's own dead letters, and those that cannot be read, are dropped", async () => {
  await using it = await startLaneBed()
  await giveUp(it, 'archive', names(2), 8 * DAY_MS)
  const at = Date.now() - 8 * DAY_MS
  await it.redis.xadd(it.keys.deadLetters, '*', 'sink', 'archive', 'at', at, 'z', 'garbage', 'n', 3)
  await it.redis.hincrby(it.keys.sinkLedger('archive'), 'enqueued', 3)
  await it.redis.hincrby(it.keys.sinkLedger('archive'), 'dead', 3)
  const archive: Archive = { kind: 'sink', sink: 'archive', laneOf: () => 'archive/n0', wake() {} }
  await using _ = keep(it, { archive, maxBytes: 10_000_000 })
  await keptFewer(it, 1)
  const { sinks, balanced } = await it.ledger()
  expect(sinks['archive']).toMatchObject({ enqueued: 5, dead: 5, dropped: 5, archived: 0, pending: 0 })
  expect(balanced).toBe(true)
})

test.concurrent('of two processes one archives at a time', async () => {
  await using it = await startLaneBed()
  await giveUp(it, 'hook', names(200))
  const written: string[] = []
  const archive: Archive = {
    kind: 'file',
    async write(letters) {
      written.push(...letters.map(({ id }) => id))
      await new Promise((resolve) => setTimeout(resolve, 300))
    },
  }
  await using _ = keep(it, { archive, id: 'one' })
  await using __ = keep(it, { archive, id: 'two' })
  await keptFewer(it, 60)
  expect(new Set(written).size).toBe(written.length)
})

test.concurrent('while a process writes to the archive for as long as it may, no other process archives', async () => {
  await using it = await startLaneBed()
  await giveUp(it, 'hook', names(200))
  const written: string[] = []
  const disk = Promise.withResolvers<void>()
  const archive: Archive = {
    kind: 'file',
    async write(letters) {
      written.push(...letters.map(({ id }) => id))
      await disk.promise
    },
  }
  await using _ = keep(it, { archive, id: 'one' })
  using __ = { [Symbol.dispose]: disk.resolve }
  await waitFor(() => written.length > 0, { what: 'a write' })
  const ofOne = written.length
  const turn = it.keys.deadLettersTurn
  // As if that time had passed.
  await it.redis.pexpire(turn, Math.max((await it.redis.pttl(turn)) - ARCHIVE_WRITE_MS, 1))
  await using two = keep(it, { archive, id: 'two' })
  await waitFor(() => two.looks() > 1 || written.length > ofOne, {
    what: 'another check of the other process',
  })
  disk.resolve()
  await keptFewer(it, 60)
  expect(new Set(written).size).toBe(written.length)
  const isShort = async () => (await it.redis.pttl(turn)) < ARCHIVE_WRITE_MS
  await waitFor(isShort, { what: 'the turn to be short again' })
})

test.concurrent('a dead letter that is retried has its whole age before it', async () => {
  await using it = await startLaneBed()
  await it.redis.hset(it.keys.deliveringSince, 'hook', `${Date.now() - 30 * DAY_MS},${Date.now()}`)
  await giveUp(it, 'hook', ['a'], 3 * DAY_MS)
  const [letter] = await Array.fromAsync(listDeadLetters(it.redis, it.keys))
  if (!letter) throw new Error('there is no dead letter')
  await retryDeadLetter(it.redis, it.keys, letter)
  let up = false
  const sink = scriptedSink(() => (up ? DELIVERED : DOWN))
  const lanes = it.work({ hook: sink }, { bounds: { hook: { maxAgeMs: DAY_MS } } })
  await waitFor(() => (lanes.statuses()[0]?.queue?.bytes ?? 0) > 0, { what: 'a look at the bounds' })
  up = true
  await waitFor(() => sink.took.length === 1, { what: 'the delivery' })
})
