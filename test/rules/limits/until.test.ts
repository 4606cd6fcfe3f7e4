import { expect, test } from 'vitest'
import { createSilences } from '../../../src/rules/silences/silences.ts'
import { type Bed, type Happening, openBed, START_MS, type Written } from './bed.ts'

/** Limit, and until when it suppresses, in seconds after the start. */
function endsIn({ suppressed }: Bed): [string, number | undefined][] {
  return suppressed.map(({ limit, untilMs }) => [
    limit,
    untilMs === undefined ? undefined : (untilMs - START_MS) / 1_000,
  ])
}

test.each<[what: string, Written, Happening[], ReturnType<typeof endsIn>]>([
  [
    'throttle: until one of the burst is older than its time',
    { throttle: { every: '10m', burst: 2 } },
    [{ at: 0 }, { at: 100 }, { at: 200 }, { at: 650 }, { at: 660 }],
    [
      ['throttle', 600],
      ['throttle', 700],
    ],
  ],
  ['mute: until the window ends', { mute: { from: '09:30', to: '10:30' } }, [{ at: 60 }], [['mute', 1_800]]],
  ['mute without an end', { mute: { from: '00:00', to: '24:00' } }, [{ at: 60 }], [['mute', undefined]]],
  [
    'debounce: until the newest event, which replaced it, is sent',
    { debounce: { quiet: '10s', atMost: '25s' } },
    [{ at: 0 }, { at: 8 }, { at: 16 }],
    [
      ['debounce', 18],
      ['debounce', 25],
    ],
  ],
  [
    'for: until the state has lasted, while it lasts',
    { for: '1m' },
    [{ at: 0 }, { at: 20 }, { at: 30, holds: false }],
    [
      ['for', 60],
      ['for', undefined],
    ],
  ],
  [
    'an open incident has no known end, and a count is not a time',
    { resolve: true, throttle: { every: '1m' } },
    [{ at: 0 }, { at: 10 }],
    [['resolve', undefined]],
  ],
  ['after', { after: { count: 3, within: '1m' } }, [{ at: 0 }], [['after', undefined]]],
])('%s', (_, written, happenings, ends) => {
  const bed = openBed(written)
  bed.run(...happenings)
  expect(endsIn(bed)).toEqual(ends)
})

test('silence: until it ends', () => {
  const bed = openBed({ throttle: { every: '1m' } })
  const times = { fromMs: START_MS, untilMs: START_MS + 60_000, createdMs: START_MS }
  bed.memory.silences = createSilences([{ id: 'a', match: { rule: 'r' }, ...times, reason: '', by: 'alice' }])
  bed.run({ at: 1 })
  expect(endsIn(bed)).toEqual([['silence', 60]])
})
