import { expect, test } from 'vitest'
import { messagesOf, problemsOf, withRules } from './load-text.ts'

test.each([
  ['plain', '  - name: r\n    to: screen\n    if: event.reson == "x"\n', '5:15'],
  ['in double quotes', '  - name: r\n    to: screen\n    if: "true && event.reson == \\"x\\""\n', '5:24'],
  ['in single quotes', '  - name: r\n    to: screen\n    if: \'true && event.reson == "x"\'\n', '5:24'],
  ['folded', '  - name: r\n    to: screen\n    if: >-\n      true &&\n      event.reson == "x"\n', '7:13'],
  ['literal', '  - name: r\n    to: screen\n    if: |\n      true\n        && event.reson == "x"\n', '7:18'],
  ['within braces', '  - { name: r, to: screen, if: \'event.reson == "x"\' }\n', '3:39'],
])('a fault of an expression is shown where it stands: %s', async (_what, rules, place) => {
  const [first] = await messagesOf(withRules(rules))
  expect(first).toContain('event has no field "reson"')
  const [line, column] = place.split(':').map(Number)
  expect(first?.split(' ')[0]).toBe(`${(line ?? 0) + 1}:${column}`)
})

test('all faults of a rule are told at once', async () => {
  const rules = [
    '  - name: r',
    '    to: screen',
    '    when: { kind: Pod }',
    '    if: object.spec.n = 1',
    '    changed: [spec.image, sepc.image]',
    '    to-state: { status..phase: Failed }',
    '    condition: { type: Ready, becomes: "/(/" }',
  ]
  expect(await problemsOf(withRules(`${rules.join('\n')}\n`, '[Pod]'))).toEqual([
    expect.stringMatching(/^error 7:23 .*"=="/),
    'error 8:27 "changed", entry 2 begins with "sepc" = did you mean "spec"?',
    expect.stringContaining('error 9:17 the path "status..phase" has two dots'),
    expect.stringContaining('error 10:42 "becomes" has an expression that RE2 cannot read'),
  ])
})

test('rules that ask more than "when" hide nothing', async () => {
  const rules = [
    '  - { name: a, if: object.spec.n == 1, drop: true }',
    '  - { name: b, changed: spec.n, to: screen }',
    '  - { name: c, to: screen }',
  ]
  expect(await problemsOf(withRules(`${rules.join('\n')}\n`, '[Pod]'))).toEqual([])
})
