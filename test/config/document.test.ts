// biome-ignore-all lint/suspicious/noTemplateCurlyInString: these are references of the configuration
import { expect, test } from 'vitest'
import { readDocument } from '../../src/config/document.ts'

function read(text: string) {
  const readFile = () => {
    throw new Error('no files here')
  }
  return readDocument('f.yaml', text, { env: { X: 'x' }, readFile })
}

test.each([
  ['a: {b: one}', ['a', 'b'], {}, [1, 8, 3]],
  ['a: {b: one}', ['a', 'b'], { atKey: true }, [1, 5, 1]],
  ['a:\n  - x\n  - "yz"', ['a', 1], {}, [3, 5, 4]],
  ['a: "one two"', ['a'], { offset: 4, length: 3 }, [1, 9, 3]],
  ["a: 'one two'", ['a'], { offset: 4, length: 3 }, [1, 9, 3]],
  ['a: one two', ['a'], { offset: 4, length: 3 }, [1, 8, 3]],
  ['a: "one\\ttwo"', ['a'], { offset: 4, length: 3 }, [1, 10, 3]],
  ['a: "one \\u00e9\\U0001f600 two"', ['a'], { offset: 8, length: 3 }, [1, 26, 3]],
  ['a: "one\\\n   two"', ['a'], { offset: 3, length: 3 }, [2, 4, 3]],
  ['a: "one\n   two"', ['a'], { offset: 4, length: 3 }, [2, 4, 3]],
  ["a: 'it''s two'", ['a'], { offset: 5, length: 3 }, [1, 11, 3]],
  ["a: 'one\n\n   two'", ['a'], { offset: 4, length: 3 }, [3, 4, 3]],
  ['a: one\n  two', ['a'], { offset: 4, length: 3 }, [2, 3, 3]],
  ['a: |\n  one\n  two\n', ['a'], { offset: 4, length: 3 }, [3, 3, 3]],
  ['a: |- # note\n  one\n\n    two\n', ['a'], { offset: 7, length: 3 }, [4, 5, 3]],
  ['a: |2\n    one\n  two\n', ['a'], { offset: 6, length: 3 }, [3, 3, 3]],
  ['a: |\r\n  one\r\n  two\r\n', ['a'], { offset: 4, length: 3 }, [3, 3, 3]],
  ['a: >\n  one\n  two\n', ['a'], { offset: 4, length: 3 }, [3, 3, 3]],
  ['a: >\n  one\n\n  two\n     in\n  three\n', ['a'], { offset: 14, length: 5 }, [6, 3, 5]],
  ['a: |\n  one {{\n    two\n', ['a'], { offset: 4, length: 9 }, [2, 7, 2]],
  ['a: "${env:X} two"', ['a'], { offset: 2, length: 3 }, [1, 4, 14]],
  ['a: |\n  text\n', ['a'], {}, [1, 4, 1]],
  ['a:\nb: 1', ['a'], {}, [1, 1, 1]],
  ['a: {b: 1}', ['a', 'missing', 'deep'], {}, [1, 1, 1]],
  ['x: &x {deep: [1]}\na: *x', ['a', 'deep', 0], {}, [1, 15, 1]],
  ['a: 1\r\nb: two\r\n', ['b'], {}, [2, 4, 3]],
])('%j: the place of %j', (text, path, placing, [line, column, length]) => {
  expect(read(text).problem('invalid-value', path, 'wrong', placing)).toMatchObject({ line, column, length })
})

test('keys are never filled in, values are', () => {
  expect(read('${env:X}: ${env:X}').value).toEqual({ '${env:X}': 'x' })
})

test('hostile keys are plain keys or refused', () => {
  expect(read('constructor: 1\ntoString: 2').value).toEqual({ constructor: 1, toString: 2 })
  expect(read('__proto__: { polluted: 1 }').problems).toMatchObject([
    { message: '"__proto__" cannot be a key' },
  ])
  expect(({} as { polluted?: number }).polluted).toBeUndefined()
})

test('merged keys are weaker than own ones, later maps than earlier ones', () => {
  const text = 'a: &a {x: 1, y: 1}\nb: &b {y: 2, z: 2}\nc: {<<: [*a, *b], z: 3}'
  expect(read(text).value).toMatchObject({ c: { x: 1, y: 1, z: 3 } })
})

test.each([
  ['a: [1\nb: 2', 'invalid-yaml 2:1'],
  ['a: 1\na: 2', 'duplicate-key 2:1'],
  ['a: *b', 'yaml-star 1:4'],
  ['a: &a [*a]', 'yaml-star 1:8'],
  ['? [x]\n: 1', 'invalid-key 1:3'],
  ['a: {{ b }}', 'yaml-braces 1:4'],
  ['a: !b', 'yaml-bang 1:4'],
  ['c: {<<: 1}', 'wrong-type 1:5'],
  ['a: { name: /web-[/ }\nb: { c: d }', 'invalid-yaml 1:12'],
  ['a: { name: /web-[0-9]+/, c: d }', 'invalid-yaml 1:12'],
  ['a: { name: /web-{2,3}/, c: d }', 'invalid-yaml 1:12'],
  ['a: [/web-[0-9]/]', 'invalid-yaml 1:5'],
  ['a: { b: c }}', 'invalid-yaml 1:12'],
  ['a: { b: [x, y }, c: z }', 'invalid-yaml 1:15'],
  ['a: { b: "x }\nc: d\ne: f\n', 'invalid-yaml 1:9'],
  ["a: 'it''s\nc: d\n", 'invalid-yaml 1:4'],
  ['a: "x\nb: "y"\n', 'invalid-yaml 1:4'],
])('%j is one problem, where it begins: %s', (text, expected) => {
  const found = read(text).problems.map(({ code, line, column }) => `${code} ${line}:${column}`)
  expect(found).toEqual([expected])
})
