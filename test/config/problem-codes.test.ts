import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { PROBLEM_CODES } from '../../src/config/problem-codes.ts'

test('the documentation lists every code with its sentence', () => {
  const text = readFileSync(new URL('../../docs/configuration.md', import.meta.url), 'utf8')
  const [, section = ''] = text.split('## Problem codes\n')
  const rows = [...section.matchAll(/^\| `([a-z-]+)` \| (.+) \|$/gm)]
  expect(Object.fromEntries(rows.map(([, code, sentence]) => [code, sentence]))).toEqual(PROBLEM_CODES)
})

test('codes are in kebab-case, and each sentence ends with a full stop', () => {
  for (const [code, sentence] of Object.entries(PROBLEM_CODES)) {
    expect(code).toMatch(/^[a-z]+(-[a-z]+)*$/)
    expect(sentence).toMatch(/\.$/)
  }
})
