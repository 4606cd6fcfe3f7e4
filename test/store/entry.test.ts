import { createHash } from 'node:crypto'
import { expect, test } from 'vitest'
import type { Delivery } from '../../src/model/delivery.ts'
import { decodeEntry, encodeEntries } from '../../src/store/entry.ts'
import { DICTIONARY } from '../../src/store/packing.ts'
import { benchDelivery, benchPod } from '../bench/pod.ts'
import { headerFor } from './objects.ts'

function deliveryOf(name: string, json: string, time = '2026-01-01T00:00:00.000Z'): Delivery {
  const event = { ...headerFor(name, '1', 'ADDED', `uid-${name}`), time }
  return { sink: 'hook', rule: 'all', event, objectJson: Buffer.from(json) }
}

const roundTrip = (deliveries: Delivery[]) =>
  encodeEntries(deliveries).flatMap(({ payload }) => decodeEntry(payload))

test('deliveries come out as they went in, in order', () => {
  const deliveries = Array.from({ length: 150 }, (_, i) =>
    deliveryOf(`o${i}`, `{"i":${i},"text":"ä\\u2028\\n"}`),
  )
  const replay: Delivery = { ...deliveryOf('__proto__', '{"__proto__":{"constructor":1}}'), replay: true }
  const trace = { traceparent: `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`, tracestate: 'a=b' }
  const traced: Delivery = { ...deliveryOf('traced', '{}'), trace }
  const truncated: Delivery = { ...deliveryOf('truncated', '{}'), truncated: true }
  const all = [...deliveries, replay, traced, truncated]
  expect(roundTrip(all)).toEqual(all)
})

test('an entry takes at most 60 deliveries, and tells how many and when the oldest was observed', () => {
  const at = (second: number) => `2026-01-01T00:00:${String(second).padStart(2, '0')}.000Z`
  const entries = encodeEntries(
    Array.from({ length: 61 }, (_, i) => deliveryOf('a', '{}', at(59 - (i % 60)))),
  )
  expect(entries.map(({ count }) => count)).toEqual([60, 1])
  expect(entries[0]?.observedAtMs).toBe(Date.parse(at(0)))
})

test('an entry takes at most 128 KiB of objects, but always one', () => {
  const large = `{"data":"${'x'.repeat(100_000)}"}`
  const huge = `{"data":"${'x'.repeat(2_000_000)}"}`
  const deliveries = [
    deliveryOf('a', large),
    deliveryOf('b', large),
    deliveryOf('c', huge),
    deliveryOf('d', '{}'),
  ]
  expect(encodeEntries(deliveries).map(({ count }) => count)).toEqual([1, 1, 1, 1])
  expect(roundTrip(deliveries)).toEqual(deliveries)
})

test('pretty-printed objects stay one line each, digit by digit', () => {
  const [delivery] = roundTrip([
    deliveryOf('a', '{\n  "n": 12345678901234567890.10,\r\n  "text": "x\\ny"\n}'),
  ])
  expect(delivery?.objectJson.toString()).toBe('{   "n": 12345678901234567890.10,\r   "text": "x\\ny" }')
})

test('an entry of another format is refused', () => {
  expect(() => decodeEntry(Buffer.of(9, 1, 2))).toThrow('unknown format 9')
})

test('a pod that the server sends as 5.7 KB waits in less than 900 bytes, also alone', () => {
  expect(JSON.stringify(benchPod(1)).length).toBeGreaterThan(5_500)
  const [lonely] = encodeEntries([benchDelivery(1)])
  expect(lonely?.payload.length).toBeLessThan(900)
  const batch = encodeEntries(Array.from({ length: 30 }, (_, i) => benchDelivery(i)))
  const bytes = batch.reduce((sum, { payload }) => sum + payload.length, 0)
  expect(bytes / 30).toBeLessThan(600)
})

test('the first dictionary never changes: what waits in Redis could not be read any more', () => {
  expect(createHash('sha256').update(DICTIONARY).digest('hex')).toBe(
    '7fad1bd9a1ead11f3de7861146effbf51e035ed64554f8bbed862f4b43280da0',
  )
})
