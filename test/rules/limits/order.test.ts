import { expect, test } from 'vitest'
import { inShort, openBed, type Written } from './bed.ts'

/** What is told, and what it is kept in order with: `a` stands for the first such text that came. */
function ordersOf(bed: ReturnType<typeof openBed>): string[] {
  const seen: string[] = []
  return bed.deliveries.map((delivery) => {
    const { order } = delivery
    if (order !== undefined && !seen.includes(order)) seen.push(order)
    const letter = order === undefined ? '-' : 'abcdef'[seen.indexOf(order)]
    return `${letter} ${inShort(delivery)}`
  })
}

test('digests of a group, what is told alone of it, and that it is over, are in order with each other, whatever objects they are of', () => {
  const bed = openBed({ resolve: true, group: { by: 'namespace', wait: '30s', interval: '1m' } })
  bed.run(
    { at: 0, name: 'one' },
    { at: 1, name: 'two' },
    { at: 2, name: 'far', namespace: 'pay' },
    { at: 50, name: 'three' },
    { at: 100, name: 'two', holds: false },
    { at: 101, name: 'one', type: 'DELETED', holds: false },
    { at: 102, name: 'three', holds: false },
  )
  bed.until(999)
  expect(ordersOf(bed)).toEqual([
    'a digest of 2',
    'b far',
    'a three',
    'a two ended',
    'a one deleted',
    'a three ended',
  ])
})

test('a group that is told at once when it is full is in order with what ends it, too', () => {
  const bed = openBed({ resolve: true, group: { by: 'namespace', wait: '30s', max: 2 } })
  bed.run({ at: 0, name: 'one' }, { at: 1, name: 'two' }, { at: 2, name: 'two', holds: false })
  expect(ordersOf(bed)).toEqual(['a digest of 2', 'a two ended'])
})

test.each<[string, Written['resolve'], string[]]>([
  ['what the group counts by', { after: '10m' }, ['a digest of 2', 'a two quiet']],
  ['something else', { after: '10m', per: 'rule' }, ['a digest of 2', '- two quiet']],
])('that nothing came any more, counted by %s', (_, resolve, expected) => {
  const bed = openBed({ ...(resolve && { resolve }), group: { by: 'reason' } })
  bed.run({ at: 0, name: 'one', reason: 'BackOff' }, { at: 1, name: 'two', reason: 'BackOff' })
  bed.until(9_999)
  expect(ordersOf(bed)).toEqual(expected)
})

test('one group that goes to several sinks, and to some of them alone, is one', () => {
  const bed = openBed({ group: { by: 'namespace' } })
  bed.run({ at: 0, name: 'one', sinks: ['s', 't'] }, { at: 1, name: 'two', sinks: ['s'] })
  bed.until(999)
  expect(ordersOf(bed)).toEqual(['a one', 'a t: one', 'a two'])
})

test('without a group all is in order with its object', () => {
  const bed = openBed({ for: '10s', resolve: true, throttle: { every: '1s' } })
  bed.run({ at: 0 }, { at: 60, holds: false })
  bed.until(999)
  expect(ordersOf(bed)).toEqual(['- web', '- web ended'])
})

test('of several states that have lasted at the same moment the first by its key is first, in whatever order they began', () => {
  for (const names of [
    ['b', 'a', 'c'],
    ['c', 'b', 'a'],
  ]) {
    const bed = openBed({ for: '1m', group: { by: 'namespace' } })
    bed.run(...names.map((name) => ({ at: 0, name })))
    bed.until(999)
    const [digest] = bed.deliveries
    expect(digest?.notice).toMatchObject({ items: [{ name: 'a' }, { name: 'b' }, { name: 'c' }] })
  }
})
