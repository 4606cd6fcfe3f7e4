import { expect, test } from 'vitest'
import { loadText } from '../config/load-text.ts'
import { limitsIn } from './bed.ts'

/** What is told of a rule with these keys, which begin in column 29 of line 4. */
async function told(keys: string): Promise<string[]> {
  const head = 'watch: [Event, Pod]\nsinks: { s: { type: stdout } }\nrules:\n'
  const loaded = await loadText(`${head}  - { name: named, to: s, ${keys} }\n`)
  return (loaded.ok ? loaded.warnings : loaded.problems).map(
    ({ line, column, message, hint }) => `${line}:${column} ${message}${hint ? ` = ${hint}` : ''}`,
  )
}

test.each([
  ['throttle: { every: 10 }', ['4:46 "every" needs a unit: 10s, 10m or 10h']],
  [
    'throttle: { per: namespce, every: 10m }',
    ['4:44 "namespce" is nothing to count by = did you mean "namespace"?'],
  ],
  [
    'throttle: { per: [namespace, reson], every: 10m }',
    ['4:56 "reson" is nothing to count by = did you mean "reason"?'],
  ],
  [
    'throttle: { per: "namespace, reason", every: 10m }',
    ['4:44 "per" needs a list for more than one = write [namespace, reason]'],
  ],
  [
    'throttle: { per: [node, "ns, reason"], every: 10m }',
    ['4:51 "per", entry 2 is more than one entry = write namespace, reason, without quotes'],
  ],
  ['group: { by: label.team }', ['4:40 "label.team" is nothing to count by = write labels.team']],
  ['group: { by: "labels[team]" }', ['4:41 "labels[team]" is nothing to count by = write labels.team']],
  ['group: { by: labels. }', ['4:40 "by" needs the key of a label = such as labels.team']],
  ['group: { by: "labels.a b" }', ['4:48 "a b" is no key of a label']],
  [
    'group: { by: pod }',
    ['4:40 "pod" is nothing to count by = write regarding (the object the Event is about)'],
  ],
  ['group: { by: [kind, kind] }', ['4:47 "by", entry 2: "kind" stands here twice']],
  [
    'group: { by: xyzzy }',
    [
      '4:40 "xyzzy" is nothing to count by = there are rule, object, namespace, name, kind, reason, message, owner, regarding, node, regarding.owner, and labels.KEY, annotations.KEY, namespaceLabels.KEY, regarding.labels.KEY',
    ],
  ],
  ['group: { by: [] }', ['4:40 "by" is an empty list: to count all events together write rule']],
  ['group: { max: 1 }', ['4:41 "max" must be a whole number from 2 to 1,000']],
  ['after: { count: 1, within: 10m }', ['4:43 "count" must be a whole number from 2 to 1,000']],
  ['after: { count: 3 }', ['4:27 "within" is missing = in how long a time, such as within: 10m']],
  ['count: []', ['4:34 "count" is an empty list: write counts, such as [1, 10, 100]']],
  ['count: {}', ['4:34 "count" has no count in it = such as [1, 10, 100], or { at: [1], every: 10 }']],
  ['count: [0]', ['4:35 "count", entry 1 must be a whole number from 1']],
  ['sample: 10', ['4:35 "sample" must be a part from 0 to 1, such as 0.1 for one event in ten']],
  ['sample: 10%', ['4:35 "sample" must be a part from 0 to 1, such as 0.1 for one event in ten = write 0.1']],
  [
    'sample: 1/4',
    ['4:35 "sample" must be a part from 0 to 1, such as 0.1 for one event in ten = write 0.25'],
  ],
  ['sample: 200%', ['4:35 "sample" must be a part from 0 to 1, such as 0.1 for one event in ten']],
  ['sample: 1/0', ['4:35 "sample" must be a part from 0 to 1, such as 0.1 for one event in ten']],
  ['for: 2 min', ['4:32 "for" must be a whole number and one of the units s, m, h and d = write 2m']],
  ['resolve: { after: 15 }', ['4:45 "after" needs a unit: 15s, 15m or 15h']],
  [
    'mute: { from: "22:00" }',
    ['4:33 "mute" has "from", but no "to" = such as to: "07:00"; to: "24:00" is midnight'],
  ],
  ['mute: { from: 22, to: "07:00" }', ['4:41 "from" must be a time of day, such as "22:00" = write "22:00"']],
  ['mute: { from: "25:00", to: "07:00" }', ['4:41 "from" must be a time of day, such as "22:00"']],
  [
    'mute: { from: "07:00", to: "07:00" }',
    [
      '4:54 "to" is the same as "from": no time at all = write when it ends, such as "06:00"; for whole days write mute: { days: [sat, sun] }',
    ],
  ],
  [
    'mute: { from: "07:00", to: "07:00", days: mon }',
    [
      '4:54 "to" is the same as "from": no time at all = write when it ends, such as "06:00"; for whole days leave "from" and "to" out',
    ],
  ],
  ['mute: {}', ['4:33 "mute" has no time in it = write a time, such as { from: "22:00", to: "07:00" }']],
  ['mute: { days: [mo] }', ['4:42 "mo" is no day = did you mean "mon"?']],
  ['mute: { days: "sat, sun" }', ['4:41 "sat, sun" is no day = write a list: [sat, sun]']],
  ['mute: { days: satrday }', ['4:41 "satrday" is no day = did you mean "saturday"?']],
  [
    'mute: { days: sun, timezone: Europe/Berln }',
    ['4:56 "Europe/Berln" is no timezone = did you mean "Europe/Berlin"?'],
  ],
  [
    'mute: { days: sun, timezone: "+02:00" }',
    ['4:56 "+02:00" is no timezone = such as Europe/Berlin or UTC'],
  ],
])('%s', async (keys, expected) => {
  expect(await told(keys)).toEqual(expected)
})

test.each([
  'throttle: { per: [labels.app.kubernetes.io/name, namespaceLabels.team], every: 1h, burst: 3 }',
  'group: {}',
  'group: { by: [regarding.labels.app, regarding.owner], wait: 0s, interval: 1h, max: 50 }',
  'count: { at: [1, 2], every: 50 }',
  'mute: [{ days: sat-mon }, { from: "22:00", to: 7:00, days: [Mon, tue-Friday], timezone: america/new_york }]',
  'mute: { from: "18:00", to: "24:00" }',
  'resolve: { after: 15m, per: namespace }',
])('%s is fine', async (keys) => {
  expect(await told(keys)).toEqual([])
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
