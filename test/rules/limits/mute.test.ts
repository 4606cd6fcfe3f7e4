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

test('a one-off window from one date to another follows the local clock', () => {
  const holidays = { from: '2026-12-24 18:00', to: '2026-12-27 08:00', timezone: 'Europe/Berlin' }
  const times = ['2026-12-24T16:59Z', '2026-12-24T17:00Z', '2026-12-27T06:59Z', '2026-12-27T07:00Z']
  expect(times.map((it) => at(holidays, it))).toEqual([false, true, true, false])
  expect(at(holidays, '2027-12-25T12:00Z')).toBe(false)
  expect(endOf(holidays, '2026-12-24T20:00Z')).toBe('2026-12-27T07:00:00.000Z')
  const weeks = { from: '2026-03-01T00:00', to: '2026-06-01T00:00', timezone: 'Europe/Berlin' }
  expect(endOf(weeks, '2026-03-02T00:00Z')).toBe('2026-05-31T22:00:00.000Z')
})

test('a one-off window is one time, also if the clocks go back where it begins or ends', () => {
  const minutes = Array.from({ length: 180 }, (_, n) => new Date(Date.UTC(2026, 9, 25, 0, n)).toISOString())
  const mutedIn = (from: string, to: string) => {
    const { at: isMuted } = muted({ from, to, timezone: 'Europe/Berlin' })
    const some = minutes.filter((it) => isMuted(Date.parse(it)))
    return [some.length, some[0], some.at(-1)]
  }
  expect(mutedIn('2026-10-24 20:00', '2026-10-25 02:30')).toEqual([30, minutes[0], minutes[29]])
  expect(mutedIn('2026-10-25 02:30', '2026-10-25 12:00')).toEqual([150, minutes[30], minutes[179]])
  expect(mutedIn('2026-10-25 02:10', '2026-10-25 02:20')).toEqual([10, minutes[10], minutes[19]])
})

test('dates are of one year or of every year, and may be ranges, also over the new year', () => {
  const dates = ['2026-12-31', '05-01', '12-24..12-26', '12-30..01-01']
  const on = (mute: Written['mute'], days: readonly string[]) =>
    days.filter((day) => at(mute, `${day}T12:00Z`))
  const days = [
    '2026-05-01',
    '2027-05-01',
    '2026-05-02',
    '2026-12-24',
    '2026-12-27',
    '2027-01-01',
    '2027-01-02',
  ]
  expect(on({ dates }, days)).toEqual(['2026-05-01', '2027-05-01', '2026-12-24', '2027-01-01'])
  expect(on({ dates: '2026-12-31' }, ['2026-12-31', '2025-12-31'])).toEqual(['2026-12-31'])
  expect(endOf({ dates: '12-24..12-26' }, '2026-12-24T12:00Z')).toBe('2026-12-27T00:00:00.000Z')
})

test('times, days and dates of a window hold together, and a night belongs to the date on which it begins', () => {
  const night = { dates: '12-24', from: '22:00', to: '07:00' }
  expect(
    ['2026-12-24T06:00Z', '2026-12-24T23:00Z', '2026-12-25T06:59Z', '2026-12-25T23:00Z'].map((it) =>
      at(night, it),
    ),
  ).toEqual([false, true, true, false])
  // 24 December 2026 is a Thursday.
  expect(at({ dates: '12-24', days: 'fri' }, '2026-12-24T12:00Z')).toBe(false)
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
