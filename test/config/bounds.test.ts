import { expect, test } from 'vitest'
import { messagesOf, withRules } from './load-text.ts'

const list = (count: number, of: (i: number) => string) =>
  `[${Array.from({ length: count }, (_, i) => of(i)).join(', ')}]`
const map = (count: number, of: (i: number) => string) =>
  `{ ${Array.from({ length: count }, (_, i) => of(i)).join(', ')} }`

test.each<[string, (count: number) => string, number, string]>([
  [
    'patterns',
    (n) => `when: { name: ${list(n, (i) => `n${i}`)} }`,
    1_000,
    '"name" has more than 1,000 patterns: split the rule',
  ],
  [
    'patterns of a label',
    (n) => `when: { labels: { a: ${list(n, (i) => `n${i}`)} } }`,
    1_000,
    'has more than 1,000 patterns: split the rule',
  ],
  [
    'keys of labels',
    (n) => `when: { labels: ${map(n, (i) => `l${i}: a`)} }`,
    100,
    'has more than 100 keys: split the rule',
  ],
  [
    'characters of a selector',
    (n) => `when: { labels: "a in (${'b,'.repeat((n - 9) / 2)}bb)" }`,
    10_000,
    'is longer than 10,000 characters',
  ],
  [
    'paths',
    (n) => `changed: ${list(n, (i) => `spec.p${i}`)}`,
    100,
    '"changed" has more than 100 paths: split the rule',
  ],
  [
    'states',
    (n) => `to-state: ${map(n, (i) => `spec.p${i}: a`)}`,
    100,
    '"to-state" has more than 100 paths: split the rule',
  ],
  [
    'windows',
    (n) => `mute: ${list(n, (i) => `{ from: "0${i % 5}:00", to: "07:00" }`)}`,
    100,
    '"mute" has more than 100 windows: split the rule',
  ],
  [
    'days',
    (n) => `mute: { days: ${list(n, () => 'mon')} }`,
    20,
    '"days" has more than 20 entries: a week has seven days',
  ],
  [
    'properties',
    (n) => `throttle: { every: 1m, per: ${list(n, (i) => `labels.l${i}`)} }`,
    20,
    '"per" has more than 20 properties: split the rule',
  ],
  [
    'labels',
    (n) => `labels: ${map(n, (i) => `l${i}: a`)}`,
    100,
    '"labels" has more than 100 labels: split the rule',
  ],
  [
    'fields',
    (n) => `message: { fields: ${map(n, (i) => `l${i}: a`)} }`,
    100,
    'has more than 100 fields: split the rule',
  ],
])('one rule holds so many %s, and no more', async (_, keys, most, message) => {
  const rule = (n: number) => withRules(`  - { name: r, to: screen, ${keys(n)} }\n`, '[Pod]')
  expect(
    (await messagesOf(rule(most))).filter((it) => it.includes('more than') || it.includes('longer than')),
  ).toEqual([])
  expect(await messagesOf(rule(most + 2))).toEqual([expect.stringMatching(/^4:\d+ /)])
  expect((await messagesOf(rule(most + 2)))[0]).toContain(message)
})
