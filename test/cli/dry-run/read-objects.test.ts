import { expect, test } from 'vitest'
import { changesIn, readObjects } from '../../../src/cli/dry-run/read-objects.ts'

const BOMB = `a: &a [x,x,x]
b: &b [*a,*a,*a,*a,*a,*a]
c: &c [*b,*b,*b,*b,*b,*b]
d: [*c,*c,*c,*c,*c,*c,*c,*c]`

test.each([
  ['one JSON value', '{"kind":"Pod"}', 1],
  ['a line each', '{"kind":"Pod"}\n{"kind":"Node"}\n', 2],
  [
    'one behind the other, as kubectl -w prints',
    '{\n "kind": "Pod",\n "a": "}{\\""\n}\n{\n "kind": "Node"\n}\n',
    2,
  ],
  ['a last one that does not end', '{"kind":"Pod"}\n{"kind":"Pod"}\n{"kind":"No', 2],
  ['YAML documents', '---\nkind: Pod\n---\nkind: Node\n---\n', 2],
  ['YAML in braces', '{ kind: Pod }', 1],
])('reads %s', (_, text, count) => {
  const read = readObjects('x', text)
  expect(read.ok && read.values).toHaveLength(count)
})

test.each([
  ['', 'there is no object in it'],
  ['# nothing', 'there is no object in it'],
  [BOMB, 'its aliases stand for too many values'],
  ['a: ' + '['.repeat(20_000) + ']'.repeat(20_000), 'it nests too deep'],
])('tells in words what is wrong with %.20s', (text, message) => {
  const read = readObjects('x', text)
  expect(read.ok ? [] : read.problems.map((it) => it.message)).toContain(message)
})

test('what is no object is told from what is one', () => {
  expect(changesIn('text')).toBeUndefined()
  expect(changesIn({ items: [{ kind: 'Pod' }, 5] })).toBeUndefined()
  expect(changesIn({ specversion: '1.0', type: 'com.example.other', data: {} })).toBeUndefined()
  expect(changesIn({ kind: 'Pod' })).toEqual([{ object: { kind: 'Pod' } }])
  // A kind of its own may have items.
  expect(changesIn({ kind: 'Basket', items: [1] })).toEqual([{ object: { kind: 'Basket', items: [1] } }])
})
