import { expect, test } from 'vitest'
import { firstOf } from '../crash/limits.ts'
import { type Gap, verdictOf } from '../crash/verdict.ts'
import { type Arrival, arrivalOf, differences, exactly } from './compare.ts'
import type { HistoryEntry } from './etcd-history.ts'

/** What the crash test excuses, and what it never does; histories and arrivals as `TYPE name@version`. */

const GAP: Gap[] = [{ after: 10n, until: 20n }]

function entry(text: string): HistoryEntry {
  const [type = '', name = '', resourceVersion = ''] = text.split(/[ @]/)
  return { key: `configmaps/default/${name}`, type: type as HistoryEntry['type'], resourceVersion }
}

/** `~` in front: synthesized. */
function arrival(text: string): Arrival {
  const { key, type, resourceVersion } = entry(text.replace('~', ''))
  const name = key.slice(key.lastIndexOf('/') + 1)
  return arrivalOf(
    JSON.stringify({
      id: text,
      subject: `/api/v1/namespaces/default/configmaps/${name}`,
      uid: name,
      resourceversion: resourceVersion,
      data: { type },
      synthesized: text.startsWith('~'),
    }),
  )
}

const judged = (history: string, arrivals: string, gaps: Gap[] = GAP) => {
  const split = (text: string) => text.split(', ').filter(Boolean)
  const { summary, ...verdict } = verdictOf(split(history).map(entry), split(arrivals).map(arrival), gaps)
  expect(summary).toContain(`lost ${verdict.lost.length}`)
  return Object.fromEntries(
    Object.entries(verdict).map(([name, them]) => [
      name,
      them.map((it) => it.replace('configmaps/default/', '')),
    ]),
  )
}
const good = { lost: [], unexpected: [], outOfOrder: [] }
const A = 'ADDED a@5, MODIFIED a@12, MODIFIED a@15, DELETED a@18'

test.each([
  ['everything as it happened', A, A],
  ['a repeat', 'ADDED a@5, MODIFIED a@12', 'ADDED a@5, MODIFIED a@12, ADDED a@5'],
  ['changes of a gap told as one', 'ADDED a@5, MODIFIED a@12, MODIFIED a@15', 'ADDED a@5, ~MODIFIED a@15'],
  ['an object that was deleted in a gap', A, 'ADDED a@5, ~DELETED a@5'],
  ['an object that came and went in a gap', 'ADDED a@12, DELETED a@18, ADDED b@19', 'ADDED b@19'],
  ['an object that came in a gap', 'ADDED a@12, MODIFIED a@15, MODIFIED a@25', '~ADDED a@15, MODIFIED a@25'],
  [
    'an object that was created again, after the one of its name before',
    'ADDED a@5, DELETED a@12, ADDED a@15',
    'ADDED a@5, ~DELETED a@5, ~ADDED a@15',
  ],
  [
    'a repeat of a deletion after the name was used again',
    'ADDED a@5, DELETED a@12, ADDED a@15',
    'ADDED a@5, DELETED a@12, ADDED a@15, DELETED a@12',
  ],
  ['a change told by a list that skipped nothing', 'ADDED a@5, MODIFIED a@30', 'ADDED a@5, ~MODIFIED a@30'],
])('the crash test’s verdict accepts %s', (_, history, arrivals) => {
  expect(judged(history, arrivals)).toEqual(good)
})

test.each([
  [
    'a change outside of the gap, though the key has a synthesized arrival',
    'ADDED a@5, MODIFIED a@12, MODIFIED a@15, MODIFIED a@25, MODIFIED a@30',
    'ADDED a@5, ~MODIFIED a@15, MODIFIED a@30',
    { lost: ['MODIFIED a@25'] },
  ],
  [
    'a change before the gap that a list in the gap would cover',
    'ADDED a@5, MODIFIED a@8, MODIFIED a@15',
    'ADDED a@5, ~MODIFIED a@15',
    { lost: ['MODIFIED a@8'] },
  ],
  ['the last state', 'ADDED a@5, MODIFIED a@12', 'ADDED a@5', { lost: ['MODIFIED a@12'] }],
  [
    'the last state after a synthesized one',
    'ADDED a@5, MODIFIED a@12, MODIFIED a@15',
    'ADDED a@5, ~MODIFIED a@12',
    { lost: ['MODIFIED a@15'] },
  ],
  [
    'the deletion of an object that was told',
    A,
    'ADDED a@5, MODIFIED a@12, MODIFIED a@15',
    { lost: ['DELETED a@18'] },
  ],
  ['an object that came in the gap and stayed', 'ADDED a@12', '', { lost: ['ADDED a@12'] }],
  [
    'an object that came before the gap and went in it, unseen',
    'ADDED a@5, DELETED a@18',
    '',
    { lost: ['ADDED a@5', 'DELETED a@18'] },
  ],
  [
    'a real change that jumps over others, though in a gap',
    'ADDED a@5, MODIFIED a@12, MODIFIED a@15',
    'ADDED a@5, MODIFIED a@15',
    { lost: ['MODIFIED a@12'] },
  ],
  [
    'a deletion in a gap that nobody tells of after the name was used again',
    'ADDED a@5, DELETED a@12, ADDED a@15',
    'ADDED a@5, ~ADDED a@15',
    { lost: ['DELETED a@12'] },
  ],
])('the crash test’s verdict calls lost: %s', (_, history, arrivals, found) => {
  expect(judged(history, arrivals)).toEqual({ ...good, ...found })
})

