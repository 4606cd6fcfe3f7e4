import { readdirSync, readFileSync } from 'node:fs'
import { Redis } from 'ioredis'
import { expect, test } from 'vitest'
import { compress, decompress } from '../../src/queue/packing.ts'
import { startChangeFeed } from '../servers/change-feed.ts'
import { readLayout } from './layout-log.ts'
import { startStage } from './stage-bed.ts'
import { NAMES, STORED } from './stored-queue.ts'

/** A queue that an earlier version left behind is delivered by this one without loss and in order (see write-stored-queue.ts). */

const FOLDER = new URL('../fixtures/stored-queue/', import.meta.url)

test.each(readdirSync(FOLDER))(
  'what waits in %s is delivered whole and in its order, and what follows after it',
  async (file) => {
    const feed = await startChangeFeed()
    for (const { type, names } of STORED) for (const name of names) feed.change(type, name)
    const stored = feed.history.length
    await using it = await startStage({
      feed,
      async stored(server) {
        const redis = new Redis(server.url)
        await readLayout(redis, readFileSync(new URL(file, FOLDER), 'utf8'))
        await renew(redis)
        redis.disconnect()
      },
    })
    for (const name of NAMES) feed.change('MODIFIED', name)
    for (const name of NAMES) feed.change('DELETED', name)
    // What waits was stored in the order of uids.
    await it.expectAll('hook', 30_000, ({ uid }) => uid)
    expect(it.arrivals()).toHaveLength(stored + 2 * NAMES.length)
  },
  60_000,
)

/** Makes the waiting deliveries as young as if the version before had run a moment ago: old ones are given up. */
async function renew(redis: Redis): Promise<void> {
  const now = new Date()
  for (const key of await redis.keys('*:lane:*')) {
    const entries = await redis.xrangeBuffer(key, '-', '+')
    await redis.del(key)
    for (const [id, fields] of entries) {
      const renewed = fields.map((value, i) => {
        const field = fields[i - 1]?.toString()
        if (i % 2 === 1 && field === 't') return Buffer.from(String(now.getTime()))
        return i % 2 === 1 && field === 'z' ? withTime(value, now.toISOString()) : value
      })
      await redis.xadd(key, id, ...renewed)
    }
  }
}

/** The same deliveries, observed at another time. The first byte of an entry is its format. */
function withTime(payload: Buffer, time: string): Buffer {
  const raw = decompress(payload.subarray(1)).toString()
  const renewed = raw.replaceAll(/"time":"[^"]+"/g, `"time":"${time}"`)
  return Buffer.concat([payload.subarray(0, 1), compress(Buffer.from(renewed))])
}
