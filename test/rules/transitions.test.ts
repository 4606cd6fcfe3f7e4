import { expect, test } from 'vitest'
import { checkRule, compileRules, type LimitScope } from '../../src/rules/compile.ts'
import { kindsToStore, storesPrevious } from '../../src/rules/previous-objects.ts'
import { Rule } from '../../src/rules/schema.ts'
import { leastCpuMs } from '../cpu-time.ts'
import { eventOf, type Given } from './cel/evaluate.ts'
import { DEPLOYMENT, EVENT, NODE, POD } from './events.ts'

/** Reads a rule as the file has it. */
function rule(keys: object): Rule {
  return Rule.parse({ name: 'r', to: 'chat', ...keys })
}

function result(keys: object, given: Given, limits?: LimitScope) {
  const match = compileRules([rule(keys)], {
    onError: (_, error) => {
      throw error
    },
    limitsOf: () => limits,
  })
  return match(eventOf({ resource: NODE, ...given }))
}

function matches(keys: object, given: Given): boolean {
  return result(keys, given).sends.length > 0
}

const node = (status: string, reason = 'x', since = '2026-11-20T00:00:00Z') => ({
  spec: { replicas: 1, image: 'a:1' },
  status: {
    phase: status,
    conditions: [
      { type: 'Disk', status: 'False' },
      { type: 'Ready', status, reason, lastTransitionTime: since },
    ],
  },
})

/** An operator may append a condition to those of its type. */
const twice = (...states: string[]) => ({
  status: { conditions: states.map((status) => ({ type: 'Ready', status })) },
})

/** Containers a, b and so on: those with a reason are not ready. */
const containers = (...reasons: (string | undefined)[]) => ({
  status: {
    containers: reasons.map((reason, n) => ({ name: 'abc'[n], ready: reason === undefined, reason })),
  },
})

const change = (old: object, object: object): Given => ({ type: 'MODIFIED', old, object })

