import { expect, test } from 'vitest'
import { compileSelector } from '../../src/rules/selector.ts'

function matches(selector: string, labels: Record<string, string>): boolean {
  const compiled = compileSelector(selector)
  if (!compiled.ok) throw new Error(compiled.faults[0]?.message)
  return compiled.value(labels)
}

// The tables of apimachinery's labels/selector_test.go: TestSelectorMatches, TestSetMatches and others.
test.each([
  ['x=y', { x: 'y' }, true],
  ['x==y', { x: 'y' }, true],
  ['x=y', { x: 'z' }, false],
  ['x=y,z=w', { x: 'y', z: 'w' }, true],
  ['x=y,z=w', { x: 'y' }, false],
  ['x!=y,z!=w', { x: 'z', z: 'a' }, true],
  ['x!=y', {}, true],
  ['x=', { x: '' }, true],
  ['x=', { x: 'y' }, false],
  ['x=,z=w', { x: '', z: 'w' }, true],
  ['x!=', { x: 'y' }, true],
  ['x', { x: 'anything' }, true],
  ['x', { y: 'x' }, false],
  ['!x', {}, true],
  ['!x', { x: '1' }, false],
  ['x in (a)', { x: 'a' }, true],
  ['x in (a, b )', { x: 'b' }, true],
  ['x in(a,b)', { x: 'c' }, false],
  ['x in (,a)', { x: '' }, true],
  ['x in (a,)', { x: '' }, true],
  ['x notin (a,b)', {}, true],
  ['x notin (a,b)', { x: 'b' }, false],
  ['x notin ()x', { x: 'b' }, undefined],
  ['in in (in, notin)', { in: 'notin' }, true],
  ['notin', { notin: '' }, true],
  ['x>1', { x: '2' }, true],
  ['x>1', { x: '1' }, false],
  ['x<7', { x: '6' }, true],
  ['x>1', { x: 'many' }, false],
  ['x>1', {}, false],
  ['x > -1', { x: '0' }, true],
  ['x>9007199254740993', { x: '9007199254740994' }, true],
  ['app.kubernetes.io/name=web', { 'app.kubernetes.io/name': 'web' }, true],
  [' \t team in (shop, pay) ,\n tier != test ', { team: 'pay' }, true],
  ['constructor', {}, false],
  ['toString!=x', {}, true],
])('%j on %j is %s', (selector, labels, expected) => {
  if (expected === undefined) expect(compileSelector(selector).ok).toBe(false)
  else expect(matches(selector, labels as Record<string, string>)).toBe(expected)
})

test.each([
  ['team: shop', '"team: shop" is not a selector: that has "=" and not ":"', 0],
  ['a=(, team: shop', 'expected a value, found "("', 2],
  ['', 'expected a key, found the end', 0],
  ['x,', 'expected a key, found the end', 2],
  [',x', 'expected a key, found ","', 0],
  ['x=a,,y=b', 'expected a key, found ","', 4],
  ['x==a==b', '"==" is not expected here', 4],
  ['!x=a', '"=" is not expected here', 2],
  ['x a', 'expected =, !=, in or notin, found "a"', 2],
  ['x in', 'expected "(" and values, found the end', 4],
  ['x in a', 'expected "(" and values, found "a"', 5],
  ['x in (a', 'the ")" is missing', 7],
  ['x in ()', 'there is no value', 6],
  ['x in (a b)', 'expected "," or ")", found "b"', 8],
  ['x=a b=c', '"b" is not expected here', 4],
  ['x>a', 'expected a whole number, found "a"', 2],
  ['x>', 'expected a whole number, found the end', 2],
  ['x>99999999999999999999', 'expected a whole number', 2],
  ['x>=1', 'expected a whole number, found "="', 2],
  ['-x=a', 'a key is letters', 0],
  ['a/b/c', 'one "/" at most', 0],
  ['Example.com/x', 'DNS name', 0],
  ['/x', 'DNS name', 0],
  [`${'k'.repeat(64)}=a`, '63 characters', 0],
  ['x=a/b', "a label's value is letters", 2],
  [`x=${'v'.repeat(64)}`, '63 characters', 2],
  ['x in (a, -b)', "a label's value is letters", 9],
])('%j is refused: %s at %i', (selector, message, offset) => {
  const compiled = compileSelector(selector)
  expect(compiled).toMatchObject({
    ok: false,
    faults: [{ message: expect.stringContaining(message), offset }],
  })
})

test('where all of a selector is offered, all of it is told', () => {
  const message = '"a in (b), team:shop" is not a selector: that has "=" and not ":"'
  expect(compileSelector('a in (b), team:shop')).toEqual({
    ok: false,
    faults: [{ path: [], message, hint: 'write "a in (b), team=shop"' }],
  })
})

test('a selector of annotations takes values that no label can have', () => {
  expect(compileSelector('owner=a/b').ok).toBe(false)
  const compiled = compileSelector('owner=a/b', { anyValue: true })
  expect(compiled.ok && compiled.value({ owner: 'a/b' })).toBe(true)
})
