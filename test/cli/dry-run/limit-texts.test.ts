import { expect, test } from 'vitest'
import { limitWords } from '../../src/dry-run/limit-words.ts'

test('limits are told in the order in which they apply, times as times and counts as counts', () => {
  const rule = {
    throttle: { per: ['regarding', 'reason'], every: 600_000 },
    count: { at: [1, 3], every: 50 },
    for: 120_000,
  }
  expect(limitWords(rule)).toEqual([
    { name: 'for', words: '2m' },
    { name: 'count', words: 'at 1+3, every 50' },
    { name: 'throttle', words: 'per regarding+reason, every 10m' },
  ])
})
