import { expect, test } from 'vitest'
import { markRemover } from '../../src/sink/index.ts'

const withoutMarks = markRemover(['*', '_', '`', '**'])

test.each([
  ['*web* is down, see `kubectl get`', 'web is down, see kubectl get'],
  ['**a *b* c**, *_d_*', 'a b c, d'],
  ['snake_case_name 2*3*4 * not * this', 'snake_case_name 2*3*4 * not * this'],
  ['*over\ntwo lines*', '*over\ntwo lines*'],
  ['*open, _ and **', '*open, _ and **'],
])('%s', (text, plain) => {
  expect(withoutMarks(text)).toBe(plain)
})

test('a hostile text takes time in proportion to its length', () => {
  const startedMs = performance.now()
  for (const part of ['*', '*a', ' *a ', '*a\n', '* ']) withoutMarks(part.repeat(100_000))
  // Quadratic, it would be minutes.
  expect(performance.now() - startedMs).toBeLessThan(10_000)
})
