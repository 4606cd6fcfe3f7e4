import { expect, test } from 'vitest'
import { createSinkActions } from '../../../src/app/sink-set/actions.ts'
import type { Config } from '../../../src/config/schema.ts'

test.each<[string, object, string[]]>([
  ['for', { for: 600_000 }, ['silence', 'acknowledge']],
  ['for in its condition', { condition: { type: 'Ready', for: 600_000 } }, ['silence', 'acknowledge']],
  ['resolve: true', { resolve: true }, ['silence', 'acknowledge']],
  ['resolve: {after}', { resolve: { after: 600_000 } }, ['silence', 'acknowledge']],
  ['a condition without for', { condition: { type: 'Ready' } }, ['silence']],
  ['throttle', { throttle: { every: 600_000 } }, ['silence']],
])('the incidents of a rule can be acknowledged if it keeps some: %s', (_, keys, actions) => {
  const rules = [{ name: 'r', ...keys }] as unknown as Config['rules']
  const unused = {} as Parameters<typeof createSinkActions>[0]
  expect(createSinkActions({ ...unused, rules: () => rules }).of('r')).toEqual(actions)
})
