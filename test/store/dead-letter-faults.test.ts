import { expect, test } from 'vitest'
import type { Archive } from '../../src/store/bounds/dead-letter-bounds.ts'
import { waitFor } from '../wait-for.ts'
import { type Bed, giveUp, keep, kept, keptFewer, MAX_BYTES, names } from './dead-letter-bed.ts'
import { startLaneBed } from './lane-bed.ts'

/** The bounds of dead letters while Redis, the archive or another program prevents that they are discarded. */

/** From now on Redis refuses what needs memory. */
async function fill(it: Bed): Promise<void> {
  const used = Number(/used_memory:(\d+)/.exec(await it.redis.info('memory'))?.[1])
  await it.server.command('CONFIG', 'SET', 'maxmemory', String(used - 100_000))
}

const sinkArchive: Archive = { kind: 'sink', sink: 'archive', laneOf: () => 'archive/n0', wake() {} }

test.each([
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

test('the size of the dead letters is shown also while none can be discarded', async () => {
  await using it = await startLaneBed()
  await giveUp(it, 'hook', names(200))
  await it.redis.hset(it.keys.deadLettersTurn, 'foreign', '')
  await using running = keep(it)
  await waitFor(() => running.looks() > 1, { what: 'a second look' })
  expect(running.bounds.status()?.bytes).toBeGreaterThan(MAX_BYTES)
  expect(await kept(it)).toEqual(names(200))
})
