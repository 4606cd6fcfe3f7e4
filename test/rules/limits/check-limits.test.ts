import { expect, test } from 'vitest'
import { checkLimits } from '../../src/limits/check-limits.ts'
import { loadText } from '../config/load-text.ts'

/** What is told of a rule with these keys, which begin in column 29 of line 4. */
async function told(keys: string, watch = '[Event, Pod]'): Promise<string[]> {
  const head = `watch: ${watch}\nsinks: { s: { type: stdout }, r: { type: stdout } }\nrules:\n  - { name: rest, to: r }\n`
  const loaded = await loadText(`${head}  - { name: named, to: s, ${keys} }\n`)
  return (loaded.ok ? loaded.warnings : loaded.problems).map(
    ({ severity, line, column, message, hint }) =>
      `${severity} ${line}:${column} ${message}${hint ? ` = ${hint}` : ''}`,
  )
}

const EVENTS = 'when: { kind: Event }'
const PODS = 'when: { kind: Pod }'
const NO_STATE = '"for" is how long an object stays in a state, and Events have none'
const NOT_OVER = '"resolve: true" does not work for Events: they have no state that can end'
const KINDS = 'name the kinds whose state it follows: when: { kind: … }'

test.each([
  [
    `${PODS}, count: [1]`,
    'error 5:48 "count" is how often an Event says it occurred, and this rule matches none = for how often a rule matches write in its place after: { count: 3, within: 10m } (choose number and time)',
  ],
  [
    `${PODS}, count: { every: 5 }`,
    'error 5:48 "count" is how often an Event says it occurred, and this rule matches none = for how often a rule matches write in its place after: { count: 5, within: 10m } (10m: choose the time)',
  ],
  [
    `${EVENTS}, for: 2m`,
    `error 5:50 ${NO_STATE} = for several Events in a time write in its place after: { count: 3, within: 2m } (3: choose the number)`,
  ],
  ['for: 2m', `error 5:27 ${NO_STATE} = ${KINDS}`],
  [
    `${EVENTS}, resolve: true`,
    `error 5:59 ${NOT_OVER} = write resolve: { after: 15m } to tell when none came for 15m (choose the time)`,
  ],
  ['resolve: true', `error 5:36 ${NOT_OVER} = ${KINDS}`],
  [
    `${PODS}, for: 2m, resolve: { after: 15m }`,
    'error 5:68 a rule with "for" knows when it is over = write resolve: true, which tells it as soon as it is over',
  ],
  [
    `${PODS}, resolve: { after: 15m }`,
    'warning 5:59 this rule matches objects, which have a state that can be over = write resolve: true, which tells it as soon as it is over',
  ],
  [
    `${EVENTS}, group: {}, resolve: { after: 5m }`,
    'error 5:72 "after" must be longer than what "group" waits, 5m: else it is over before it is told',
  ],
  [
    'group: { by: namespace }, throttle: { per: namespace, every: 10m, burst: 2 }',
    'warning 5:53 of what "group" collects "throttle" lets 2 events pass in 10m = leave "throttle" out: a group is told once in an interval, with all that came',
  ],
  ['mute: { days: mon-sun }', 'warning 5:27 this rule is muted always: it sends nothing'],
])('%s', async (keys, expected) => {
  expect(await told(keys)).toEqual([expected])
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
  ['group: { by: namespace }, throttle: { every: 10m }'],
  ['group: { by: namespace }, throttle: { per: namespace, every: 1m, burst: 10 }'],
  ['mute: { from: "22:00", to: "07:00" }'],
])('%s is fine', async (keys, watch?: string) => {
  expect(await told(keys, watch)).toEqual([])
})

test('a change alone is of one moment: it neither lasts nor is it over', () => {
  const others = { events: false, others: true }
  const changed = { name: 'r', changed: ['spec.replicas'] }
  expect(checkLimits({ ...changed, resolve: true }, others)).toMatchObject([
    { path: ['resolve'], message: 'a change is of one moment: only a state lasts, and is over' },
  ])
  expect(checkLimits({ ...changed, for: 1 }, others)).toMatchObject([{ path: ['for'], severity: 'error' }])
  expect(checkLimits({ ...changed, if: 'object.spec.replicas == 0', resolve: true }, others)).toEqual([])
  expect(checkLimits({ ...changed, throttle: { every: 1 } }, others)).toEqual([])
})

test('for stands in one place, and is looked for in both', () => {
  const events = { events: true, others: false }
  const condition = { for: 120_000 }
  expect(checkLimits({ condition }, events)).toMatchObject([{ path: ['condition', 'for'] }])
  expect(checkLimits({ condition, for: 300_000 }, undefined)).toMatchObject([
    { path: ['for'], message: '"for" is 5m here and 2m in "condition", and both mean the same' },
  ])
})
