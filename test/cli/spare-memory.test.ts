import { expect, test } from 'vitest'
import { isWorthCollecting } from '../../src/cli/run/spare-memory.ts'

const MB = 1_048_576

test.each([
  ['after a burst, when it is quiet again', 200, 120, 0.02, true],
  ['after the start', 150, 0, 0.1, true],
  ['never while it is busy', 400, 120, 0.6, false],
  ['not for what is in use', 121, 120, 0, false],
  ['not for the garbage of everyday work', 140, 120, 0.01, false],
])('garbage is collected %s', (_when, rss, collected, busy, expected) => {
  expect(isWorthCollecting(rss * MB, collected * MB, busy)).toBe(expected)
})
