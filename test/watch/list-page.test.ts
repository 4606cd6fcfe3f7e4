import { expect, test } from 'vitest'
import { BrokenStream } from '../../src/watch/api-fault.ts'
import { readPage } from '../../src/watch/list-page.ts'
import { SOURCE } from '../queue/objects.ts'
import { configMap } from '../servers/scripted-api.ts'

const options = { clock: Date, onUnreadable() {} }
const read = (text: string) => readPage(SOURCE, Buffer.from(text), options)

test('a list that was cut off anywhere is no list, and does not stop the process', () => {
  const items = [configMap('a', 1), configMap('b', 2, { labels: { 'x/y': 'ä"\\' } })]
  const text = JSON.stringify({ kind: 'List', metadata: { resourceVersion: '7', continue: 'c' }, items })
  expect(read(text)).toMatchObject({ resourceVersion: '7', token: 'c', changes: [{}, {}] })
  for (let length = 0; length < text.length; length++) {
    expect(() => read(text.slice(0, length)), text.slice(0, length)).toThrow(BrokenStream)
  }
})

test('an empty list is one, whichever way it is written; an answer without items is none', () => {
  expect(read('{"metadata":{"resourceVersion":"7"},"items":null}').changes).toEqual([])
  expect(read(' {"items": [ ], "metadata": {"resourceVersion":"7"} }').changes).toEqual([])
  expect(() => read('{"kind":"Status","metadata":{"resourceVersion":"7"}}')).toThrow(BrokenStream)
  expect(() => read('<html>')).toThrow(BrokenStream)
})
