import { expect, test } from 'vitest'
import { createRuleErrors } from '../../src/app/status-reporting.ts'

test('a rule is told with how often it failed, and how it did last', () => {
  const errors = createRuleErrors()
  errors.note('a', new Error('first'))
  errors.note('a', new Error('x'.repeat(1_000)))
  expect(errors.statuses([{ name: 'b' }, { name: 'a' }])).toEqual([
    { rule: 'b' },
    { rule: 'a', errors: 2, lastError: 'x'.repeat(300) },
  ])
})

test('a rule that is gone is forgotten: one that comes under its name begins anew', () => {
  const errors = createRuleErrors()
  errors.note('a', new Error('first'))
  expect(errors.statuses([{ name: 'b' }])).toEqual([{ rule: 'b' }])
  expect(errors.statuses([{ name: 'a' }])).toEqual([{ rule: 'a' }])
})
