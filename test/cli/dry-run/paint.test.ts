import { expect, test } from 'vitest'
import { wantsColour } from '../../../src/cli/output/colour.ts'

const terminal = { isTTY: true }
const pipe = {}

test.each([
  [terminal, {}, true],
  [terminal, { NO_COLOR: '1' }, false],
  [terminal, { TERM: 'dumb' }, false],
  [terminal, { FORCE_COLOR: '0' }, false],
  [pipe, {}, false],
  [pipe, { FORCE_COLOR: '1' }, true],
  [pipe, { FORCE_COLOR: '1', NO_COLOR: '1' }, false],
  [pipe, { FORCE_COLOR: '' }, false],
])('colours on %j with %j: %j', (output, env, colours) => {
  expect(wantsColour(output, env)).toBe(colours)
})
