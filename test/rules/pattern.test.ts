import { expect, test } from 'vitest'
import { compilePattern, compilePatterns } from '../../src/rules/pattern.ts'

test.each([
  ['shop', 'shop', true],
  ['shop', 'shopping', false],
  ['pay-*', 'pay-eu', true],
  ['pay-*', 'repay-eu', false],
  ['*-eu', 'pay-eu', true],
  ['a*b*c', 'a--b--c', true],
  ['a*b*c', 'a--c--b', false],
  ['a*', 'a', true],
  ['ab*ba', 'aba', false],
  ['?', 'x', true],
  ['?', '', false],
  ['?', '🙂', true],
  ['a?c*', 'abcd', true],
  ['**', '', true],
  ['\\*', '*', true],
  ['\\*', 'x', false],
  ['\\!x', '!x', true],
  ['C:\\dir', 'C:\\dir', true],
  ['/^web-\\d+$/', 'web-12', true],
  ['/eb-/', 'web-12', true],
  ['/^WEB/', 'web-12', false],
  ['/(?i)^WEB/', 'web-12', true],
  ['!shop', 'shop', false],
  ['!shop', 'web', true],
  ['!/^kube-/', 'kube-system', false],
  ['/var/log', '/var/log', true],
])('%s against %j is %s', (pattern, value, expected) => {
  expect(compilePattern(pattern)(value)).toBe(expected)
})

test.each([
  [['shop', 'web'], 'web', true],
  [['shop', 'web'], 'pay', false],
  [['pay-*', '!pay-test'], 'pay-eu', true],
  [['pay-*', '!pay-test'], 'pay-test', false],
  [['!a', '!b'], 'c', true],
  [['!a', '!b'], 'b', false],
])('the list %j against %j is %s', (patterns, value, expected) => {
  expect(compilePattern(patterns)(value)).toBe(expected)
})

test.each([
  ['shop', false],
  ['*', false],
  ['!shop', true],
  ['!*', true],
])('%s against a value that is not there is %s', (patterns, expected) => {
  const compiled = compilePatterns(patterns)
  expect(compiled.ok && compiled.value(undefined)).toBe(expected)
})

test.each([
  ['!', 'nothing follows the "!"', undefined],
  ['//', 'is an empty expression', 0],
  ['/a/i', 'a regular expression must end with "/"', 0],
  ['/web-(a/', 'missing closing )', 5],
  ['!/[z-a]/', 'invalid character class range', 3],
  ['/a(?=b)/', 'has a look-ahead "(?=", which RE2 regular expressions do not have', 2],
  ['/a(?<!b)/', 'has a look-behind "(?<!", which', 2],
  ['/(a)\\1/', 'back-reference', 4],
  ['/x\\/', 'trailing backslash', 2],
])('%s is refused: %s', (pattern, message, offset) => {
  const compiled = compilePatterns(pattern)
  expect(compiled).toMatchObject({ ok: false, faults: [{ message: expect.stringContaining(message) }] })
  if (!compiled.ok) expect(compiled.faults[0]?.offset).toBe(offset)
})

test.each(['/^web-(?!test)/', '!/^web-(?!test)/'])(
  '%s, which has a look-ahead, is refused with a hint',
  (pattern) => {
    const hint = 'what it must not be is a pattern of its own: ["web-*", "!web-test*"]'
    expect(compilePatterns(pattern)).toMatchObject({ ok: false, faults: [{ hint }] })
  },
)

test('a list tells the faults of all its entries, each with its place', () => {
  const compiled = compilePatterns(['ok', '!', '/(/'])
  expect(compiled).toMatchObject({ ok: false, faults: [{ path: [1] }, { path: [2], offset: 1 }] })
})

test('a list that excludes all that it names is refused', () => {
  expect(compilePatterns(['shop', '!sh*'])).toMatchObject({ ok: false })
  expect(compilePatterns(['shop', 'web', '!sh*'])).toMatchObject({ ok: true })
})

test('hostile values cannot stall a glob or an expression', () => {
  const value = 'a'.repeat(50_000)
  expect(compilePattern('*a*a*a*a*b')(value.slice(0, 20_000))).toBe(false)
  expect(compilePattern('/^(a+)+$/')(`${value}!`)).toBe(false)
})

test('a value that would take a pattern too long is refused, and only that', () => {
  const large = 'ab'.repeat(500_000)
  expect(() => compilePattern('/a[ab]{500}c/')(large)).toThrow('1,000,000 characters is too long')
  expect(() => compilePattern('*a*?b*')(large)).toThrow('is too long to be compared with *a*?b*')
  expect(compilePattern('a*b')(large)).toBe(true)
  expect(compilePattern('/ab/')(large.slice(0, 60_000))).toBe(true)
})

test.each([
  ['x'.repeat(1_001), 'is longer than 1000 characters'],
  ['/(a{1,900}|b{1,900}|c{1,900})/', 'is too large an expression'],
  [`/${'(?:a?){999}'.repeat(80)}/`, 'is too large an expression'],
  [`/${'((a{31}){32})'.repeat(70)}/`, 'is too large an expression'],
])('a pattern of hostile size is refused', (pattern, message) => {
  expect(compilePatterns(pattern)).toMatchObject({
    ok: false,
    faults: [{ message: expect.stringContaining(message) }],
  })
})
