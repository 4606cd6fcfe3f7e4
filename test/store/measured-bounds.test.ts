import { randomBytes } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { expect, test } from 'vitest'
import type { Delivery } from '../../src/model/delivery.ts'
import type { Sink } from '../../src/sink/index.ts'
import { encodeEntries } from '../../src/store/entry.ts'
import { quarantineLane } from '../../src/store/keys.ts'
import type { Lanes } from '../../src/store/lanes/lanes.ts'
import { waitFor } from '../wait-for.ts'
import { startLaneBed } from './lane-bed.ts'
import { headerFor } from './objects.ts'

/** What a sink gives up follows from what its lanes take in Redis, however unlike each other their entries are. */

type Bed = Awaited<ReturnType<typeof startLaneBed>>

const MINUTE_MS = 60_000

const deliveryOf = (sink: string, name: string, bytes: number, agoMs: number): Delivery => {
  const event = {
    ...headerFor(name, '1', 'MODIFIED', `uid-${name}`),
    time: new Date(Date.now() - agoMs).toISOString(),
  }
  const objectJson = Buffer.from(JSON.stringify({ data: randomBytes(bytes / 2).toString('latin1') }))
  return { sink, rule: 'all', event, objectJson }
}

/** Commits the deliveries of each list together. */
async function commit(it: Bed, lane: string, commits: readonly (readonly Delivery[])[]): Promise<void> {
  const pipeline = it.redis.pipeline()
  for (const { count, observedAtMs, payload } of commits.flatMap((some) => encodeEntries(some)))
    pipeline.xadd(it.keys.lane(lane), '*', 'n', count, 't', observedAtMs, 'z', payload)
  const count = commits.flat().length
  pipeline.hincrby(it.keys.pending, lane, count)
  pipeline.hincrby(it.keys.sinkLedger(lane.split('/')[0] as string), 'enqueued', count)
  await pipeline.exec()
}

function hangingSink(): Sink {
  return {
    async deliver(batch, signal) {
      await pause(60_000, undefined, { signal }).catch(() => {})
      return batch.map(() => ({ kind: 'retry', reason: 'network', detail: 'hangs', scope: 'sink' }))
    },
    async close() {},
  }
}

const measuredBytes = (lanes: Lanes, atLeast = 1) =>
  waitFor(
    () => {
      const { bytes = 0 } = lanes.statuses()[0]?.queue ?? {}
      return bytes >= atLeast ? bytes : undefined
    },
    { timeoutMs: 25_000, what: `${atLeast} bytes to be measured` },
  )

const deadOf = async (it: Bed, sink: string) => Number((await it.ledger()).sinks[sink]?.['dead'] ?? 0)

test('a burst at the head of each lane does not count as if all were like it', async () => {
  await using it = await startLaneBed()
  const sinks = ['a', 'b']
  for (const sink of sinks)
    for (let i = 0; i < 16; i++) {
      const burst = Array.from({ length: 55 }, (_, n) => deliveryOf(sink, `o${i}-${n}`, 500, 10 * MINUTE_MS))
      const singles = Array.from({ length: 200 }, (_, n) => [
        deliveryOf(sink, `o${i}-${n}`, 700, 5 * MINUTE_MS),
      ])
      await commit(it, `${sink}/n${i}`, [burst, ...singles])
    }
  // 3.0 MB each.
  const bounds = Object.fromEntries(sinks.map((sink) => [sink, { maxBytes: 10_000_000 }]))
  const lanes = it.work(Object.fromEntries(sinks.map((sink) => [sink, hangingSink()])), { bounds })
  const bytes = await measuredBytes(lanes, 1_000_000)
  expect(bytes).toBeLessThan(4_000_000)
  // Another look at them.
  await pause(3_000)
  for (const sink of sinks) expect(await deadOf(it, sink)).toBe(0)
})

test('quarantined objects with a delivery each, more than are measured at once, count as what they take in Redis', async () => {
  await using it = await startLaneBed()
  const used = async () => Number(/used_memory:(\d+)/.exec(await it.redis.info('memory'))?.[1])
  const before = await used()
  for (let i = 0; i < 1_500; i++)
    await commit(it, quarantineLane(`down/n${i % 16}`, `object-${i}`), [
      [deliveryOf('down', `object-${i}`, 300, MINUTE_MS)],
    ])
  const taken = (await used()) - before
  const lanes = it.work({ down: hangingSink() }, { bounds: { down: { maxBytes: 1e9 } } })
  const bytes = await measuredBytes(lanes)
  expect(bytes / taken).toBeGreaterThan(0.8)
  expect(bytes / taken).toBeLessThan(1.2)
})

test('what expires makes room before the oldest beyond the bound in bytes are given up', async () => {
  await using it = await startLaneBed()
  await it.redis.hset(it.keys.deliveringSince, 'down', `${Date.now() - 86_400_000},${Date.now()}`)
  for (let i = 0; i < 4; i++) {
    const agesMs = Array.from({ length: 30 }, (_, n) => (n < 15 ? 240 : 30) * MINUTE_MS)
    const deliveries = agesMs.map((agoMs) => [deliveryOf('down', `object-${i}`, 2_000, agoMs)])
    await commit(it, `down/n${i}`, deliveries)
  }
  // 240 KB, half of which is older than the bound.
  const bounds = { down: { maxBytes: 200_000, maxAgeMs: 180 * MINUTE_MS } }
  it.work({ down: hangingSink() }, { bounds })
  await waitFor(async () => (await deadOf(it, 'down')) >= 40, { what: 'the old ones to expire' })
  await pause(3_000)
  expect(await deadOf(it, 'down')).toBeLessThanOrEqual(60)
})
