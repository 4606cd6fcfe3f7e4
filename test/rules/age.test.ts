import { expect, test } from 'vitest'
import { compileAge } from '../../src/rules/change-values.ts'
import type { Patterns } from '../../src/rules/pattern.ts'

const MINUTE_MS = 60_000

test.each<[Patterns, number | undefined, boolean]>([
  ['<5m', 4, true],
  ['<5m', 5, false],
  ['<=5m', 5, true],
  ['>1h', 60, false],
  ['>=1h', 60, true],
  [' >= 1 h ', 60, true],
  ['<1d', 1_439, true],
  [['>=5m', '<1h'], 30, true],
  [['>=5m', '<1h'], 60, false],
  ['>=0s', undefined, false],
  ['<5m', undefined, false],
])('%j of %s minutes is %s', (wanted, minutes, expected) => {
  const compiled = compileAge(wanted)
  expect(compiled.ok && compiled.value(minutes === undefined ? undefined : minutes * MINUTE_MS)).toBe(
    expected,
  )
})

test.each([
  ['5m', 'has no < or >', 'write "<5m" (younger) or ">=5m" (older)', 0],
  ['young', '"young" is not an age', 'write "<5m" for younger', 0],
  ['', 'is not an age', 'write "<5m"', 0],
  ['<', 'has no number', 'write "<5m"', 1],
  ['<5', 'needs a unit', 'write "<5m"', 0],
  ['<5min', '"min" is not a unit of time', 'write "<5m"', 2],
  ['>2 hours', '"hours" is not a unit of time', 'write ">2h"', 3],
  ['=5m', 'is not an age', 'write "<5m"', 0],
  ['<5constructor', '"constructor" is not a unit of time', 'write', 2],
])('%j is refused: %s', (text, message, hint, offset) => {
  expect(compileAge(text)).toMatchObject({
    ok: false,
    faults: [
      { path: [], message: expect.stringContaining(message), hint: expect.stringContaining(hint), offset },
    ],
  })
  expect(compileAge(['>1m', text])).toMatchObject({ ok: false, faults: [{ path: [1] }] })
})

test.each([[['>1h', '<5m']], [['>=5m', '<5m']], ['<0s']])('%j, which nothing is, is refused', (wanted) => {
  expect(compileAge(wanted)).toMatchObject({
    ok: false,
    faults: [{ message: expect.stringContaining('matches nothing') }],
  })
})
