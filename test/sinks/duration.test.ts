import { expect, test } from 'vitest'
import { writtenDuration } from '../../src/sink/duration.ts'
import { durationText } from '../../src/sink/index.ts'

const schema = durationText({
  least: '500ms',
  most: '2h',
  example: '30s',
  mostBecause: 'nobody waits longer',
})

test.each([
  ['500ms', 500],
  ['90s', 90_000],
  ['007m', 420_000],
  ['2h', 7_200_000],
])('%s is %i ms', (text, ms) => {
  expect(schema.parse(text)).toBe(ms)
})

test.each<[unknown, string]>([
  ['499ms', 'must be at least 500ms'],
  ['0s', 'must be at least 500ms'],
  ['3h', 'must be at most 2h: nobody waits longer'],
  ['1d', 'must be at most 2h: nobody waits longer'],
  ['soon', 'must be a duration from 500ms to 2h, such as 30s'],
  ['1h30m', 'must be a whole number and one of the units s, m, h and d: write 90m'],
  ['2 minutes', 'must be a whole number and one of the units s, m, h and d: write 2m'],
  ['10Min', 'must be a whole number and one of the units s, m, h and d: write 10m'],
  ['1.5h', 'must be a whole number and one of the units s, m, h and d: write 90m'],
  ['3 hours', 'must be a duration from 500ms to 2h, such as 30s'],
  ['2 constructor', 'must be a duration from 500ms to 2h, such as 30s'],
  ['2 moons', 'must be a duration from 500ms to 2h, such as 30s'],
  ['-1s', 'must be a duration from 500ms to 2h, such as 30s'],
  ['', 'must be a duration from 500ms to 2h, such as 30s'],
  [{ minutes: 2 }, 'must be a duration from 500ms to 2h, such as 30s: write 2m'],
  [{ hours: 1, minutes: 30 }, 'must be a duration from 500ms to 2h, such as 30s: write 90m'],
  [
    Object.assign(Object.create(null), { minutes: 2 }),
    'must be a duration from 500ms to 2h, such as 30s: write 2m',
  ],
  [{ minutes: 'two' }, 'must be a duration from 500ms to 2h, such as 30s'],
  [{ days: 2 }, 'must be a duration from 500ms to 2h, such as 30s'],
  [{}, 'must be a duration from 500ms to 2h, such as 30s'],
  [['5m'], 'must be a duration from 500ms to 2h, such as 30s'],
  [null, 'must be a duration from 500ms to 2h, such as 30s'],
  [1.5, 'must be a duration from 500ms to 2h, such as 30s'],
  [0, 'must be a duration from 500ms to 2h, such as 30s'],
  [2, 'needs a unit: 2s, 2m or 2h'],
  ['20', 'needs a unit: 20s or 20m'],
  [600, 'needs a unit: 600s or 600ms'],
])('%j is told what is wrong, once', (value, problem) => {
  expect(schema.safeParse(value).error?.issues.map(({ message }) => message)).toEqual([problem])
})

test.each([
  [0, '0ms'],
  [250, '250ms'],
  [90_000, '90s'],
  [600_000, '10m'],
  [5_400_000, '90m'],
  [86_400_000, '1d'],
])('%i ms are written as %s, which means the same', (ms, text) => {
  expect(writtenDuration(ms)).toBe(text)
  expect(durationText({ least: '0s', most: '7d' }).parse(text)).toBe(ms)
})
