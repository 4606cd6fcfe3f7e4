import { expect, test } from 'vitest'
import { limitTexts } from '../../../src/cli/dry-run/terminal-text.ts'

test('limits are told in the order in which they apply, times as times and counts as counts', () => {
  const rule = {
    throttle: { per: ['regarding', 'reason'], every: 600_000 },
    count: { at: [1, 3], every: 50 },
    for: 120_000,
  }
  expect(limitTexts(rule)).toEqual([
    { name: 'for', text: '2m' },
    { name: 'count', text: 'at 1+3, every 50' },
    { name: 'throttle', text: 'per regarding+reason, every 10m' },
  ])
})
