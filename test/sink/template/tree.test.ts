import { expect, test } from 'vitest'
import { compileTree } from '../../../src/sink/index.ts'
import { subjectOf } from './subject.ts'

function json(data: unknown, object?: object): unknown {
  const compiled = compileTree(data)
  if (!compiled.ok) throw new Error(JSON.stringify(compiled.problems))
  const value = compiled.tree.render(subjectOf(object && { object }))
  expect(JSON.parse(JSON.stringify(value))).toEqual(value)
  return value
}

test('texts are filled in, everything else stays as it is', () => {
  expect(json({ who: '{{ kind }} {{ name }}', list: ['{{ cluster }}', 1, true, null], plain: 'x' })).toEqual({
    who: 'Pod web',
    list: ['prod', 1, true, null],
    plain: 'x',
  })
})

test('a text stays a text, and as_is keeps the type of a value', () => {
  const data = {
    n: '{{ object.spec.priority }}',
    typed: '{{ object.spec.priority | as_is }}',
    size: '{{ object.spec.containers | size | as_is }}',
    gone: '{{ object.nope | as_is }}',
    list: '{{ object.spec.containers | as_is }}',
  }
  expect(json(data)).toEqual({
    n: '0',
    typed: 0,
    size: 2,
    gone: null,
    list: [{ name: 'a', restarts: 2 }, { name: 'b' }],
  })
})

test('quotes, line breaks and odd keys in values and in the tree leave it valid JSON', () => {
  const object = { spec: { text: '"}, {"x": "\u0000\n\u2028' } }
  const data = JSON.parse(
    '{"__proto__":"{{ name }}","constructor":"{{ object.spec.text }}","{{ name }}":"literal"}',
  )
  const value = json(data, object) as object
  expect(Object.keys(value)).toEqual(['__proto__', 'constructor', '{{ name }}'])
  expect(Object.getPrototypeOf(value)).toBe(Object.prototype)
  expect(Object.entries(value)).toContainEqual(['__proto__', 'web'])
  expect(Object.entries(value)).toContainEqual(['constructor', '"}, {"x": "\u0000\n\u2028'])
})

test('a tree without templates is constant', () => {
  const constant = (data: unknown) => {
    const compiled = compileTree(data)
    return compiled.ok && compiled.tree.constant
  }
  expect(constant({ a: ['x', 1] })).toBe(true)
  expect(constant({ a: ['x', '{{ name }}'] })).toBe(false)
})