test.each<[expected: boolean, what: string, keys: object, given: Given]>([
  [
    true,
    'a path that changed',
    { changed: ['spec.replicas', 'spec.image'] },
    change({ spec: { image: 'a' } }, { spec: { image: 'b' } }),
  ],
  [
    true,
    'one path as a text',
    { changed: 'spec.image' },
    change({ spec: { image: 'a' } }, { spec: { image: 'b' } }),
  ],
  [
    false,
    'paths that did not',
    { changed: ['spec.image'] },
    change({ spec: { image: 'a', n: 1 } }, { spec: { image: 'a', n: 2 } }),
  ],
  [
    false,
    'nothing of what is new',
    { changed: ['spec.image'] },
    { type: 'ADDED', object: { spec: { image: 'b' } } },
  ],
  [
    false,
    'nothing where the old object is not known',
    { changed: ['spec.image'] },
    { type: 'MODIFIED', object: { spec: { image: 'b' } } },
  ],
  [
    true,
    'what else changed',
    { unchanged: 'spec' },
    change({ spec: { n: 1 }, status: 1 }, { spec: { n: 1 }, status: 2 }),
  ],
  [
    false,
    'a path that must not',
    { unchanged: ['status', 'spec'] },
    change({ spec: { n: 1 } }, { spec: { n: 2 } }),
  ],
  [
    false,
    'no certainty where the old object is not known',
    { unchanged: 'spec' },
    { type: 'MODIFIED', object: {} },
  ],
  [
    true,
    'both together',
    { changed: 'status', unchanged: 'spec' },
    change({ spec: 1, status: 1 }, { spec: 1, status: 2 }),
  ],
  [
    false,
    'null that became absent',
    { changed: 'spec.template' },
    change({ spec: { template: { a: 1, created: null } } }, { spec: { template: { a: 1 } } }),
  ],
  [
    true,
    'a change where null became absent elsewhere',
    { changed: 'spec.n', unchanged: 'spec.template' },
    change({ spec: { n: 1, template: { a: 1, created: null } } }, { spec: { n: 2, template: { a: 1 } } }),
  ],
  [
    false,
    'a state in which null became absent',
    { 'to-state': { 'spec.a.*.b': '!x' } },
    change({ spec: { a: [{ b: null }] } }, { spec: { a: [{}] } }),
  ],
  [
    true,
    'a state of the first of several items with one key',
    { 'to-state': { 'status.containers[ready=false].reason': 'CrashLoopBackOff' } },
    change(containers('Error', 'Completed'), containers('CrashLoopBackOff', 'Completed')),
  ],
  [
    false,
    'a state in which an item was before another with the same key left it',
    { 'to-state': { 'status.containers[ready=false].reason': 'CrashLoopBackOff' } },
    change(containers('Error', 'CrashLoopBackOff'), containers(undefined, 'CrashLoopBackOff')),
  ],
  [
    true,
    'a state that was entered',
    { 'to-state': { 'status.phase': 'Failed' } },
    change(node('Running'), node('Failed')),
  ],
  [
    false,
    'a state that was there before',
    { 'to-state': { 'status.phase': 'Failed' } },
    change(node('Failed'), { ...node('Failed'), spec: {} }),
  ],
  [
    true,
    'a new object in the state',
    { 'to-state': { 'status.phase': 'Failed' } },
    { type: 'ADDED', object: node('Failed') },
  ],
  [
    false,
    'a deletion in the state',
    { 'to-state': { 'status.phase': 'Failed' } },
    { type: 'DELETED', object: node('Failed') },
  ],
  [
    true,
    'patterns',
    { 'to-state': { 'status.phase': ['Fail*', '/Unk/'] } },
    change(node('Running'), node('Unknown')),
  ],
  [
    true,
    'from one state to another',
    { from: { 'status.phase': 'Running' }, 'to-state': { 'status.phase': '!Running' } },
    change(node('Running'), node('Failed')),
  ],
  [
    false,
    'not from another one',
    { from: { 'status.phase': 'Pending' }, 'to-state': { 'status.phase': 'Failed' } },
    change(node('Running'), node('Failed')),
  ],
  [
    true,
    'a state that was left',
    { from: { 'status.phase': 'Running' } },
    change(node('Running'), node('Failed')),
  ],
  [
    false,
    'a state that was not left',
    { from: { 'status.phase': 'Running' } },
    change(node('Running'), { ...node('Running'), spec: {} }),
  ],
  [
    false,
    'nothing before a new object',
    { from: { 'status.phase': '!x' }, 'to-state': { 'status.phase': 'Failed' } },
    { type: 'ADDED', object: node('Failed') },
  ],
  [
    true,
    'numbers and truth values',
    { 'to-state': { 'spec.replicas': 0, 'spec.paused': true } },
    change({ spec: { replicas: 2, paused: true } }, { spec: { replicas: 0, paused: true } }),
  ],
  [
    true,
    'a second item that comes into the state',
    { 'to-state': { 'status.list.*.reason': 'CrashLoopBackOff' } },
    change(
      { status: { list: [{ name: 'a', reason: 'CrashLoopBackOff' }, { name: 'b' }] } },
      {
        status: {
          list: [
            { name: 'a', reason: 'CrashLoopBackOff' },
            { name: 'b', reason: 'CrashLoopBackOff' },
          ],
        },
      },
    ),
  ],
  [
    true,
    'a condition that becomes',
    { condition: { type: 'Ready', becomes: 'False' } },
    change(node('True'), node('False')),
  ],
  [
    true,
    'a condition as YAML reads it',
    { condition: { type: 'Ready', becomes: false } },
    change(node('True'), node('False')),
  ],
  [
    true,
    'a condition of several',
    { condition: { type: 'Ready', becomes: ['False', 'Unknown'] } },
    change(node('True'), node('Unknown')),
  ],
  [
    false,
    'one of several after another',
    { condition: { type: 'Ready', becomes: ['False', 'Unknown'] } },
    change(node('False'), node('Unknown')),
  ],
  [
    true,
    'a condition from a status',
    { condition: { type: 'Ready', becomes: '!True', from: 'True' } },
    change(node('True'), node('Unknown')),
  ],
  [
    false,
    'a condition from another status',
    { condition: { type: 'Ready', becomes: 'Unknown', from: 'False' } },
    change(node('True'), node('Unknown')),
  ],
  [
    false,
    'another reason',
    { condition: { type: 'Ready', becomes: 'False', reason: 'Kubelet*' } },
    change(node('True'), node('False', 'Net')),
  ],
  [
    true,
    'a reason that comes later',
    { condition: { type: 'Ready', becomes: 'False', reason: 'Kubelet*' } },
    change(node('False', 'Net'), node('False', 'KubeletNotReady')),
  ],
  [
    false,
    'a condition that is not there',
    { condition: { type: 'Nope', becomes: 'True' } },
    change(node('True'), node('False')),
  ],
  [
    true,
    'the last of several conditions with one type',
    { condition: { type: 'Ready', becomes: 'False' } },
    change(twice('False', 'True'), twice('False', 'False')),
  ],
  [
    false,
    'the first of several conditions with one type',
    { condition: { type: 'Ready', becomes: 'False' } },
    change(twice('True', 'True'), twice('False', 'True')),
  ],
  [
    true,
    'a new object with it',
    { condition: { type: 'Ready', becomes: 'False' } },
    { type: 'ADDED', object: node('False') },
  ],
  [
    true,
    'a condition that is fresh where the old object is not known',
    { condition: { type: 'Ready', becomes: 'False' } },
    { type: 'MODIFIED', object: node('False', 'x', '2026-11-21T05:59:58Z') },
  ],
  [
    false,
    'one that has been so for long',
    { condition: { type: 'Ready', becomes: 'False' } },
    { type: 'MODIFIED', object: node('False') },
  ],
])('matches is %s: %s', (expected, _what, keys, given) => {
  expect(matches(keys, given)).toBe(expected)
})

