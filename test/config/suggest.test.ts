import { expect, test } from 'vitest'
import { nearest } from '../../src/text/closest-match.ts'

test.each([
  ['oncal', ['oncall', 'audit'], 'oncall'],
  ['Deploymnet', ['Deployment', 'Pod'], 'Deployment'],
  ['namespace', ['namespaces', 'name'], 'namespaces'],
  ['wehn', ['when', 'to'], 'when'],
  ['WARNING', ['Warning', 'Normal'], 'Warning'],
  ['kafka', ['stdout', 'webhook'], undefined],
  ['x', ['to'], undefined],
])('the nearest to %s of %j is %s', (word, known, expected) => {
  expect(nearest(word, known)).toBe(expected)
})
