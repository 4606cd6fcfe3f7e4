import { expect, test } from 'vitest'
import { codesOf, withRules } from '../load-text.ts'

const rule = (when: string, rest = 'logs: true') =>
  withRules(`  - { name: a, when: ${when}, to: screen, ${rest} }\n`)

test.each([
  '{ kind: Deployment }',
  '{ kind: Event, regarding: { kind: Deployment } }',
  '{ kind: Event, regarding: { kind: "!Pod" } }',
])('logs of a rule that matches no pods are a problem: %s', async (when) => {
  const column = rule(when).split('\n')[3]?.indexOf('logs') ?? 0
  const found = await codesOf(rule(when))
  expect(found.filter((it) => it.startsWith('logs'))).toEqual([`logs-without-pod 4:${column + 1}`])
})

test.each([
  '{ kind: Pod }',
  '{ kind: po }',
  '{ kind: Event, reason: BackOff }',
  '{ kind: Event, regarding: { kind: [Pod, Node] } }',
  '{ kind: [Deployment, Pod] }',
  '{ namespace: shop }',
])('logs of a rule that may match pods are none: %s', async (when) => {
  expect((await codesOf(rule(when))).filter((it) => it.startsWith('logs'))).toEqual([])
})

test('logs: false is none', async () => {
  expect(
    (await codesOf(rule('{ kind: Deployment }', 'logs: false'))).filter((it) => /logs/.test(it)),
  ).toEqual([])
})

test.each([
  ['{ lines: 201 }', 'invalid-value'],
  ['{ lines: 0 }', 'invalid-value'],
  ['{ maxBytes: 16385 }', 'invalid-value'],
  ['{ container: "../x" }', 'invalid-value'],
  ['{ line: 3 }', 'unknown-key'],
  ['yes please', 'wrong-type'],
])('logs: %s is reported at its place', async (logs, code) => {
  const text = `watch: [Pod]\nsinks: { screen: { type: stdout } }\nrules:\n  - name: a\n    to: screen\n    logs: ${logs}\n`
  const found = await codesOf(text)
  expect(found).toHaveLength(1)
  expect(found[0]).toMatch(new RegExp(`^${code} 6:\\d+$`))
})