test('a rule that follows states is told when what was entered holds on, and when it does not', () => {
  const keys = { condition: { type: 'Ready', becomes: 'False' } }
  const standing = (given: Given) =>
    result(keys, given, 'states').limited.map(({ holds, entered }) => ({ holds, entered }))
  expect(standing(change(node('True'), node('False')))).toEqual([{ holds: true, entered: true }])
  expect(standing(change(node('False'), node('False', 'y')))).toEqual([{ holds: true, entered: false }])
  expect(standing(change(node('False'), node('True')))).toEqual([{ holds: false, entered: false }])
  expect(standing({ type: 'DELETED', object: node('False') })).toEqual([{ holds: false, entered: false }])
})

test('faults have their places', () => {
  const faults = checkRule({
    changed: ['spec.image', 'sepc.image'],
    unchanged: 'spec.**',
    from: { 'spec.': 'x', 'status.phase': '/(/' },
    condition: { type: 'Ready', becomes: '/(/' },
    if: 'event.reson == "x"',
  })
  expect(faults.map(({ path, offset }) => [path.join('/'), offset])).toEqual([
    ['if', 6],
    ['changed/1', 0],
    ['unchanged', 0],
    ['from/spec.', undefined],
    ['from/status.phase', 1],
    ['condition/becomes', 1],
  ])
})

test.each(['spec.**.image', 'image', 'spec.replicas, spec.template'])(
  'the path "%s" is refused in each key',
  (path) => {
    expect(checkRule({ changed: path })).toMatchObject([{ path: ['changed'] }])
    expect(checkRule({ changed: [path] })).toMatchObject([{ path: ['changed', 0] }])
    expect(checkRule({ 'to-state': { [path]: '3' } })).toMatchObject([
      { path: ['to-state', path], atKey: true },
    ])
  },
)

