import fc from 'fast-check'
import { expect, test } from 'vitest'
import { BrokenStream } from '../../src/watch/client/api-fault.ts'
import { type ListPart, type PageEnd, readPage } from '../../src/watch/list/list.ts'
import { configMap } from '../servers/scripted-api.ts'
import { SOURCE } from '../store/objects.ts'

/** Reads a list that comes in pieces of these sizes, again and again. */
async function read(text: string, sizes: readonly number[] = [text.length], maxObjectBytes = 1_000_000) {
  const body = Buffer.from(text)
  async function* pieces() {
    for (let at = 0, i = 0; at < body.length; i++) {
      const size = Math.max(1, sizes[i % sizes.length] ?? 1)
      yield body.subarray(at, at + size)
      at += size
    }
  }
  const pages = readPage(SOURCE, pieces(), { clock: Date, maxObjectBytes })
  const parts: ListPart[] = []
  let next: IteratorResult<ListPart, PageEnd>
  for (next = await pages.next(); !next.done; next = await pages.next()) parts.push(next.value)
  const changes = parts.flatMap((part) => part.changes)
  const unreadable = parts.reduce((sum, part) => sum + part.unreadable, 0)
  return { ...next.value, changes, unreadable, oversized: parts.flatMap((part) => part.oversized) }
}

const compact = (json: Buffer | string) => JSON.stringify(JSON.parse(json.toString()))

const LIST = { kind: 'List', metadata: { resourceVersion: '7', continue: 'c' } }

test('a list that was cut off anywhere is not a list, and does not stop the process', async () => {
  const items = [configMap('a', 1), configMap('b', 2, { labels: { 'x/y': 'ä"\\' } })]
  const text = JSON.stringify({ ...LIST, items })
  expect(await read(text)).toMatchObject({ resourceVersion: '7', token: 'c', changes: [{}, {}] })
  for (let length = 0; length < text.length; length++) {
    await expect(read(text.slice(0, length)), text.slice(0, length)).rejects.toThrow(BrokenStream)
  }
})

test('an empty list is one, whichever way it is written; an answer without items is none', async () => {
  expect((await read('{"metadata":{"resourceVersion":"7"},"items":null}')).changes).toEqual([])
  expect((await read(' {"items": [ ], "metadata": {"resourceVersion":"7"} }')).changes).toEqual([])
  for (const text of [
    '{"kind":"Status","metadata":{"resourceVersion":"7"}}',
    '{"metadata":{"resourceVersion":"7","items":[{}]}}',
    '{"items":[]}',
    '<html>',
    'null',
    `{"message":"${'x'.repeat(2_000_000)}`,
  ])
    await expect(read(text), text.slice(0, 60)).rejects.toThrow(BrokenStream)
})

test('a list in pieces of any sizes gives the same items, those that are too large without their content', async () => {
  const text = fc.oneof(
    fc.constantFrom('"items":[{', '\\', '"', '}]', '\\"', '{"a":[', 'ä\u2028\n'),
    fc.string({ unit: 'binary' }),
  )
  const data = fc.dictionary(text, fc.oneof(text, fc.array(text), fc.integer({ min: 0, max: 900 })))
  const shape = { data, spaced: fc.boolean(), last: fc.boolean() }
  const sizes = fc.array(fc.integer({ min: 1, max: 400 }), { minLength: 1, maxLength: 10 })
  await fc.assert(
    fc.asyncProperty(fc.array(fc.record(shape), { maxLength: 12 }), sizes, async (shapes, cuts) => {
      const items = shapes.map(({ data }, i) => {
        const padded = Object.entries(data).map(([key, it]) => [
          key,
          typeof it === 'number' ? 'x'.repeat(it) : it,
        ])
        return { ...configMap(`o${i}`, i), data: Object.fromEntries(padded) }
      })
      const isLast = shapes[0]?.last ?? false
      const list = isLast ? { items, ...LIST } : { ...LIST, items }
      const whole = JSON.stringify(list, undefined, shapes[0]?.spaced ? 1 : 0)
      const once = await read(whole, [whole.length * 4], 700)
      const page = await read(whole, cuts, 700)
      expect(page.changes.map(({ object }) => object.bytes.toString())).toEqual(
        once.changes.map(({ object }) => object.bytes.toString()),
      )
      expect(page).toMatchObject({ resourceVersion: '7', token: 'c', unreadable: 0 })
      expect(page.changes.map(({ object }) => object.name)).toEqual(items.map((it: any) => it.metadata.name))
      const isWhole = ({ object }: (typeof page.changes)[0]) => !object.bytes.includes('oversized-bytes')
      for (const [i, change] of page.changes.entries())
        if (isWhole(change)) expect(compact(change.object.bytes)).toBe(compact(JSON.stringify(items[i])))
      expect(page.oversized).toHaveLength(page.changes.filter((it) => !isWhole(it)).length)
      if (!shapes[0]?.spaced)
        expect(page.oversized).toHaveLength(
          items.filter((it) => Buffer.byteLength(JSON.stringify(it)) > 700).length,
        )
    }),
    { numRuns: 100 },
  )
})

test('items of any schema are read: keys with escapes before their metadata, also where they are too large', async () => {
  const identity = { apiVersion: 'example.com/v1', 'a<b"c\u0001': 1, kind: 'Widget' }
  const { metadata } = configMap('a', 5)
  const item = (rest: object) => JSON.stringify({ ...identity, metadata, ...rest }).replace('<', '\\u003c')
  const page = await read(`{"metadata":{"resourceVersion":"7"},"items":[${item({})}]}`)
  expect(page).toMatchObject({ unreadable: 0, changes: [{ object: { name: 'a', resourceVersion: '5' } }] })
  expect(page.changes[0]?.object.bytes.toString()).toBe(item({}))
  const large = item({ text: 'x'.repeat(1_000) })
  const reduced = await read(`{"metadata":{"resourceVersion":"7"},"items":[${large}]}`, [100], 700)
  expect(reduced).toMatchObject({ unreadable: 0, changes: [{ object: { name: 'a' } }] })
})

test.each([
  ['a name', '"metadata":{"uid":"u","name":"\\q","resourceVersion":"5"}'],
  ['a key', '"\\q":1,"metadata":{"uid":"u","name":"n","resourceVersion":"5"}'],
])('an item with a wrong escape in %s is passed over, and the others are read', async (_, members) => {
  const items = `{${members}},${JSON.stringify(configMap('b', 6))}`
  const page = await read(`{"metadata":{"resourceVersion":"7"},"items":[${items}]}`)
  expect(page).toMatchObject({ unreadable: 1, changes: [{ object: { name: 'b' } }] })
})
