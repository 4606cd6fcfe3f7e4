// biome-ignore-all lint/suspicious/noTemplateCurlyInString: these are references of the configuration
import { expect, test } from 'vitest'
import { inOneLine } from '../../src/commands/reading/shown-problems.ts'
import { formatProblems, type Problem } from '../../src/config/problem.ts'
import { loadText } from './load-text.ts'

const problem = (parts: Partial<Problem> = {}): Problem => ({
  file: 'f.yaml',
  line: 1,
  column: 1,
  length: 1,
  message: 'wrong',
  severity: 'error',
  ...parts,
})

test('problems are sorted by place, with line, carets and hint', () => {
  const problems = [
    problem({ line: 2, column: 4, length: 3, hint: 'write it right' }),
    problem({ severity: 'warning' }),
  ]
  expect(formatProblems(problems, 'a: 1\nb: two')).toBe(`f.yaml:1:1: warning: wrong
    1 | a: 1
      | ^

f.yaml:2:4: wrong
    2 | b: two
      |    ^^^
      = write it right
`)
})

test('colours come only when asked for', () => {
  expect(formatProblems([problem()], 'x')).not.toContain('\u001b')
  expect(formatProblems([problem()], 'x', { colour: true })).toContain('\u001b[31m^')
})

test('a long line is cut around the place', () => {
  const text = `${'a'.repeat(300)}!${'b'.repeat(300)}`
  const [, line = '', carets = ''] = formatProblems([problem({ column: 301 })], text).split('\n')
  expect(line.length).toBeLessThan(135)
  expect(line[carets.indexOf('^')]).toBe('!')
})

test('control characters of the file do not reach the terminal', () => {
  expect(formatProblems([problem()], 'a: "\u001b[2J\u202e"')).not.toMatch(/[\u001b\u202e]/)
})

test('a value that a message repeats adds no line and no control character', () => {
  const hostile = 'x\u001b[2J\n::warning::\r\u2028\u202e'
  const text = formatProblems([problem({ message: `"${hostile}" is no kind`, hint: hostile })], 'a: 1')
  expect(text).not.toMatch(/[\u001b\r\u2028\u202e]|^::/m)
  expect(text.trimEnd().split('\n')).toHaveLength(4)
})

test.each([
  'url: redis://user:hunter2@redis:6379',
  'redis: { url: "redis://:hunter2/x@host" }',
  'redis: { url: "redis:/:hunter2@host" }',
  'redis: { url: redis:hunter2@host, x: y }',
  'redis: redis//:hunter2@host',
  'redis: { url: redis://us@er:hunter2@host }',
  'url: :hunter2@host',
  'url: redis://:a hunter2@host',
  'url: "redis://:a"hunter2@host"',
  "url: 'redis://:it''s, hunter2@host'",
  'url: redis://:hunter2#1@host # the main one',
  '- "redis://:hunter2@host',
  'url:redis://:hunter2@host',
  '{"url":"redis://:hunter2@host"}',
  'url: https://hunter2@host/',
  '{ type: webhook, url: "https://example.com/hook?key=hunter2&x=y", timeot: 5s }',
  'url: https://example.com/hook?hunter2',
  'url: https://hooks.example.com/services/T01/hunter2hunter2hunter2',
  '{ type: slack, token: hunter2, channel: c }',
  'secret: "hunter2 and more"',
  'secret: "more, hunter2, and } # more"',
  'secret: ["more", "hunter2"]',
  "password: 'it''s, hunter2'",
  'password: "more" hunter2"',
  'password:hunter2',
  'password = hunter2',
  'to: whsec_hunter2',
  '  - authorization: Bearer hunter2',
  '"api-key": [hunter2]',
  'auth: { basic: { username: u }, bearer: hunter2 }',
  'preset: pagerduty, routingKey: hunter2',
  'headers: ["Authorization: Bearer hunter2"]',
  'password: { hunter2-x: 1 }',
  'password: {hunter2-x: 1}',
  'redis: { password: { a: { hunter2: more } }, x: y }',
  'redis: { password: [{ hunter2: more }], x: y }',
  'token: [more, [hunter2, more]]',
  '{ "token": { "hunter2": 1 } }',
  'token: { file: "hunter2',
  'redis: password: hunter2',
  'redis: password: "hunter2 more"',
  'password: a: hunter2',
  'password: { a: b: hunter2 }',
  'headers: "Cookie: a=hunter2; b=c"',
  'headers: { X-Auth: "hunter2", b: 1 }',
  'redis: { passwort: hunter2, x: y }',
  'redis: { pass: hunter2 }',
  'sinks: { a: { type: slack, toke: hunter2 } }',
  'x-p: &p { password: hunter2, more: 1 }',
  'password: &hunter2 "more"',
  '{"password":hunter2}',
  '{"a":{"x":1},"b":{"type":"slack","token":"hunter2","y":[}}}',
  '{"a":{"x":z},"b":{"token":"hunter2"}}',
  'redis: { ? password : hunter2, x: 1 }',
])('%s is shown without its secret, at the same width', (text) => {
  const [, line = ''] = formatProblems([problem()], text).split('\n')
  expect(line).not.toContain('hunter2')
  expect(line).toMatch(/\*{4,}/)
  expect(line.length).toBe(text.length + '    1 | '.length)
})