test.each([
  ['changed', { changed: 'spec' }],
  ['unchanged', { unchanged: 'spec' }],
  ['from', { from: { spec: 'x' } }],
  ['to-state', { 'to-state': { spec: 'x' } }],
  ['condition', { condition: { type: 'Ready', becomes: 'True' } }],
  ['if', { if: 'oldObject != null' }],
  ['a rule that drops', { if: 'oldObject != null', drop: true, to: undefined }],
])('old objects are kept for rules that ask: %s', (_what, keys) => {
  const keeps = storesPrevious([kindsToStore(rule({ when: { kind: 'Deployment' }, ...keys }), false)])
  expect([DEPLOYMENT, POD, EVENT].filter(keeps)).toEqual([DEPLOYMENT])
})

test('old objects are not kept for rules that ask of the object alone', () => {
  const keeps = storesPrevious([
    kindsToStore(rule({ when: { kind: 'Deployment' }, if: 'object.spec.replicas > 1' }), false),
  ])
  expect(keeps(DEPLOYMENT)).toBe(false)
})

/** As an object of 1 MB may have it: one key that is most of it, with many values below. */
const longKey = (value: number) => ({
  spec: {
    ['k'.repeat(500_000)]: Object.fromEntries(Array.from({ length: 10_000 }, (_, i) => [`v${i}`, value])),
  },
})

test('values below a very long key are compared without a copy of the key for each', async () => {
  const given = change(longKey(1), longKey(2))
  expect(matches({ changed: ['spec.*.*'] }, given)).toBe(true)
  expect(matches({ unchanged: ['spec.*.*'] }, change(longKey(1), longKey(1)))).toBe(true)
  expect(await leastCpuMs(500, () => matches({ changed: ['spec.*.*'] }, given))).toBeLessThan(500)
})

test('two long keys that differ at their end are two', () => {
  const [a, b] = [`${'k'.repeat(500)}a`, `${'k'.repeat(500)}b`]
  expect(
    matches({ changed: ['spec.*'] }, change({ spec: { [a]: 1, [b]: 2 } }, { spec: { [a]: 2, [b]: 1 } })),
  ).toBe(true)
  expect(
    matches({ changed: ['spec.*'] }, change({ spec: { [a]: 1, [b]: 2 } }, { spec: { [b]: 2, [a]: 1 } })),
  ).toBe(false)
})

test('what is nested too deeply to be compared says so', () => {
  const deep = (inner: number) => JSON.parse(`${'{"a":'.repeat(9_000)}${inner}${'}'.repeat(9_000)}`) as object
  const objects = change({ spec: deep(1) }, { spec: deep(2) })
  const event = Object.defineProperties(eventOf({ resource: NODE, type: 'MODIFIED' }), {
    object: { value: objects.object },
    oldObject: { value: objects.old },
  })
  for (const keys of [{ changed: ['spec'] }, { from: { spec: '*a*' } }, { 'to-state': { spec: '*a*' } }]) {
    const errors: string[] = []
    const match = compileRules([rule(keys), rule({ to: 'other' })], {
      onError: (_, error) => void errors.push((error as Error).message),
    })
    expect(match(event).sends).toEqual([{ sink: 'other', rule: 'r' }])
    expect(errors).toEqual(['a value is nested too deeply to be compared'])
  }
})

test.each([{ changed: 'spec.n' }, { unchanged: 'spec.n' }, { from: { 'spec.n': '1' } }])(
  'an expression beside %j is not asked of what is not a change',
  (keys) => {
    const fails = { ...keys, if: 'oldObject.spec.n == 1' }
    expect(matches(fails, { type: 'ADDED', object: { spec: { n: 1 } } })).toBe(false)
    expect(() => matches(fails, change({}, { spec: { n: 1 } }))).toThrow('spec')
  },
)
