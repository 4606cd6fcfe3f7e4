import { expect, test } from 'vitest'
import { compileRules } from '../../src/rules/compile.ts'
import { explainRules } from '../../src/rules/explain.ts'
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
  const [report] = explainRules([{ name: 'r', when, to: ['oncall'] }])(backOff)
  expect(report).toEqual({
    rule: 'r',
    outcome: 'not matched',
    drops: false,
    sinks: [{ sink: 'oncall' }],
    conditions: [
      { path: ['when', 'regarding', 'name'], expected: 'api-*', seen: 'web-1', holds: false },
      { path: ['when', 'regarding', 'kind'], expected: 'Pod', seen: 'Pod', holds: true },
      { path: ['when', 'reason'], expected: '["BackOff","OOM*"]', seen: 'BackOff', holds: true },
      { path: ['when', 'namespace'], expected: '!shop', seen: 'shop', holds: false },
      { path: ['when', 'kind'], expected: 'Event', seen: 'Event', holds: true },
    ],
  })
})

test('sinks that a rule above has taken, and rules that the one that ends leaves unreached, are told', () => {
  const reports = explainRules([
    { name: 'first', to: ['oncall', 'audit'] },
    { name: 'second', to: ['oncall', 'bus'], continue: false },
    { name: 'third', to: ['bus'] },
    { name: 'pods', when: { kind: 'Pod' }, drop: true },
  ])(backOff)
  expect(reports.map(({ outcome, endedBy }) => [outcome, endedBy])).toEqual([
    ['matched', undefined],
    ['matched', undefined],
    ['not reached', 'second'],
    ['for other kinds', 'second'],
  ])
  expect(reports[1]?.sinks).toEqual([{ sink: 'oncall', takenBy: 'first' }, { sink: 'bus' }])
  expect(reports[2]?.sinks).toEqual([{ sink: 'bus', takenBy: 'second' }])
})

test('what cannot be answered is told as an error, and the rest still evaluated', () => {
  const event = Object.defineProperty(clusterEvent({ resource: DEPLOYMENT }), 'labels', {
    get: () => {
      throw new Error(`no JSON\u001b[31m${'x'.repeat(500)}`)
    },
  })
  const when = { labels: 'app', name: 'web' }
  const [skips, delivers, other] = explainRules([
    { name: 'skips', when, to: ['a'] },
    { name: 'delivers', when, to: ['a'], onError: 'deliver' },
    { name: 'other', when: { ...when, name: 'api' }, to: ['a'], onError: 'deliver' },
  ])(event)
  expect([skips?.outcome, delivers?.outcome, other?.outcome]).toEqual(['error', 'matched', 'not matched'])
  const [labels, name] = skips?.conditions ?? []
  expect(labels?.error).toMatch(/^no JSON \[31mx+…$/)
  expect(labels?.error?.length).toBeLessThan(170)
  expect(name).toMatchObject({ seen: 'web', holds: true })
})

test('what only Events have does not hold of others, also behind a "!"', () => {
  const when = { reason: '!BackOff', type: ['ADDED', '!Normal'] }
  const [report] = explainRules([{ name: 'r', when, to: ['a'] }])(clusterEvent())
  expect(report?.outcome).toBe('for other kinds')
  expect(report?.conditions.map(({ holds }) => holds)).toEqual([false, true, false])
})

test('reports say what the compiled rules do, on random rules and events', () => {
  const random = createRandom(20_261_123)
  const fail = (_: string, error: unknown): never => {
    throw error
  }
  const seen = { matched: 0, 'not matched': 0, 'not reached': 0, 'for other kinds': 0, error: 0 }
  for (let round = 0; round < 200; round++) {
    const rules = Array.from({ length: 4 }, (_, i) => ({
      name: `r${i}`,
      when: randomWhen(random),
      ...(random.next() < 0.2 ? { drop: true } : { to: ['a', `s${i}`] }),
    }))
    let explain: ReturnType<typeof explainRules>
    let match: ReturnType<typeof compileRules>
    const matched: string[] = []
    try {
      explain = explainRules(rules)
      match = compileRules(rules, { onError: fail, onMatch: (name) => matched.push(name) })
    } catch {
      continue
    }
    for (let i = 0; i < 20; i++) {
      const event = randomEvent(random)
      matched.length = 0
      const result = match(event)
      const reports = explain(event)
      for (const { outcome } of reports) seen[outcome]++
      const told = reports.filter(({ outcome }) => outcome === 'matched')
      expect(told.map(({ rule }) => rule)).toEqual(matched)
      const sends = told.flatMap(({ rule, sinks }) =>
        sinks.flatMap(({ sink, takenBy }) => (takenBy === undefined ? [{ sink, rule }] : [])),
      )
      expect(sends).toEqual(result.sends)
    }
  }
  expect(Math.min(seen.matched, seen['not matched'], seen['not reached'])).toBeGreaterThan(50)
})
