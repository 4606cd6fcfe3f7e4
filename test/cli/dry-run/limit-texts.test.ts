import { expect, test } from 'vitest'
import { limitTexts } from '../../../src/app/dry-run/rule-texts.ts'
import { Mute } from '../../../src/rules/limits/mute-window.ts'

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

test.each([
  [{ from: '22:00', to: '7:05', timezone: 'Europe/Berlin' }, 'from 22:00, to 07:05, timezone Europe/Berlin'],
  [{ days: 'sat-sun' }, 'days sun+sat, timezone UTC'],
  [{ dates: ['05-01', '12-24..12-26'] }, 'dates 05-01+12-24..12-26, timezone UTC'],
  [
    [
      { from: '2026-12-12 20:00', to: '2026-12-13 02:00' },
      { from: '0:00', to: '24:00', days: 'mon' },
    ],
    'from 2026-12-12 20:00, to 2026-12-13 02:00, timezone UTC; days mon, timezone UTC',
  ],
])('the windows of mute are shown as the configuration writes them: %j', (mute, text) => {
  expect(limitTexts({ mute: Mute.parse(mute) })).toEqual([{ name: 'mute', text }])
})
