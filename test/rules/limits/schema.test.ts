import { expect, test } from 'vitest'
import { loadText } from '../../config/load-text.ts'
import { limitsIn } from './bed.ts'

/** Returns the problems of a rule with these keys, which begin in column 27 of line 4. */
async function problems(keys: string): Promise<string[]> {
  const head = 'watch: [Event, Pod]\nsinks: { s: { type: stdout } }\nrules:\n'
  const loaded = await loadText(`${head}  - { name: named, to: s, ${keys} }\n`)
  return (loaded.ok ? loaded.warnings : loaded.problems).map(
    ({ line, column, message, hint }) => `${line}:${column} ${message}${hint ? ` = ${hint}` : ''}`,
  )
}

test.each([
  ['throttle: { every: 10 }', '4:46 "every" needs a unit: 10s, 10m or 10h'],
  [
    'throttle: { per: namespce, every: 10m }',
    '4:44 "namespce" is not a group key = did you mean "namespace"?',
  ],
  [
    'throttle: { per: regarding.name, every: 10m }',
    '4:44 "regarding.name" is not a group key = did you mean "regarding"?',
  ],
  ['throttle: { per: pod, every: 10m }', '4:44 "pod" is not a group key = did you mean "regarding"?'],
  [
    'throttle: { per: [namespace, reson], every: 10m }',
    '4:56 "reson" is not a group key = did you mean "reason"?',
  ],
  ['group: { by: "labels.a b" }', '4:48 "a b" is not a key of a label'],
  ['group: { by: [kind, kind] }', '4:47 "by", entry 2: "kind" is repeated'],
  ['group: { by: [] }', '4:40 "by" is an empty list: to count all events together write rule'],
  ['after: { count: 1, within: 10m }', '4:43 "count" must be a whole number from 2 to 1,000'],
  ['count: {}', '4:34 "count" has no count in it = such as [1, 10, 100], or { at: [1], every: 10 }'],
  ['count: [0]', '4:35 "count", entry 1 must be a whole number from 1'],
  ['sample: 10', '4:35 "sample" must be a share from 0 to 1, such as 0.1 for one event in ten'],
  ['for: 2 min', '4:32 "for" must be a whole number and one of the units s, m, h and d: write 2m'],
  [
    'mute: { from: 22, to: "07:00" }',
    '4:41 "from" must be a time of day in quotes, such as "22:00", or a date and a time, such as "2026-12-24 18:00"',
  ],
  [
    'mute: { dates: [12-24, 2026-02-30] }',
    '4:50 "2026-02-30" is not a date = such as 2026-12-24, 12-24 for every year, or 12-24..12-26',
  ],
  [
    'mute: { dates: 2026-12-24..2026-12-01 }',
    '4:42 "dates": "2026-12-24..2026-12-01" ends before it begins = such as 2026-12-24, 12-24 for every year, or 12-24..12-26',
  ],
  [
    'mute: { from: "07:00", to: "07:00" }',
    '4:54 "to" is the same as "from" = for whole days write days alone',
  ],
  ['mute: { days: satrday }', '4:41 "satrday" is not a day = did you mean "saturday"?'],
  [
    'mute: { days: sun, timezone: Europe/Berln }',
    '4:56 "Europe/Berln" is not a timezone = did you mean "Europe/Berlin"?',
  ],
])('%s', async (keys, expected) => {
  expect(await problems(keys)).toEqual([expected])
})

test.each([
  ['throttle: { per: "namespace, reason", every: 10m }', '4:45'],
  ['throttle: { per: [node, "ns, reason"], every: 10m }', '4:52'],
  ['group: { by: label.team }', '4:40'],
  ['group: { by: "labels[team]" }', '4:41'],
  ['group: { by: labels. }', '4:40'],
  ['group: { by: xyzzy }', '4:40'],
  ['group: { max: 1 }', '4:41'],
  ['after: { count: 3 }', '4:27'],
  ['count: []', '4:34'],
  ['sample: 10%', '4:35'],
  ['resolve: { after: 15 }', '4:45'],
  ['mute: { from: "22:00" }', '4:33'],
  ['mute: { from: "25:00", to: "07:00" }', '4:41'],
  ['mute: {}', '4:33'],
  ['mute: { from: 2026-12-24 18:00, to: "07:00" }', '4:63'],
  ['mute: { from: 2026-12-24 18:00, to: 2026-12-23 18:00 }', '4:63'],
  ['mute: { from: 2026-12-24, to: "07:00" }', '4:41'],
  ['mute: { from: 2026-12-24 18:00, to: 2026-12-27 18:00, days: mon }', '4:87'],
  ['mute: { days: "sat, sun" }', '4:41'],
  ['mute: { days: sun, timezone: "+02:00" }', '4:56'],
])('%s is found in its place', async (keys, place) => {
  expect((await problems(keys)).map((it) => it.split(' ')[0])).toEqual([place])
})

test.each([
  'throttle: { per: [labels.app.kubernetes.io/name, namespaceLabels.team], every: 1h, burst: 3 }',
  'group: {}',
  'group: { by: [regarding.labels.app, regarding.owner], wait: 0s, interval: 1h, max: 50 }',
  'count: { at: [1, 2], every: 50 }',
  'mute: [{ days: sat-mon }, { from: "22:00", to: 7:00, days: [Mon, tue-Friday], timezone: america/new_york }]',
  'mute: { from: "18:00", to: "24:00" }',
  'mute: [{ from: 2026-12-24 18:00, to: 2026-12-27T8:00 }, { dates: [12-24..01-06, 2026-05-01], days: mon-fri }]',
  'resolve: { after: 15m, per: namespace }',
])('%s is fine', async (keys) => {
  expect(await problems(keys)).toEqual([])
})

test('texts of the file become what limits work with', () => {
  expect(
    limitsIn({
      mute: { from: '22:00', to: '7:00', days: ['fri-sun', 'tue'], timezone: 'Europe/Berlin' },
      count: [1, 10],
      throttle: { per: 'namespace', every: '10m' },
      resolve: { after: '15m' },
    }),
  ).toEqual({
    mute: [{ from: 1320, to: 420, days: [0, 2, 5, 6], timezone: 'Europe/Berlin' }],
    count: { at: [1, 10] },
    throttle: { per: ['namespace'], every: 600_000 },
    resolve: { after: 900_000 },
  })
})