test.each([
  ['a list', 'secret:\n  - hunter2'],
  ['a list that is not indented', 'x:\n  secret:\n  - hunter2'],
  ['brackets', 'a: { b: c, secret: [\n  more,\n  hunter2\n] }'],
  ['JSON', '{"redis":{"password":\n"hunter2","x":1}}'],
  ['a map', 'password:\n  hunter2: more'],
  ['a map in a list', 'password:\n- more: x\n  hunter2: more'],
  ['a map further in', 'password:\n  more:\n    hunter2: more'],
  ['braces with keys', 'a: { b: c, secret: {\n  more: x,\n  hunter2: y\n} }'],
  ['a long text that looks like a map', 'password: |\n    more: x\n    hunter2: y'],
  ['quotes that look like a map', 'password: "more\n    hunter2: y"'],
  ['a text that goes on like a map', 'password: more\n    hunter2: y'],
  ['a long text', 'password: >-\n\n    more\n    hunter2'],
])('a secret in %s is hidden by the key that stands above', (_, text) => {
  const line = text.split('\n').findIndex((it) => it.includes('hunter2')) + 1
  expect(formatProblems([problem({ line })], text)).not.toContain('hunter2')
})

test.each([
  'to: [screen, "audit"]',
  'when: { labels: "team=shop,tier in (gold)", name: "/^web-\\d+$/" }',
  'name: "the token is mailed to a@b.example"',
  'url: "https://audit.example.com:8443/hook/deployments-of-shop"',
  '- { name: after-the-secret, secret: "${env:SECRET}", to: [screen] }',
  'url: "redis://:${env:PASSWORD}@redis:6379"',
  'token: "${env:TOKEN"',
])('%s holds no secret and is shown as it is', (text) => {
  expect(formatProblems([problem()], text).split('\n')[1]).toBe(`    1 | ${text}`)
})

test('a key hides what belongs to it only', () => {
  const text = 'sinks:\n  hook: { secret: hunter2 }\n  screen'
  expect(formatProblems([problem({ line: 3 })], text)).toContain('    3 |   screen')
})

test.each([
  ['secret:\n  name: x', 'name: x', true],
  ['hook:\n  secret:\n  name: x', 'name: x', false],
  ['hook: { secret: abc,\n  name: x }', 'name: x }', false],
  ['hook:\n  secret: abc\n  name: x', 'name: x', false],
  ['hook:\n  - secret: abc\n    name: x', 'name: x', false],
  ['hook:\n  - secret: [abc]\n  - name: x', '- name: x', false],
  ['- { secret: { a: b }, name: x }', 'name: x }', false],
  ['- { secret: {a: b}, name: x }', 'name: x }', false],
])(
  'what stands below a key of secrets is hidden, and what stands beside it is not: %j',
  (text, shown, isHidden) => {
    const line = text.split('\n').length
    expect(formatProblems([problem({ line })], text).includes(shown)).toBe(!isHidden)
  },
)

