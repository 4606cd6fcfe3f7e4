import { expect, test } from 'vitest'
import { compileRules } from '../../src/rules/compile.ts'
import { explainRule } from '../../src/rules/explain.ts'
import type { Rule } from '../../src/rules/schema.ts'
import type { When } from '../../src/rules/when.ts'
import { clusterEvent, EVENT, type EventParts, POD } from './events.ts'

const onError = (_: string, error: unknown): never => {
  throw error
}

const WARNING: EventParts = { resource: EVENT, event: { type: 'Warning' } }
const EXPIRY = clusterEvent({ ...WARNING, type: 'DELETED' })

function sends(when: When): boolean {
  return compileRules([{ name: 'rule', when, to: ['sink'] }], { onError })(EXPIRY).sends.length === 1
}

test.each<[When, boolean]>([
  [{}, false],
  [{ kind: 'Event' }, false],
  [{ type: 'Warning' }, false],
  [{ type: ['ADDED', 'MODIFIED', 'Warning'] }, false],
  [{ type: 'DELETED' }, true],
  [{ type: ['DELETED', 'Warning'] }, true],
  [{ type: '!ADDED' }, true],
])('an Event that expires, for %j', (when, isSent) => {
  expect(sends(when)).toBe(isSent)
})

test('deletions of other kinds, and other changes of Events, need no type', () => {
  const match = compileRules([{ name: 'rule', to: ['sink'] }], { onError })
  expect(match(clusterEvent({ resource: POD, type: 'DELETED' })).sends).toHaveLength(1)
  for (const type of ['ADDED', 'MODIFIED'] as const)
    expect(match(clusterEvent({ ...WARNING, type })).sends).toHaveLength(1)
})

test('a rule that drops matches it, whatever its type', () => {
  const rules: Rule[] = [
    { name: 'noise', when: { type: 'Warning' }, drop: true },
    { name: 'all', when: { type: 'DELETED' }, to: ['sink'] },
  ]
  expect(compileRules(rules, { onError })(EXPIRY)).toMatchObject({ dropped: true, sends: [] })
})

test('a report names the type only where it is the reason', () => {
  const explain = explainRule({ name: 'rule', when: { kind: 'Event' }, to: ['sink'] })
  expect(explain(EXPIRY).conditions).toMatchObject([
    { path: ['when', 'kind'], holds: true },
    { path: ['when', 'type'], holds: false, seen: 'DELETED' },
  ])
  expect(explain(clusterEvent(WARNING)).conditions).toMatchObject([{ path: ['when', 'kind'], holds: true }])
})
