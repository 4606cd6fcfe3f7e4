import { expect, test } from 'vitest'
import { checkRule, compileRules } from '../../src/rules/compile.ts'
import type { Rule, When } from '../../src/rules/schema.ts'
import { clusterEvent, DEPLOYMENT, EVENT, type EventParts, NODE, POD } from './events.ts'

const fail = (rule: string, error: unknown): never => {
  throw new Error(`rule ${rule} failed`, { cause: error })
}

function matches(when: When, parts: EventParts): boolean {
  const match = compileRules([{ name: 'rule', when, to: ['sink'] }], { onError: fail })
  return match(clusterEvent(parts)).sends.length === 1
}

const rule = (name: string, to: string[], when: When = {}): Rule => ({ name, when, to })
const drop = (name: string, when: When = {}): Rule => ({ name, when, drop: true })

test('every matching rule sends, and the first that names a sink wins it', () => {
  const rules = [
    rule('a', ['one', 'two']),
    rule('b', ['two', 'three'], { kind: 'Pod' }),
    rule('c', ['four'], { kind: 'Node' }),
  ]
  expect(compileRules(rules, { onError: fail })(clusterEvent())).toEqual({
    limited: [],
    sends: [
      { sink: 'one', rule: 'a' },
      { sink: 'two', rule: 'a' },
      { sink: 'three', rule: 'b' },
    ],
    dropped: false,
  })
})

test('each rule whose conditions hold is told, until one drops', () => {
  const held: string[] = []
  const rules = [
    rule('a', ['one']),
    rule('nodes', ['one'], { kind: 'Node' }),
    rule('b', ['one']),
    drop('noise'),
    rule('c', ['two']),
  ]
  compileRules(rules, { onError: fail, onMatch: (name) => held.push(name) })(clusterEvent())
  expect(held).toEqual(['a', 'b', 'noise'])
})

test('drop ends, and keeps what rules above have sent', () => {
  const below = rule('below', ['two'])
  expect(compileRules([drop('noise'), below], { onError: fail })(clusterEvent())).toEqual({
    sends: [],
    limited: [],
    dropped: true,
    droppedBy: 'noise',
  })
  const match = compileRules([rule('above', ['one']), drop('noise'), below], { onError: fail })
  expect(match(clusterEvent())).toEqual({
    limited: [],
    sends: [{ sink: 'one', rule: 'above' }],
    dropped: false,
    droppedBy: 'noise',
  })
})

test('an event that no rule matches is neither sent nor dropped', () => {
  const match = compileRules([rule('nodes', ['one'], { kind: 'Node' })], { onError: fail })
  expect(match(clusterEvent())).toEqual({ sends: [], limited: [], dropped: false })
})

test.each<[string, When, EventParts, boolean]>([
  ['namespace', { namespace: 'shop' }, {}, true],
  ['another namespace', { namespace: 'web' }, {}, false],
  ['a namespace that a cluster-scoped object has not', { namespace: '*' }, { resource: NODE }, false],
  ['"not this namespace" of a cluster-scoped object', { namespace: '!shop' }, { resource: NODE }, true],
  ['"no namespace" of a cluster-scoped object', { namespace: '!*' }, { resource: NODE }, true],
  ['"no namespace" of a namespaced object', { namespace: '!*' }, {}, false],
  ['name', { name: 'we*' }, {}, true],
  ['type', { type: 'ADDED' }, {}, true],
  ['another type', { type: ['MODIFIED', 'DELETED'] }, {}, false],
  ['"not this type"', { type: '!DELETED' }, {}, true],
  ['label selector', { labels: 'app in (web), !old' }, { labels: { app: 'web' } }, true],
  ['label patterns', { labels: { app: 'w*', tier: '!test' } }, { labels: { app: 'web' } }, true],
  ['a label pattern without the label', { labels: { app: '*' } }, {}, false],
  ['"no such label"', { labels: { app: '!*' } }, {}, true],
  ['a label called as a prototype key', { labels: { constructor: '*' } }, {}, false],
  [
    'annotations',
    { annotations: { 'example.com/owner': '/@shop\\.example$/' } },
    { annotations: { 'example.com/owner': 'a@shop.example' } },
    true,
  ],
  ['annotation selector', { annotations: 'owner=a/b' }, { annotations: { owner: 'a/b' } }, true],
  ['Event type', { type: 'Warning' }, { resource: EVENT, event: { type: 'Warning' } }, true],
  ['the other Event type', { type: 'Warning' }, { resource: EVENT, event: { type: 'Normal' } }, false],
  [
    'both kinds of type',
    { type: ['ADDED', 'Warning'] },
    { resource: EVENT, event: { type: 'Warning' } },
    true,
  ],
  [
    'both kinds of type, one wrong',
    { type: ['DELETED', 'Warning'] },
    { resource: EVENT, event: { type: 'Warning' } },
    false,
  ],
  ['Event type of what is no Event', { type: '!Normal' }, { resource: POD }, false],
  ['reason', { reason: ['BackOff', 'OOM*'] }, { resource: EVENT, event: { reason: 'OOMKilling' } }, true],
  ['"not this reason" of what is no Event', { reason: '!BackOff' }, { resource: POD }, false],
  ['message', { message: '*failed*' }, { resource: EVENT, event: { message: 'it failed again' } }, true],
  [
    'regarding',
    { regarding: { kind: 'pods', namespace: 'shop', name: 'web-*' } },
    {
      resource: EVENT,
      event: { regarding: { kind: 'Pod', apiVersion: 'v1', namespace: 'shop', name: 'web-1' } },
    },
    true,
  ],
  [
    'regarding with a group',
    { regarding: { kind: 'deployments.apps' } },
    { resource: EVENT, event: { regarding: { kind: 'Deployment', apiVersion: 'apps/v1' } } },
    true,
  ],
  [
    'regarding without namespace',
    { regarding: { namespace: '!*' } },
    { resource: EVENT, event: { regarding: { kind: 'Node', name: 'n' } } },
    true,
  ],
  ['regarding of what is no Event', { regarding: { kind: '!Node' } }, { resource: POD }, false],
])('asks for %s', (_, when, parts, expected) => {
  expect(matches(when, parts)).toBe(expected)
})

