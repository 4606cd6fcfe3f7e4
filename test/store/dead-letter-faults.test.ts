import { expect, test } from 'vitest'
import type { Archive } from '../../src/store/bounds/dead-letter-bounds.ts'
import { waitFor } from '../wait-for.ts'
import { type Bed, DAY_MS, giveUp, keep, kept, keptFewer, MAX_BYTES, names } from './dead-letter-bed.ts'
import { startLaneBed } from './lane-bed.ts'

/** The bounds of dead letters while Redis, the archive or another program prevents that they are discarded. */

/** From now on Redis refuses what needs memory. */
async function fill(it: Bed): Promise<void> {
  const used = Number(/used_memory:(\d+)/.exec(await it.redis.info('memory'))?.[1])
  await it.server.command('CONFIG', 'SET', 'maxmemory', String(used - 100_000))
}

const sinkArchive: Archive = { kind: 'sink', sink: 'archive', laneOf: () => 'archive/n0', wake() {} }

test.concurrent.each([
  ['dropped', undefined],
  ['archived', sinkArchive],
] as const)('dead letters beyond their bounds are %s also while Redis is full', async (how, archive) => {
  await using it = await startLaneBed()
  await giveUp(it, 'hook', names(400))
  await fill(it)
  await using running = keep(it, archive ? { archive } : {})
  await keptFewer(it, 60)
  await running.bounds.close()
  await it.server.command('CONFIG', 'SET', 'maxmemory', '0')
  expect(running.bounds.status()).toMatchObject({ maxBytes: MAX_BYTES })
  const gone = 400 - (await kept(it)).length
  const { sinks, balanced, verified } = await it.ledger()
  expect(sinks['hook']).toMatchObject({ dead: 400, discarded: gone, [how]: gone })
  expect(sinks['archive']?.enqueued).toBe(archive && gone)
  expect({ balanced, verified }).toEqual({ balanced: true, verified: true })
})

test.concurrent('the size of the dead letters is shown also while none can be discarded', async () => {
  await using it = await startLaneBed()
  await giveUp(it, 'hook', names(200))
  await it.redis.hset(it.keys.deadLettersTurn, 'foreign', '')
  await using running = keep(it)
  await waitFor(() => running.looks() > 1, { what: 'a second look' })
  expect(running.bounds.status()?.bytes).toBeGreaterThan(MAX_BYTES)
  expect(await kept(it)).toEqual(names(200))
})

test.concurrent.each([
  ['old', { maxBytes: 1e9 }],
  ['beyond their bytes', { maxAgeMs: 9 * DAY_MS, maxBytes: 1_000 }],
])(
  'dead letters that are %s, and cannot be counted, are neither archived nor tried without a pause',
  async (_, bounds) => {
    await using it = await startLaneBed()
    await giveUp(it, 'hook', names(3), 8 * DAY_MS)
    await it.redis.hset(it.keys.sinkLedger('hook'), 'discarded', 'text')
    const written: string[] = []
    const archive: Archive = {
      kind: 'file',
      async write(letters) {
        written.push(...letters.map(({ id }) => id))
      },
    }
    let reads = 0
    const read = it.redis.xrangeBuffer.bind(it.redis) as (...args: unknown[]) => Promise<never>
    it.redis.xrangeBuffer = (...args: unknown[]) => {
      reads++
      return read(...args)
    }
    const startedMs = performance.now()
    await using running = keep(it, { archive, ...bounds })
    await waitFor(() => running.looks() > 2, { what: 'a third look' })
    // One look every 2 s.
    expect(performance.now() - startedMs).toBeGreaterThan(3_000)
    expect(reads).toBeLessThanOrEqual(running.looks())
    expect(written).toEqual([])
    await it.redis.hdel(it.keys.sinkLedger('hook'), 'discarded')
    await keptFewer(it, 1)
    expect(written).toHaveLength(3)
    expect(await it.ledger()).toMatchObject({ sinks: { hook: { archived: 3 } }, balanced: true })
  },
)

test.concurrent('what an archive did not write before a stop is kept', async () => {
  await using it = await startLaneBed()
  await giveUp(it, 'hook', names(200))
  const writing = Promise.withResolvers<void>()
  let writes = 0
  const write = () => {
    writes++
    return writing.promise
  }
  await using running = keep(it, { archive: { kind: 'file', write } })
  await waitFor(() => writes > 0, { what: 'a write' })
  const closing = running.bounds.close()
  writing.reject(new Error('it takes too long'))
  await closing
  expect(await kept(it)).toEqual(names(200))
  expect(await it.ledger()).toMatchObject({ sinks: { hook: { dead: 200, dropped: 0 } }, balanced: true })
})

test.concurrent.each([
  ['lane', (it: Bed) => it.keys.lane('archive/n0')],
  ['ledger', (it: Bed) => it.keys.sinkLedger('archive')],
])(
  'while another program has the %s of the archive, dead letters wait up to twice their bound',
  async (_, keyOf) => {
    await using it = await startLaneBed()
    await giveUp(it, 'hook', names(400))
    await it.redis.set(keyOf(it), 'text')
    await using running = keep(it, { archive: sinkArchive })
    await keptFewer(it, 150)
    await waitFor(() => running.looks() > 2, { what: 'a third look' })
    const left = await kept(it)
    expect(left.length).toBeGreaterThan(50)
    expect(left).toEqual(names(400).slice(-left.length))
    const dropped = 400 - left.length
    await it.redis.del(keyOf(it))
    await keptFewer(it, 60)
    await running.bounds.close()
    const { sinks, balanced } = await it.ledger()
    const archived = 400 - dropped - (await kept(it)).length
    expect(sinks['hook']).toMatchObject({ dead: 400, dropped, archived })
    expect({ enqueued: sinks['archive']?.enqueued, balanced }).toEqual({ enqueued: archived, balanced: true })
  },
)

test.concurrent('one lane of the archive that another program has does not stop the others', async () => {
  await using it = await startLaneBed()
  await giveUp(it, 'hook', names(30), 8 * DAY_MS)
  await it.redis.set(it.keys.lane('archive/n0'), 'text')
  const woken = new Set<string>()
  const archive: Archive = {
    ...{ kind: 'sink', sink: 'archive' },
    laneOf: ({ event }) => `archive/n${event.name.endsWith('3') ? 0 : 1}`,
    wake(lanes) {
      for (const lane of lanes) woken.add(lane)
    },
  }
  await using running = keep(it, { archive, maxBytes: 1e9 })
  await keptFewer(it, 4)
  await waitFor(() => running.looks() > 2, { what: 'a third look' })
  expect(await kept(it)).toEqual(['a-3', 'a-13', 'a-23'])
  expect([...woken]).toEqual(['archive/n1'])
})
