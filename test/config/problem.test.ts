// biome-ignore-all lint/suspicious/noTemplateCurlyInString: these are references of the configuration
import { expect, test } from 'vitest'
import { summaryOf } from '../../src/cli/load-config/read-configuration.ts'
import { formatProblems, type Problem } from '../../src/config/problem.ts'
import { leastCpuMs } from '../cpu-time.ts'
import { loadText } from './load-text.ts'

const problem = (parts: Partial<Problem> = {}): Problem => ({
  file: 'f.yaml',
  line: 1,
  column: 1,
  length: 1,
  message: 'wrong',
  code: 'invalid-value',
  severity: 'error',
  ...parts,
})

test('problems are sorted by place, with line, carets and hint', () => {
  const problems = [
    problem({ line: 2, column: 6, length: 3, hint: 'write it right' }),
    problem({ severity: 'warning' }),
  ]
  expect(formatProblems(problems, 'rules:\n  a: two')).toBe(`f.yaml:1:1: warning: wrong
    1 | rules:
      | ^

f.yaml:2:6: wrong
    2 |   a: two
      |      ^^^
      = write it right
`)
})

test('colours come only when asked for', () => {
  expect(formatProblems([problem()], 'rules:')).not.toContain('\u001b')
  expect(formatProblems([problem()], 'rules:', { colour: true })).toContain('\u001b[31m^')
})

test('a long line is cut around the place', () => {
  const text = `rules: ${'a'.repeat(300)}!${'b'.repeat(300)}`
  const [, line = '', carets = ''] = formatProblems([problem({ column: 308 })], text).split('\n')
  expect(line.length).toBeLessThan(135)
  expect(line[carets.indexOf('^')]).toBe('!')
})

test('control characters of the file do not reach the terminal', () => {
  expect(formatProblems([problem()], 'rules: "\u001b[2J\u202e"')).not.toMatch(/[\u001b\u202e]/)
})

test('a value that a message repeats adds no line and no control character', () => {
  const hostile = 'x\u001b[2J\n::warning::\r\u2028\u202e'
  const text = formatProblems([problem({ message: `"${hostile}" is not a kind`, hint: hostile })], 'rules: 1')
  expect(text).not.toMatch(/[\u001b\r\u2028\u202e]|^::/m)
  expect(text.trimEnd().split('\n')).toHaveLength(4)
})

test.each([
  'redis: { url: "redis://:hunter2@host" }',
  'sinks: { a: { type: slack, token: hunter2 } }',
  'sinks:\n  a:\n    token: hunter2',
  'sinks:\n- token: hunter2',
  'sinks:\n  a: |\n    rules: hunter2',
  'vars: { a: hunter2 }',
  'kubernetes: { context: hunter2 }',
  'x-shared: &a hunter2',
  'rulez: hunter2',
  'rules: []\nsinks: { a: { token: hunter2 } }',
  'rules: []\n# why\nsinks:\n  a: hunter2',
  'rules: []\n---\n  token: hunter2',
  'rules: []\n"sinks":\n  a: hunter2',
  'rules: [{ name: "${env:hunter2}" }]',
  'rules: [], redis: { password: hunter2 }',
  '{"rules": [], "sinks": {\n"token": "hunter2"}}',
  '{ watch: [Pod],\nrules: hunter2 }',
  '--- { watch: [Pod],\nrules: hunter2 }',
  '&a {\nrules: hunter2 }',
  'watch: [Pod]\nx: {\nrules: [], redis: { password: hunter2 } }',
  'rules:\n  - name: &a hunter2\nredis: { password: *a }',
  'rules:\n  - &a { b: c,\n    d: hunter2 }\nx: *a\nredis: *x',
  '- hunter2',
])('no line that may hold a secret is printed: %j', (text) => {
  const problems = text.split('\n').map((_, i) => problem({ line: i + 1 }))
  expect(formatProblems(problems, text)).not.toContain('hunter2')
})

test.each([
  'watch: [Pod, { kind: Deploymnet }]',
  'rules: [{ name: a, to: [screen, "audit"] }]',
  '"rules": [{ when: { labels: "team=shop,tier in (gold)" } }]',
  'include: [teams/*.yaml]',
  'tests: [{ name: a }]',
])('a line of %s is printed', (text) => {
  expect(formatProblems([problem()], text).split('\n')[1]).toBe(`    1 | ${text}`)
})

test('the lines below a section belong to it, comments too', () => {
  const text = '# why\n---\nrules:\n# all\n- name: a\n\n  to: b\nwatch: [Pod]'
  for (const line of [5, 7, 8]) expect(formatProblems([problem({ line })], text)).toContain(`    ${line} | `)
})

test.each([' ', '"', '{', ',', 'a: ', '*', '&a ', '\\', '${'])(
  'a line of half a million %j is printed in linear time',
  async (part) => {
    const text = `rules: ${part.repeat(500_000)}`
    const print = () => formatProblems([problem(), problem({ column: 500_000 })], text)
    expect(await leastCpuMs(1_000, print)).toBeLessThan(1_000)
  },
)

test.each([
  ['an anchor', 'x-a: &a hunter2-word\n', 'password: *a'],
  ['an anchor in quotes', 'x-a: { b: &a "hunter2-word" }\n', 'password: *a'],
  ['an anchor of a number', 'x-a: &a 2222222\n', 'password: *a'],
  ['an anchor of a map', 'x-a: &a { b: hunter2-word, c: [hunter2-more] }\n', 'password: *a'],
  ['an anchor that is not YAML', 'x-p: &a @hunter2\n', 'password: *a'],
  ['a variable', 'vars: { a: hunter2-word }\n', 'password: "${var:a}"'],
  ['a variable within a URL', 'vars: { a: hunter2-word }\n', 'url: "redis://:${var:a}@host"'],
  ['a variable in a URL', 'vars: { a: "redis://:hunter2-word@host" }\n', 'url: "${var:a}"'],
  ['a tag', '', 'password: !hunter2-word'],
  ['an alias', '', 'password: *hunter2-word'],
  ['a text before more', '', 'password: !!hunter2-word more'],
  ['an open quote', '', 'password: "hunter2-word'],
  ['a reserved character', '', 'password: @hunter2-word'],
])('a secret that comes from %s is printed nowhere', async (_, head, password) => {
  const text = `${head}vers: 1\nwatch: [Event]\nredis:\n  ${password}\n  timeot: 5s\nsinks: { screen: { type: stdout } }\nrules: [{ name: a, too: screen }]\n`
  const loaded = await loadText(text)
  if (loaded.ok) throw new Error('it was accepted')
  const file = [...loaded.texts.keys()][0] as string
  const all = text.split('\n').map((__, i) => problem({ file, line: i + 1 }))
  const shown = formatProblems([...loaded.problems, ...all], loaded.texts)
  expect(shown).not.toMatch(/hunter2|2222222/)
  expect(shown).toContain('too: screen')
  for (const it of loaded.problems)
    expect(summaryOf([it], loaded.texts).problem).not.toMatch(/hunter2|2222222/)
})