test.each([
  ['a forged deletion', 'ADDED a@5', 'ADDED a@5, ~DELETED a@5', { unexpected: ['DELETED a@5'] }],
  ['a version that never was', 'ADDED a@5', 'ADDED a@5, ~MODIFIED a@15', { unexpected: ['MODIFIED a@15'] }],
  ['an object that never was', '', '~ADDED a@15', { unexpected: ['ADDED a@15'] }],
  [
    'a version older than the last, though in a gap',
    'ADDED a@5, MODIFIED a@12, MODIFIED a@15',
    'ADDED a@5, ~MODIFIED a@15, MODIFIED a@12',
    { outOfOrder: ['MODIFIED a@12'] },
  ],
  [
    'life after death',
    'ADDED a@5, MODIFIED a@12, DELETED a@15',
    'ADDED a@5, ~DELETED a@5, MODIFIED a@12',
    { outOfOrder: ['MODIFIED a@12'] },
  ],
  [
    'a deletion that comes after the object that has its name now',
    'ADDED a@5, DELETED a@12, ADDED a@15',
    'ADDED a@5, ADDED a@15, DELETED a@12',
    { outOfOrder: ['DELETED a@12'] },
  ],
  [
    'a deletion found by a list that comes after the object that has its name now, though in a gap',
    'ADDED a@5, DELETED a@12, ADDED a@15',
    '~ADDED a@15, ADDED a@5, ~DELETED a@5',
    { outOfOrder: ['ADDED a@5', 'DELETED a@5'] },
  ],
  [
    'an object added twice',
    'ADDED a@5, MODIFIED a@12',
    'ADDED a@5, ~ADDED a@12',
    {
      unexpected: ['ADDED a@12'],
      lost: ['MODIFIED a@12'],
    },
  ],
])('the crash test’s verdict does not excuse %s', (_, history, arrivals, found) => {
  expect(judged(history, arrivals)).toEqual({ ...good, ...found })
})

test('the crash test’s verdict excuses nothing without a gap, and takes gaps that overlap as one', () => {
  const history = 'ADDED a@5, MODIFIED a@12, MODIFIED a@22, MODIFIED a@28'
  const arrivals = 'ADDED a@5, ~MODIFIED a@28'
  const lost = ['MODIFIED a@12', 'MODIFIED a@22']
  expect(judged(history, arrivals, [])).toEqual({ ...good, lost })
  expect(judged(history, arrivals, GAP)).toEqual({ ...good, lost })
  expect(judged(history, arrivals, [...GAP, { after: 18n, until: 30n }])).toEqual(good)
})

test('the comparison with etcd’s history finds a deletion that comes after the object that has its name now', () => {
  const history = ['ADDED a@5', 'DELETED a@12', 'ADDED a@15']
  const compared = (...arrivals: string[]) =>
    differences(
      history.map(entry),
      arrivals.map((text, i) => ({ ...arrival(text), uid: String(i) })),
    )
  expect(compared(...history)).toEqual(exactly())
  const outOfOrder = ['DELETED configmaps/default/a@12']
  expect(compared('ADDED a@5', 'ADDED a@15', 'DELETED a@12')).toEqual({ ...exactly(), outOfOrder })
})

test('the crash test orders deliveries by their first arrival, whatever is repeated later', () => {
  const arrivals = ['a', 'b', 'a', 'c', 'b'].map((id, place) => ({ id, place }))
  expect(firstOf(arrivals)).toEqual([
    { id: 'a', place: 0 },
    { id: 'b', place: 1 },
    { id: 'c', place: 3 },
  ])
})
