import { expect, test } from 'vitest'
import { balances, openReloads, START_MS, type Written } from './bed.ts'

test.each<[string, Written]>([
  ['for', { for: '10m' }],
  ['for and group', { for: '10m', group: { wait: '0s' } }],
  ['debounce', { debounce: { quiet: '5m', atMost: '10m' } }],
])('an event that waits for %s goes to the sinks that its rule names when it is due', (_, written) => {
  const bed = openReloads({ r: { ...written, to: ['a'] } })
  bed.apply({ at: 0, sinks: ['a'] })
  bed.reload({ r: { ...written, to: ['b'] } })
  expect(bed.apply({ at: 300, sinks: ['b'], entered: false })).toEqual([])
  expect(bed.until(999)).toEqual([written.for === undefined ? '300 b: web' : '600 b: web'])
  expect(bed.memory.counts().get('r')).toSatisfy(balances)
})

test('the newest event of a state that lasts goes to the new sinks', () => {
  const bed = openReloads({ r: { for: '10m', to: ['a'] } })
  bed.apply({ at: 0, sinks: ['a'] })
  bed.reload({ r: { for: '10m', to: ['b'] } })
  bed.apply({ at: 60, sinks: ['b'], object: { newest: true } })
  const sent = bed.memory.advance(START_MS + 600_000).flatMap(({ outcome }) => outcome.deliveries)
  expect(sent.map((it) => [it.sink, it.objectJson.toString()])).toEqual([['b', '{"newest":true}']])
})

test('a sink that its rule no longer names gets nothing, the others do', () => {
  const bed = openReloads({ r: { for: '10m', to: ['a', 'b'] } })
  bed.apply({ at: 0, sinks: ['a', 'b'] })
  bed.reload({ r: { for: '10m', to: ['b', 'c'] } })
  expect(bed.until(999)).toEqual(['600 b: web'])
})

test('an event of which an earlier rule takes a sink does not replace the one that waits', () => {
  const bed = openReloads({ r: { for: '10m', to: ['a', 'b'] } })
  bed.apply({ at: 0, sinks: ['a', 'b'], object: { first: true } })
  bed.apply({ at: 60, sinks: ['b'] })
  const sent = bed.memory.advance(START_MS + 600_000).flatMap(({ outcome }) => outcome.deliveries)
  expect(sent.map((it) => [it.sink, it.objectJson.toString()])).toEqual([
    ['a', '{"first":true}'],
    ['b', '{"first":true}'],
  ])
})

test('an incident is resolved where it was sent, also if its rule names other sinks now', () => {
  const bed = openReloads({ r: { resolve: true, to: ['a'] } })
  expect(bed.apply({ at: 0, sinks: ['a'] })).toEqual(['a: web'])
  bed.reload({ r: { resolve: true, to: ['b'] } })
  expect(bed.apply({ at: 60, holds: false })).toEqual(['a: web ended'])
})
