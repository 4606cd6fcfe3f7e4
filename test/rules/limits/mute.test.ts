import { expect, test } from 'vitest'
import { createMuted, mutesAlways } from '../../../src/rules/limits/mute.ts'
import { limitsIn, type Written } from './bed.ts'

const windows = (mute: Written['mute']) => limitsIn({ mute }).mute ?? []
const muted = (mute: Written['mute']) => createMuted(windows(mute))
const at = (mute: Written['mute'], time: string) => muted(mute).at(Date.parse(time))
const endOf = (mute: Written['mute'], time: string) => {
  const endsMs = muted(mute).endsAt(Date.parse(time))
  return endsMs === undefined ? undefined : new Date(endsMs).toISOString()
}

const NIGHT = { from: '22:00', to: '07:00', timezone: 'Europe/Berlin' }

test.each([
  ['2026-11-21T20:59:59Z', false],
  ['2026-11-21T21:00:00Z', true],
  ['2026-11-22T05:59:59Z', true],
  ['2026-11-22T06:00:00Z', false],
  // In summer the same clock is an hour earlier.
  ['2026-07-01T19:59:59Z', false],
  ['2026-07-01T20:00:00Z', true],
  ['2026-07-02T05:00:00Z', false],
])('a window over midnight follows the clock on the wall: %s', (time, expected) => {
  expect(at(NIGHT, time)).toBe(expected)
})

test('a night in which clocks change ends when they show its end', () => {
  // 29 March 2026: 02:00 becomes 03:00. 25 October 2026: 03:00 becomes 02:00.
  expect(endOf(NIGHT, '2026-03-28T22:00:00Z')).toBe('2026-03-29T05:00:00.000Z')
  expect(endOf(NIGHT, '2026-10-24T22:00:00Z')).toBe('2026-10-25T06:00:00.000Z')
})

test('an hour that there is twice is muted twice, one that there is not never', () => {
  const small = { from: '02:15', to: '02:45', timezone: 'Europe/Berlin' }
  expect(['2026-10-25T00:30:00Z', '2026-10-25T01:30:00Z'].map((it) => at(small, it))).toEqual([true, true])
  const minutes = Array.from({ length: 180 }, (_, n) => new Date(Date.UTC(2026, 2, 29, 0, n)).toISOString())
  expect(minutes.some((it) => at(small, it))).toBe(false)
})

test('a window belongs to the day on which it begins', () => {
  const friday = { from: '22:00', to: '07:00', days: ['fri'] }
  expect(at(friday, '2026-11-20T23:00:00Z')).toBe(true)
  expect(at(friday, '2026-11-21T06:59:00Z')).toBe(true)
  expect(at(friday, '2026-11-21T23:00:00Z')).toBe(false)
  expect(at(friday, '2026-11-20T06:00:00Z')).toBe(false)
})

test('days alone are whole days, and several windows are muted together', () => {
  const off = [{ days: 'sat-sun' }, { from: '18:00', to: '24:00' }]
  expect(endOf(off, '2026-11-20T19:00:00Z')).toBe('2026-11-23T00:00:00.000Z')
  expect(endOf(off, '2026-11-23T17:59:00Z')).toBe('2026-11-23T17:59:00.000Z')
})

test('what is muted always is known', () => {
  expect(endOf({ days: 'mon-sun' }, '2026-11-20T19:00:00Z')).toBeUndefined()
  expect(
    mutesAlways(
      windows([
        { from: '22:00', to: '07:00' },
        { from: '07:00', to: '22:00' },
      ]),
    ),
  ).toBe(true)
  expect(
    mutesAlways(
      windows([
        { from: '22:00', to: '07:00' },
        { from: '07:01', to: '22:00' },
      ]),
    ),
  ).toBe(false)
})
