import { expect, test } from 'vitest'
import { count, counted, duration, relative } from '../../src/text/quantities.ts'

test('times are short, in the past and in the future', () => {
  expect([500, 3_000, 90_000, 600_000, 7.2e6, 3 * 86_400_000].map((ms) => relative(0, ms))).toEqual([
    'now',
    '3 s ago',
    '90 s ago',
    '10 min ago',
    '2 h ago',
    '3 d ago',
  ])
  expect(relative(0, 170_000)).toBe('3 min ago')
  expect(relative(3_600_000, 0)).toBe('in 60 min')
  expect([0.4, 12, 1_234, 61_000].map(duration)).toEqual(['0 ms', '12 ms', '1.2 s', '61 s'])
})

test('numbers above 999 have separators', () => {
  expect([0, 999, 1_000, 65_536, 1_234_567].map(count)).toEqual(['0', '999', '1,000', '65,536', '1,234,567'])
  expect([counted(1, 'try', 'tries'), counted(1_000, 'try', 'tries')]).toEqual(['1 try', '1,000 tries'])
})
