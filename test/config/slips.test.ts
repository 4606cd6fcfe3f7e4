import { expect, test } from 'vitest'
import { told, withRules } from './load-text.ts'

const ruleOf = (line: string) =>
  withRules(`  - name: a\n    when: { kind: Event }\n    ${line}\n    to: screen\n`, '[Event]')
const MAP = 'the ": " in this text begins a map'
const BRACES = 'a map in the line of its key needs braces'
const COMMENT = 'YAML ends this text at " #", where a comment begins'
const QUOTE = 'YAML ends the text at its second quote'
const inBrackets = (mark: string, what: string) =>
  `inside { } and [ ], the "${mark}" in this text begins a ${what}`

test.each([
  ['if: event.message.contains("error: x")', 9, MAP, `if: 'event.message.contains("error: x")'`],
  [`if: event.message.contains("it's: x")`, 9, MAP, `if: 'event.message.contains("it''s: x")'`],
  ['if: "event.reason" == "Failed"', 9, QUOTE, 'if: event.reason == "Failed"'],
  [`if: 'event.reason' == 'Failed'`, 9, QUOTE, `if: event.reason == 'Failed'`],
  ['if: "Failed" == event.reason', 9, QUOTE, `if: '"Failed" == event.reason'`],
  ['if: "event.reason == "Failed""', 9, QUOTE, 'if: event.reason == "Failed"'],
  ['if: "event.message.contains("a: b")"', 9, QUOTE, `if: 'event.message.contains("a: b")'`],
  ['if: "event.message" == "a #1" # why', 9, QUOTE, `if: 'event.message == "a #1"'`],
  ['if: event.message.contains("issue #12")', 9, COMMENT, `if: 'event.message.contains("issue #12")'`],
  [
    'if: event.message.contains("two  blanks #12")',
    9,
    COMMENT,
    `if: 'event.message.contains("two  blanks #12")'`,
  ],
  ['if: | event.count > 3', 9, '"|" begins a text of several lines here', 'if: event.count > 3'],
  ['throttle: every: 10m', 15, BRACES, 'throttle: { every: 10m }'],
  ['mute: from: "22:00", to: "07:00"', 11, BRACES, 'mute: { from: "22:00", to: "07:00" }'],
  ['labels: team: shop, x: "a, b"', 13, BRACES, 'labels: { team: shop, x: "a, b" }'],
])('%s is told what to write, and that is right', async (line, column, message, mended) => {
  expect(await told(ruleOf(line))).toEqual([`error 6:${column} ${message} = write ${mended}`])
  expect(await told(ruleOf(mended))).toEqual([])
})

test.each([
  ['when: { kind: Event, age: >5m }', 31, 'text that begins with ">" needs quotes', 'age: ">5m"'],
  ['when: { namespaceLabels: env: prod }', 30, BRACES, 'namespaceLabels: { env: prod }'],
  ['when: { regarding: labels: app: web }', 24, BRACES, 'regarding: { labels: { app: web } }'],
  ['when: { message: /issue #12/ }', 22, COMMENT, '"/issue #12/"'],
  ['when: { if: event.x.contains("a #12") }', 17, COMMENT, `'event.x.contains("a #12")'`],
  ['when: { name: /web-[0-9]{1,2}/ }', 19, inBrackets('[', 'list'), '"/web-[0-9]{1,2}/"'],
  [
    'when: { kind: Event, name: * }',
    32,
    'text that begins with "*" needs quotes',
    'name: "*", or leave it out: "*" asks nothing',
  ],
  ['changed: [metadata.labels["a/b"]]', 15, inBrackets('[', 'list'), `'metadata.labels["a/b"]'`],
  ['to-state: { spec.x[name=a].b: c }', 17, inBrackets('[', 'list'), '"spec.x[name=a].b"'],
])('inside brackets, %s is told what to write', async (line, column, message, mended) => {
  const rule = `  - name: a\n    ${line}\n    to: screen\n`
  expect(await told(withRules(rule))).toEqual([`error 5:${column} ${message} = write ${mended}`])
})

test.each([
  [
    '- name: a\n     when: { kind: Pod }\n     to: screen',
    '5:6 "when"',
    '"name"',
    '"when" and "to" in column 5',
  ],
  ['- name: a\n   when: { kind: Pod }\n   to: screen', '5:4 "when"', '"name"', '"when" and "to" in column 5'],
  ['- name: a\n  when: { kind: Pod }\n  to: screen', '5:3 "when"', '"name"', '"when" and "to" in column 5'],
  ['- name: a\n    when: { kind: Pod }\n     to: screen', '6:6 "to"', '"when"', 'it in column 5'],
  [
    '- name: a\n    when:\n      kind: Pod\n     name: b\n    to: screen',
    '7:6 "name"',
    '"kind"',
    'it in column 7',
  ],
  ['- name: a\n    to: screen\n redis: {}', '6:2 "redis"', '"rules"', 'it in column 1'],
])('keys that are not in line: %j', async (rule, key, neighbour, hint) => {
  expect(await told(withRules(`  ${rule}\n`))).toEqual([
    `error ${key} is not in line with ${neighbour} above = begin ${hint}`,
  ])
})

test('keys that are not in line hide no other error', async () => {
  const rules = '  - name: a\n   when: { kind: Pod }\n   if: "x\n'
  expect(await told(withRules(rules))).toContain('error 6:8 this quote is never closed = end the text with "')
})

test('a comment behind a text that is never closed is a comment', async () => {
  expect(await told(ruleOf('if: event.reason == "Failed # why'))).toEqual([
    'error 6:25 "if" has a text without its closing quote = close it: "Failed"',
  ])
})

test('what goes on in the next line is told how to stand there', async () => {
  expect(await told(ruleOf('if: event.message.contains("a: b")\n      && event.count > 3'))).toEqual([
    'error 6:9 ": " begins a map here = write "if: |", and all of the expression in the lines below, indented',
  ])
  expect(await told(ruleOf('to: screen:\n      mode: update'))).toEqual([
    `error 6:9 ${BRACES} = write to: { screen: { mode: update } }`,
  ])
})

test.each([
  'hunter2[x], b: c }',
  'hunter2: x }',
  '"a" hunter2 }',
  '{{ hunter2 }',
  '@hunter2 }',
  '* hunter2 }',
])('no hint quotes a password: %s', async (written) => {
  const text = `watch: [Event]\nsinks: { s: { type: stdout } }\nredis: { url: redis://x, password: ${written}`
  const found = await told(text)
  expect(found.length).toBeGreaterThan(0)
  for (const it of found) expect(it).not.toContain('hunter2')
})

test('an age with a blank behind its ">" keeps that', async () => {
  const rules = withRules('  - name: a\n    when:\n      age: > 5m\n    to: screen\n')
  expect(await told(rules)).toEqual([expect.stringContaining('= write age: ">5m"')])
})

test.each([
  ['message: failed: {{ name }}', 14, MAP, 'message: "failed: {{ name }}"'],
  ['message: title: {{ name }}', 14, BRACES, 'message: { title: "{{ name }}" }'],
])('%s is told as a whole', async (line, column, message, mended) => {
  expect(await told(ruleOf(line))).toEqual([`error 6:${column} ${message} = write ${mended}`])
  expect(await told(ruleOf(mended))).toEqual([expect.stringContaining('nobody reads this')])
})
