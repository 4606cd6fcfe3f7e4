import { randomBytes } from 'node:crypto'
import type { Delivery } from '../../src/model/delivery.ts'
import { silentLog } from '../../src/observe/log.ts'
import { createMetrics } from '../../src/observe/metrics.ts'
import { type Archive, createDeadLetterBounds } from '../../src/store/bounds/dead-letter-bounds.ts'
import { encodeEntries } from '../../src/store/entry.ts'
import { listDeadLetters } from '../../src/store/lanes/dead-letters.ts'
import { waitFor } from '../wait-for.ts'
import type { startLaneBed } from './lane-bed.ts'
import { headerFor } from './objects.ts'

export type Bed = Awaited<ReturnType<typeof startLaneBed>>

export const DAY_MS = 86_400_000
export const MAX_BYTES = 100_000

/** Dead letters as acknowledgements leave them, of 2 KB each, given up `agoMs` ago. */
export async function giveUp(
  it: Bed,
  sink: string,
  names: readonly string[],
  agoMs = 0,
  size = 1_000,
): Promise<void> {
  const pipeline = it.redis.pipeline()
  for (const name of names) {
    const event = {
      ...headerFor(name, '1', 'MODIFIED', `uid-${name}`),
      time: new Date(Date.now() - agoMs).toISOString(),
    }
    const objectJson = Buffer.from(JSON.stringify({ data: randomBytes(size).toString('latin1') }))
    const [entry] = encodeEntries([{ sink, rule: 'all', event, objectJson } satisfies Delivery])
    const about = ['sink', sink, 'lane', `${sink}/n0`, 'rule', 'all', 'reason', 'expired', 'detail', 'down']
    const at = Date.now() - agoMs
    pipeline.xadd(it.keys.deadLetters, '*', ...about, 'at', at, 'z', entry?.payload ?? '', 'n', 1)
  }
  pipeline.hincrby(it.keys.sinkLedger(sink), 'enqueued', names.length)
  pipeline.hincrby(it.keys.sinkLedger(sink), 'dead', names.length)
  pipeline.hincrby(it.keys.pending, `${sink}/n0`, 0)
  await pipeline.exec()
}

/** Keeps the dead letters within their bounds, as a process does; `looks` is how often it compared them with their bounds. */
export function keep(
  it: Bed,
  options: {
    archive?: Archive
    maxAgeMs?: number
    maxBytes?: number
    id?: string
    clock?: { now(): number }
  } = {},
) {
  const metrics = createMetrics()
  let looks = 0
  const { maxAgeMs = 7 * DAY_MS, maxBytes = MAX_BYTES, id = 'one', clock = Date } = options
  const bounds = createDeadLetterBounds({
    ...{ redis: it.redis, keys: it.keys, metrics, log: silentLog, clock, id },
    bounds() {
      looks++
      return { maxAgeMs, maxBytes }
    },
    archive: () => options.archive,
  })
  return { metrics, bounds, looks: () => looks, [Symbol.asyncDispose]: () => bounds.close() }
}

export const names = (count: number, prefix = 'a') =>
  Array.from({ length: count }, (_, i) => `${prefix}-${i}`)

export const kept = async (it: Bed) =>
  (await Array.fromAsync(listDeadLetters(it.redis, it.keys)))
    .toReversed()
    .map((it) => it.delivery?.event.name)

export const keptFewer = (it: Bed, than: number) =>
  waitFor(async () => (await it.redis.xlen(it.keys.deadLetters)) < than, {
    what: 'the dead letters to be within their bounds',
  })
