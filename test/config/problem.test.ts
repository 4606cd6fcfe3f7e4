// biome-ignore-all lint/suspicious/noTemplateCurlyInString: these are references of the configuration
import { expect, test } from 'vitest'
import { formatProblems, type Problem } from '../../src/config/problem.ts'

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

test.each([
  ['url: redis://user:hunter2@redis:6379', 'hunter2'],
  ['{ type: slack, token: hunter2, channel: c }', 'hunter2'],
  ['secret: "hunter2 and more"', 'hunter2'],
  ['  - authorization: Bearer hunter2', 'hunter2'],
  ['"api-key": [hunter2]', 'hunter2'],
])('%s is shown without its secret, at the same width', (text, secret) => {
  const [, line = ''] = formatProblems([problem()], text).split('\n')
  expect(line).not.toContain(secret)
  expect(line.length).toBe(text.length + '    1 | '.length)
})

test('a reference is no secret', () => {
  expect(formatProblems([problem()], 'token: "${env:TOKEN}"')).toContain('${env:TOKEN}')
})
