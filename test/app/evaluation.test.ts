import { expect, test } from 'vitest'
import { evaluateWith } from '../../src/app/evaluation.ts'
import type { Source, Transition } from '../../src/model/change.ts'
import type { SilenceMatch } from '../../src/model/control.ts'
import { compileRules } from '../../src/rules/compile.ts'
import { createLimits, limitsOf } from '../../src/rules/limits/limits.ts'
import { createSilences } from '../../src/rules/silences/silences.ts'
import { normalise } from '../../src/watch/decode/normalise.ts'
import { scanObject } from '../../src/watch/decode/scan.ts'
import { limitsIn } from '../rules/limits/bed.ts'

const SECRETS: Source = {
  key: 'secrets',
  title: 'secrets',
  resource: { group: '', version: 'v1', kind: 'Secret', plural: 'secrets', namespaced: true },
  namespace: '',
  labelSelector: '',
  fieldSelector: '',
  initial: 'now',
  clusterUid: 'c',
  spelling: 'Secret',
  custom: false,
}
const CONTEXT = { cluster: 'test', salt: Buffer.from('salt') }
const UNKNOWN = { shared: () => undefined, own: () => undefined }
const NOW_MS = Date.parse('2026-11-21T10:00:00Z')

/** A Secret; what comes behind its metadata must be parsed before it may leave. */
function secret(name: string, data: string): Transition {
  const metadata = JSON.stringify({ name, namespace: 'shop', uid: `uid-of-${name}`, resourceVersion: '2' })
  const object = scanObject(Buffer.from(`{"metadata":${metadata},"data":${data}}`))
  if (!object) throw new Error('an object that cannot be scanned')
  const { uid, resourceVersion, namespace, labelsJson } = object
  const identity = { uid, resourceVersion, namespace, name, labelsJson }
  return { type: 'MODIFIED', ...identity, observedAtMs: NOW_MS, synthesized: false, object }
}

/** A rule with limits, below one without that sends to another sink where `audited`. */
function decide(rule: Parameters<typeof limitsIn>[0], transitions: readonly Transition[], audited = false) {
  const limited = { name: 'touched', ...limitsIn(rule), to: ['oncall'] }
  const rules = [...(audited ? [{ name: 'all', to: ['audit'] }] : []), limited]
  const malformed: string[] = []
  const { limits, ...decision } = evaluateWith({
    normalise: (source, transition) => normalise(source, transition, CONTEXT),
    match: compileRules(rules, {
      onError(_, error) {
        throw error
      },
      limitsOf: (name) => (name === 'touched' ? limitsOf(limited) : undefined),
    }),
    limits: createLimits(rules),
    onMalformed: (_source, { name }) => void malformed.push(name),
  })(SECRETS, transitions)
  return { decision, outcome: limits?.apply(UNKNOWN, NOW_MS), malformed }
}

test.each([
  ['sends immediately', { throttle: { every: '10m', per: 'object' } } as const],
  ['collects a digest', { group: { by: 'object' } } as const],
  ['waits for a time', { for: '2m' } as const],
])('an object that cannot be read is skipped by a limit that %s, and the others go on', (_, limit) => {
  const some = [secret('good', '{"a":"eA=="}'), secret('torn', '{"a":'), secret('fine', '{}')]
  const { outcome, malformed } = decide(limit, some)
  expect(malformed).toEqual(['torn'])
  expect(outcome?.rules.get('touched')?.matched).toBe(2)
  expect(outcome?.emitted).toHaveLength(3)
  expect(outcome?.emitted[1]).toBe(false)
  const delivered = outcome?.deliveries.map(({ event }) => event.name) ?? []
  expect(delivered).toEqual('throttle' in limit ? ['good', 'fine'] : [])
})

