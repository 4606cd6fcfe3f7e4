import { expect, test } from 'vitest'
import { printableJson } from '../../src/text/printable.ts'

const nested = (levels: number): unknown => JSON.parse('{"a":'.repeat(levels) + '1' + '}'.repeat(levels))

test('JSON is indented, and moves no cursor', () => {
  const value = { a: ['\u009b31m', '\u202e"{'] }
  const text = printableJson(value, 2)
  expect(text).toContain('\n  "a": [\n')
  expect(text).not.toMatch(/[\u0080-\u009f\u202e]/)
  expect(JSON.parse(text)).toEqual(value)
})

test('what nests deep is not indented: blanks would be most of it', () => {
  expect(printableJson(nested(50), 2)).toContain('\n')
  const deep = printableJson(nested(3_000), 2)
  expect(deep).toBe(JSON.stringify(nested(3_000)))
})