test('lines without an end are masked in a moment', () => {
  for (const part of [' ', '"', "'", '{', ',', 'a ', 'a: ', '://', '@', '?', '&a=', '\\'])
    formatProblems([problem()], `url: ${part.repeat(100_000)}`)
}, 10_000)

test('a secret that comes from an anchor is hidden in what is said of a file that is no YAML', async () => {
  const text = 'redis: { password: *p }\n'
  for (const head of ['x-p: &p @hunter2', 'x-p: &p hunter2-word\nx-q: @hunter2-word']) {
    const loaded = await loadText(`${head}\n${text}`)
    if (loaded.ok) throw new Error('it is not good')
    const said = formatProblems(loaded.problems, loaded.texts)
    expect(said.split('\n').filter((it) => it.includes(' = '))).not.toEqual([])
    expect(said).not.toContain('hunter2')
  }
})

test('what is hidden in a line is hidden in what is said of it', async () => {
  for (const written of [
    '!hunter2-word',
    '*hunter2-word',
    '!!hunter2-word more',
    '"hunter2-word',
    '@hunter2-word',
  ]) {
    const text = `watch: [Event]\nredis:\n  url: redis://localhost\n  password: ${written}\nsinks: { s: { type: stdout } }`
    const loaded = await loadText(text)
    const problems = loaded.ok ? loaded.warnings : loaded.problems
    expect(problems.map(({ line }) => line)).toContain(4)
    expect(formatProblems(problems, text)).not.toContain('hunter2')
    for (const it of problems) expect(inOneLine([it], new Map([[it.file, text]]))).not.toContain('hunter2')
  }
})

test.each([
  ['an anchor', 'x-a: &a hunter2-word\n', 'password: *a'],
  ['an anchor in quotes', 'x-a: { b: &a "hunter2-word" }\n', 'password: *a'],
  ['an anchor of a number', 'x-a: &a 2222222\n', 'password: *a'],
  ['an anchor of a map', 'x-a: &a { b: hunter2-word, c: [hunter2-more] }\n', 'password: *a'],
  ['a variable', 'vars: { a: hunter2-word }\n', 'password: "${var:a}"'],
  ['a variable within a URL', 'vars: { a: hunter2-word }\n', 'url: "redis://:${var:a}@host"'],
  ['a variable in a URL', 'vars: { a: "redis://:hunter2-word@host" }\n', 'url: "${var:a}"'],
])('a secret that comes from %s is hidden there, and in what is said', async (_, head, password) => {
  const wrong = 'when: { name: "/hunter2-word(/" }, too: screen'
  const text = `${head}vers: 1\nwatch: [Event]\nredis: { ${password}, timeot: 5s }\nsinks: { screen: { type: stdout } }\nrules: [{ name: a, ${wrong} }]\n`
  const loaded = await loadText(text)
  if (loaded.ok) throw new Error('it is not good')
  const lines = text.split('\n').keys()
  const all = [...lines].map((line) =>
    problem({ file: [...loaded.texts.keys()][0] as string, line: line + 1 }),
  )
  const shown = formatProblems([...loaded.problems, ...all], loaded.texts)
  expect(shown.replaceAll(/.*name: a, when.*/g, '')).not.toMatch(/hunter2|2222222/)
  expect(shown).toContain('too: screen')
})

test('a line too long to be shown gives no secret away either', async () => {
  const filling = 'x'.repeat(30_000)
  const text = `watch: [Event]\nredis: { url: "redis://localhost", password: *hunter2-word, x-a: ${filling} }\nsinks: { s: { type: stdout } }`
  const loaded = await loadText(text)
  const problems = loaded.ok ? loaded.warnings : loaded.problems
  expect(problems.map(({ line }) => line)).toContain(2)
  expect(formatProblems(problems, text)).not.toContain('hunter2')
})