test('an object that cannot be read is counted once, and sent by no rule', () => {
  const some = [secret('torn', '{"a":'), secret('good', '{}')]
  const { decision, outcome, malformed } = decide({ throttle: { every: '10m' } }, some, true)
  expect(malformed).toEqual(['torn'])
  expect(decision).toMatchObject({ matched: 1, unmatched: 1, dropped: 0 })
  expect(decision.rules?.get('all')).toMatchObject({ matched: 1, sent: 1 })
  expect(outcome?.rules.get('touched')).toMatchObject({ matched: 1, sent: 1 })
})

test('suppressed objects are not parsed', () => {
  const [first, torn] = [secret('good', '{}'), secret('torn', '{"a":')]
  const { outcome, malformed } = decide({ throttle: { every: '10m', per: 'rule' } }, [first, torn])
  expect(malformed).toEqual([])
  expect(outcome?.rules.get('touched')).toMatchObject({ matched: 2, sent: 1, suppressed: { throttle: 1 } })
})

test('each sink of each rule that matches gets a delivery, and one that two rules name gets one', () => {
  const rules = [
    { name: 'first', to: ['oncall', 'audit'] },
    { name: 'second', to: ['audit', 'screen'] },
  ]
  const { deliveries, matched } = evaluateWith({
    normalise: (source, transition) => normalise(source, transition, CONTEXT),
    match: compileRules(rules, { onError() {} }),
    limits: createLimits(rules),
    onMalformed() {},
  })(SECRETS, [secret('good', '{}'), secret('fine', '{}')])
  expect(deliveries.map(({ event, rule, sink }) => `${event.name} ${rule} ${sink}`)).toEqual([
    'good first oncall',
    'good first audit',
    'good second screen',
    'fine first oncall',
    'fine first audit',
    'fine second screen',
  ])
  expect(matched).toBe(2)
})

test('an event of rules without limits that is silenced for all sinks counts as limited, for some as matched', () => {
  const rules = [
    { name: 'first', to: ['oncall'] },
    { name: 'second', to: ['audit', 'screen'] },
  ]
  const times = { fromMs: NOW_MS, untilMs: NOW_MS + 1, createdMs: 0 }
  const decide = (transition: Transition, ...matches: SilenceMatch[]) =>
    evaluateWith({
      normalise: (source, transition) => normalise(source, transition, CONTEXT),
      match: compileRules(rules, { onError() {} }),
      limits: createLimits(rules),
      silences: createSilences(
        matches.map((match, i) => ({ id: `${i}`, match, ...times, reason: 'deploy', by: 'alice' })),
      ),
      onMalformed() {},
    })(SECRETS, [transition])
  const all = decide(secret('good', '{}'), { sink: 'oncall' }, { rule: 'second' })
  expect(all).toMatchObject({ matched: 0, limited: 1, unmatched: 0, deliveries: [] })
  expect(all.rules?.get('first')).toMatchObject({ matched: 1, sent: 0, suppressed: { silence: 1 } })
  expect(all.rules?.get('second')).toMatchObject({ matched: 1, sent: 0, suppressed: { silence: 1 } })
  expect(all.suppressed?.map(({ rule, silence, sinks }) => [rule, silence, ...sinks])).toEqual([
    ['first', '0', 'oncall'],
    ['second', '1', 'audit', 'screen'],
  ])
  const some = decide(secret('good', '{}'), { sink: 'audit' })
  expect(some).toMatchObject({ matched: 1 })
  expect(some.limited).toBeUndefined()
  expect(some.deliveries.map(({ sink }) => sink)).toEqual(['oncall', 'screen'])
  expect(some.rules?.get('second')).toMatchObject({ matched: 1, sent: 1, suppressed: {} })
  const long = { name: '/(a|b){1,400}z/' }
  const untested = decide(
    secret('x'.repeat(5_000), '{}'),
    { ...long, sink: 'audit' },
    { ...long, rule: 'none' },
  )
  expect(untested).toMatchObject({ matched: 1, untested: ['0'] })
  expect(untested.deliveries).toHaveLength(3)
  const late = { ...secret('good', '{}'), observedAtMs: NOW_MS + 1 }
  expect(decide(late, {}).deliveries).toHaveLength(3)
})
