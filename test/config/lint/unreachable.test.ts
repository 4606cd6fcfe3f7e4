import { expect, test } from 'vitest'
import { codesOf, loadText, messagesOf } from '../load-text.ts'

function withRules(...rules: string[]): string {
  const sinks = 'sinks: { a: { type: stdout }, b: { type: stdout } }'
  const last = '  - { name: last, to: [a, b] }'
  return `watch: [Event]\n${sinks}\nrules:\n${[...rules.map((rule) => `  - ${rule}`), last].join('\n')}\n`
}

test('a rule is told of that a drop above it leaves nothing', async () => {
  const text = withRules(
    '{ name: quiet, when: { kind: Event, type: Normal }, drop: true }',
    '{ name: normal, when: { kind: Event, type: Normal, regarding: { kind: Pod } }, to: [a] }',
    '{ name: silence, when: { type: Normal, reason: Pulled }, drop: true }',
    '{ name: warn, when: { kind: Event, type: Warning }, to: [a] }',
  )
  expect(await messagesOf(text)).toEqual([
    '5:5 no event comes here: "quiet" in line 4 drops all that this rule matches',
    '6:5 no event comes here: "quiet" in line 4 drops all that this rule matches',
  ])
  expect(await loadText(text)).toMatchObject({ ok: true, warnings: [{ severity: 'warning' }, {}] })
})

test('a rule is told of whose sinks have had all its events already', async () => {
  const text = withRules(
    '{ name: pods, when: { regarding: { kind: Pod } }, to: [a] }',
    '{ name: back-off, when: { reason: BackOff }, to: [b] }',
    '{ name: pod-back-off, when: { reason: BackOff, regarding: { kind: Pod } }, to: [b, a] }',
    '{ name: pod-pulled, when: { reason: Pulled, regarding: { kind: Pod } }, to: [a, b] }',
  )
  expect(await messagesOf(text)).toEqual([
    '6:5 this rule sends nothing: "back-off" in line 5 and "pods" in line 4 send the same to "b" and "a"',
    '7:81 this rule sends nothing to "a": "pods" in line 4 sends the same there',
  ])
})

test('a rule for a longer time of the same state is told of the sink that the shorter one has', async () => {
  const lasting = (name: string, more: string) =>
    `{ name: ${name}, when: { kind: Event }, condition: { type: Ready, becomes: "False", ${more} }`
  const text = withRules(
    `${lasting('short', 'for: 5m')}, to: [a] }`,
    `${lasting('long', 'for: 30m')}, to: [a, b] }`,
    `${lasting('other', 'from: "True", for: 30m')}, to: [a, b] }`,
  )
  expect(await codesOf(text)).toContain('shadowed-sink 5:102')
  expect((await codesOf(text)).filter((it) => it.startsWith('shadowed'))).toHaveLength(1)
})

test('nothing is claimed of rules that only overlap, or were not understood', async () => {
  const text = withRules(
    '{ name: warn, when: { type: Warning, name: "web-*" }, drop: true }',
    '{ name: overlap, when: { type: Warning, name: "*-1" }, to: [a] }',
    '{ name: unclear, when: { type: Warning, name: web-1, reason: 5 }, to: [a] }',
  )
  expect(await messagesOf(text)).toEqual(['6:66 "reason" must be text or a list, not a number'])
})

test('what drops everything is told once for each rule below', async () => {
  const text = withRules('{ name: wall, drop: true }')
  expect(await messagesOf(text)).toEqual(['5:5 no event comes here: the rule in line 4 drops everything'])
})

test('of a rule with an error only the error is reported', async () => {
  const above = '{ name: all, when: { kind: Event }, to: [a] }'
  const covered = (keys: string) => withRules(above, `{ name: r, when: { kind: Event }, ${keys}to: [a] }`)
  expect(await codesOf(covered(''))).toEqual(['shadowed-rule 5:5'])
  expect(await codesOf(covered('resolve: true, '))).toEqual(['conflicting-limits 5:48'])
  const others = withRules(
    above,
    '{ name: r, when: { kind: Event }, to: [a] }',
    '{ name: s, when: { type: Normal }, resolve: true, to: [b] }',
  )
  expect((await codesOf(others)).toSorted()).toEqual(['conflicting-limits 6:49', 'shadowed-rule 5:5'])
})
