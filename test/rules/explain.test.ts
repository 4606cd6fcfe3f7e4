import { expect, test } from 'vitest'
import { checkRule, compileRules } from '../../src/rules/compile.ts'
import { explainRule } from '../../src/rules/explain.ts'
import { clusterEvent, DEPLOYMENT, EVENT } from './events.ts'
import { createRandom, randomEvent, randomWhen } from './random.ts'

const backOff = clusterEvent({
  resource: EVENT,
  name: 'web-1.17',
  event: { type: 'Warning', reason: 'BackOff', message: 'm', regarding: { kind: 'Pod', name: 'web-1' } },
})

test('each condition is told with what it asks and what it saw, in the order of the file', () => {
  const when = {
    regarding: { name: 'api-*', kind: 'Pod' },
    reason: ['BackOff', 'OOM*'],
    namespace: '!shop',
    kind: 'Event',
  }
  const report = explainRule({ name: 'r', when, to: ['oncall'] })(backOff)
  expect(report).toEqual({
    isOfKind: true,
    conditions: [
      { path: ['when', 'regarding', 'name'], expected: 'api-*', seen: 'web-1', holds: false },
      { path: ['when', 'regarding', 'kind'], expected: 'Pod', seen: 'Pod', holds: true },
      { path: ['when', 'reason'], expected: '["BackOff","OOM*"]', seen: 'BackOff', holds: true },
      { path: ['when', 'namespace'], expected: '!shop', seen: 'shop', holds: false },
      { path: ['when', 'kind'], expected: 'Event', seen: 'Event', holds: true },
    ],
  })
})

test('what cannot be answered is told as an error, and the rest still evaluated', () => {
  const event = Object.defineProperty(clusterEvent({ resource: DEPLOYMENT }), 'labels', {
    get: () => {
      throw new Error(`no JSON\u001b[31m${'x'.repeat(500)}`)
    },
  })
  const when = { labels: 'app', name: 'web' }
  const [labels, name] = explainRule({ name: 'r', when, to: ['a'] })(event).conditions
  expect(labels?.error).toMatch(/^no JSON \[31mx+…$/)
  expect(labels?.error?.length).toBeLessThan(170)
  expect(name).toMatchObject({ seen: 'web', holds: true })
})

test('what only Events have does not hold of others, also behind a "!"', () => {
  const when = { reason: '!BackOff', type: ['ADDED', '!Normal'] }
  const report = explainRule({ name: 'r', when, to: ['a'] })(clusterEvent())
  expect(report.isOfKind).toBe(false)
  expect(report.conditions.map(({ holds }) => holds)).toEqual([false, true, false])
})

test('all conditions hold if the compiled rule matches, on random rules and events', () => {
  const random = createRandom(20_261_123)
  const fail = (_: string, error: unknown): never => {
    throw error
  }
  const seen = { matched: 0, unmatched: 0 }
  for (let round = 0; round < 800; round++) {
    const rule = { name: 'r', when: randomWhen(random), to: ['a'] }
    if (checkRule(rule).length > 0) continue
    const explain = explainRule(rule)
    const match = compileRules([rule], { onError: fail })
    for (let i = 0; i < 20; i++) {
      const event = randomEvent(random)
      const { isOfKind, conditions } = explain(event)
      const isMatch = match(event).sends.length > 0
      expect(isOfKind && conditions.every(({ holds }) => holds)).toBe(isMatch)
      seen[isMatch ? 'matched' : 'unmatched']++
    }
  }
  expect(Math.min(seen.matched, seen.unmatched)).toBeGreaterThan(50)
})