test('nothing is parsed for rules that the header rules out', () => {
  const asked: string[] = []
  const when = { labels: 'app', annotations: 'owner', message: '*' }
  const rules = [
    rule('kind', ['one'], { ...when, kind: 'Event' }),
    rule('namespace', ['one'], { labels: 'app', namespace: 'web' }),
    rule('type', ['one'], { annotations: 'owner', type: 'DELETED' }),
    rule('name', ['one'], { labels: 'app', name: 'api' }),
  ]
  compileRules(rules, { onError: fail })(clusterEvent({ resource: DEPLOYMENT }, asked))
  expect(asked).toEqual([])
})

test('the object of an Event is parsed only when header, labels and annotations passed', () => {
  const asked: string[] = []
  const rules = [rule('r', ['one'], { message: '*', annotations: 'owner', labels: 'app', kind: 'Event' })]
  const match = compileRules(rules, { onError: fail })
  match(clusterEvent({ resource: EVENT }, asked))
  expect(asked).toEqual(['labels'])
  asked.length = 0
  match(clusterEvent({ resource: EVENT, labels: { app: 'x' }, annotations: { owner: 'y' } }, asked))
  expect(asked.slice(0, 3)).toEqual(['labels', 'annotations', 'event'])
})

test('a rule that fails does not match, is told, and stops no other', () => {
  const failed: string[] = []
  const broken = new Proxy(clusterEvent(), {
    get: (event, key) => {
      if (key === 'labels') throw new Error('no JSON')
      return event[key as keyof typeof event]
    },
  })
  const match = compileRules([rule('bad', ['one'], { labels: 'app' }), rule('good', ['two'])], {
    onError: (name) => failed.push(name),
  })
  expect(match(broken).sends).toEqual([{ sink: 'two', rule: 'good' }])
  expect(failed).toEqual(['bad'])
})

test('all faults of a rule are told at once, each with its path', () => {
  const when: When = {
    kind: ['Pod', 'two words'],
    name: '/(/',
    namespace: '',
    labels: { 'a b': 'x', ok: ['!', 'y'] },
    annotations: 'x in',
    type: ['ADDED', 'added'],
    regarding: { name: '!' },
  }
  expect(checkRule({ when }).map(({ path }) => path.join('.'))).toEqual([
    'when.kind.1',
    'when.type.1',
    'when.namespace',
    'when.name',
    'when.labels.a b',
    'when.labels.ok.0',
    'when.annotations',
    'when.regarding.name',
  ])
})

test.each([[['ADDED', '!ADDED']], [['!ADDED', '!MODIFIED', '!DELETED']], [['!Normal', '!Warning']]])(
  'the types %j leave nothing and are refused',
  (type) => {
    expect(checkRule({ when: { type } })).toHaveLength(1)
  },
)
