import { expect, test } from 'vitest'
import { splitPatterns } from '../../src/text/split-patterns.ts'

test.each([
  ['web', ['web']],
  ['web, pay-*', ['web', 'pay-*']],
  [String.raw`/^web-\d{1,3}$/`, [String.raw`/^web-\d{1,3}$/`]],
  ['!/^a{1,2}$/, web, /[b,c]/ ', ['!/^a{1,2}$/', 'web', '/[b,c]/']],
  [String.raw`/a\/{1,2}/,b`, [String.raw`/a\/{1,2}/`, 'b']],
  ['/etc,/var', ['/etc', '/var']],
])('%s is split at its commas outside of regular expressions', (text, patterns) => {
  expect(splitPatterns(text, ',')).toEqual(patterns)
  expect(splitPatterns(text.replaceAll(',', '|'), '|')).toEqual(patterns.map((it) => it.replaceAll(',', '|')))
})
