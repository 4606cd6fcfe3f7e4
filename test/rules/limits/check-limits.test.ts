import { expect, test } from 'vitest'
import { checkLimits } from '../../../src/rules/limits/check-limits.ts'
import { loadText } from '../../config/load-text.ts'

/** Returns the problems of a rule with these keys, which begin in column 27 of line 5. */
async function problems(keys: string, watch = '[Event, Pod]'): Promise<string[]> {
  const head = `watch: ${watch}\nsinks: { s: { type: stdout }, r: { type: stdout } }\nrules:\n  - { name: rest, to: r }\n`
  const loaded = await loadText(`${head}  - { name: named, to: s, ${keys} }\n`)
  return (loaded.ok ? loaded.warnings : loaded.problems).map(
    ({ severity, line, column, message }) => `${severity} ${line}:${column} ${message}`,
  )
}

const EVENTS = 'when: { kind: Event }'
const PODS = 'when: { kind: Pod }'
const GONE = 'when: { kind: Pod, type: DELETED }'

test.each([
  [`${PODS}, count: [1]`, 'error 5:48 "count" reads the count of an Event, and this rule matches no Events'],
  [`${EVENTS}, for: 2m`, 'error 5:50 "for" is how long an object stays in a state, and Events have none'],
  ['for: 2m', 'error 5:27 "for" is how long an object stays in a state, and Events have none'],
  [
    `${EVENTS}, resolve: true`,
    'error 5:59 "resolve: true" does not work for Events: they have no state that can end',
  ],
  ['resolve: true', 'error 5:36 "resolve: true" does not work for Events: they have no state that can end'],
  [
    `${GONE}, for: 2m`,
    'warning 5:63 this rule sends nothing: a deleted object has no state that lasts or ends',
  ],
  [
    `${GONE}, resolve: true`,
    'warning 5:63 this rule sends nothing: a deleted object has no state that lasts or ends',
  ],
  [`${PODS}, for: 2m, resolve: { after: 15m }`, 'error 5:68 a rule with "for" knows when the state ends'],
  [
    `${PODS}, resolve: { after: 15m }`,
    'warning 5:59 this rule matches objects, which have a state that can end',
  ],
  [
    `${EVENTS}, group: {}, resolve: { after: 5m }`,
    'error 5:72 "after" must be longer than "group" waits (5m): else the incident ends before its digest',
  ],
  [
    'group: { by: namespace }, throttle: { per: namespace, every: 10m, burst: 2 }',
    'warning 5:53 "throttle" suppresses events that "group" collects: 2 in 10m pass',
  ],
  [
    `${PODS}, for: 2m, debounce: { quiet: 30s }`,
    'error 5:57 "for" tracks the state of each object, so "debounce" has nothing to wait for',
  ],
  [
    `${PODS}, debounce: { quiet: 30s }, throttle: { every: 1m }`,
    'warning 5:74 "throttle" can suppress the newest event, which "debounce" waits for',
  ],
  [`${PODS}, debounce: { quiet: 30s, atMost: 10s }`, 'error 5:80 "atMost" is shorter than "quiet"'],
  ['mute: { days: mon-sun }', 'warning 5:27 this rule is always muted: it sends nothing'],
])('%s', async (keys, expected) => {
  expect(await problems(keys)).toEqual([expected])
})

test('a rule that drops has nothing to limit', async () => {
  const rule = 'watch: [Pod]\nsinks: { s: { type: stdout } }\nrules:\n  - { name: rest, to: s }\n'
  const loaded = await loadText(`${rule}  - { name: n, when: { kind: Pod }, drop: true, sample: 0.1 }\n`)
  expect(loaded.ok ? [] : loaded.problems).toMatchObject([
    { line: 5, column: 49, message: 'this rule drops what it matches: there is nothing to limit' },
  ])
})

test.each([
  [`${EVENTS}, count: [1, 10]`],
  ['count: [1, 10]'],
  [`${PODS}, for: 2m, resolve: true`],
  ['for: 2m', '[Pod]'],
  [`${EVENTS}, group: { by: namespace }, resolve: { after: 15m }`],
  [`${PODS}, debounce: { quiet: 30s }`],
  ['group: { by: namespace }, throttle: { every: 10m }'],
  ['group: { by: namespace }, throttle: { per: namespace, every: 1m, burst: 10 }'],
  ['mute: { from: "22:00", to: "07:00" }'],
])('%s is fine', async (keys, watch?: string) => {
  expect(await problems(keys, watch)).toEqual([])
})

test('a change alone has no duration: it neither lasts nor ends', () => {
  const others = { events: false, others: true }
  const changed = { name: 'r', changed: ['spec.replicas'] }
  expect(checkLimits({ ...changed, resolve: true }, others)).toMatchObject([
    { path: ['resolve'], message: 'a change has no duration: only a state lasts and ends' },
  ])
  expect(checkLimits({ ...changed, for: 1 }, others)).toMatchObject([{ path: ['for'], severity: 'error' }])
  expect(checkLimits({ ...changed, if: 'object.spec.replicas == 0', resolve: true }, others)).toEqual([])
  expect(checkLimits({ ...changed, throttle: { every: 1 } }, others)).toEqual([])
})

test('for is allowed in one place, and is checked in both', () => {
  const events = { events: true, others: false }
  const condition = { for: 120_000 }
  expect(checkLimits({ condition }, events)).toMatchObject([{ path: ['condition', 'for'] }])
  expect(checkLimits({ condition, for: 300_000 }, undefined)).toMatchObject([
    { path: ['for'], message: '"for" is 5m here and 2m in "condition", and both mean the same' },
  ])
})
