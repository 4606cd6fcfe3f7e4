import { expect, test } from 'vitest'
import { readLabels } from '../../src/watch/decode/scan.ts'

test('labels are those of the text, also such as objects have of their own', () => {
  const labels = readLabels('{"app":"shop","constructor":"x","n":1,"none":null}')
  expect({ ...labels }).toEqual({ app: 'shop', constructor: 'x' })
  expect('toString' in labels).toBe(false)
})

test('the same labels are read once, and nobody can change what others were given', () => {
  const labels = readLabels('{"app":"pay"}')
  expect(readLabels('{"app":"pay"}')).toBe(labels)
  expect(() => Object.assign(labels, { app: 'other' })).toThrow(TypeError)
  expect(readLabels('{"app":"pay "}')).not.toBe(labels)
})

test('what is remembered of labels has an end', () => {
  const first = readLabels('{"app":"first"}')
  const large = `{"app":"${'x'.repeat(2_000)}"}`
  expect(readLabels(large)).not.toBe(readLabels(large))
  for (let i = 0; i < 1_000; i++) readLabels(`{"app":"${i}"}`)
  expect(readLabels('{"app":"first"}')).not.toBe(first)
})
