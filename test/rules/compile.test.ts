import { expect, test } from 'vitest'
import { checkRule, compileRules, type LimitScope } from '../../src/rules/compile.ts'
import type { Rule } from '../../src/rules/schema.ts'
import type { When } from '../../src/rules/when.ts'
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
  ['Event type of what is not an Event', { type: '!Normal' }, { resource: POD }, false],
  ['reason', { reason: ['BackOff', 'OOM*'] }, { resource: EVENT, event: { reason: 'OOMKilling' } }, true],
  ['"not this reason" of what is not an Event', { reason: '!BackOff' }, { resource: POD }, false],
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
  [
    'owner',
    { owner: 'Deployment/web' },
    { owners: [{ kind: 'Deployment', name: 'web', apiVersion: 'apps/v1' }] },
    true,
  ],
  ['an owner that is not known', { owner: '*' }, {}, false],
  ['"no owner" where it is not known', { owner: '!*' }, {}, true],
  ['labels of the namespace', { namespaceLabels: 'env=prod' }, { namespaceLabels: { env: 'prod' } }, true],
  [
    'an annotation of the namespace, whose value no label can have',
    { namespaceAnnotations: 'team/slack=#shop' },
    { namespaceAnnotations: { 'team/slack': '#shop' } },
    true,
  ],
  [
    'an annotation of the regarded object, whose value no label can have',
    { regarding: { annotations: 'team/slack!=#shop' } },
    { resource: EVENT, regardingAnnotations: { 'team/slack': '#pay' } },
    true,
  ],
  ['labels of a namespace that is not known', { namespaceLabels: 'env' }, {}, false],
  ['"not these labels" of a namespace that is not known', { namespaceLabels: 'env!=prod' }, {}, true],
  ['a label pattern of a namespace that is not known', { namespaceLabels: { env: '!prod' } }, {}, true],
  [
    'labels of what an Event is about',
    { regarding: { labels: { team: 'shop' } } },
    { resource: EVENT, regardingLabels: { team: 'shop' } },
    true,
  ],
  [
    'labels of what an Event is about, not known',
    { regarding: { labels: 'team' } },
    { resource: EVENT },
    false,
  ],
  ['"not these" of what an Event is about', { regarding: { labels: '!team' } }, { resource: EVENT }, true],
  ['"not these" of what is not an Event', { regarding: { labels: '!team' } }, { resource: POD }, false],
  [
    'the owner of what an Event is about',
    { regarding: { owner: 'Job/*' } },
    { resource: EVENT, regardingOwners: [{ kind: 'Job', name: 'nightly' }] },
    true,
  ],
  ['synthesized', { synthesized: true }, { synthesized: true }, true],
  ['not synthesized', { synthesized: false }, { synthesized: true }, false],
  ['a young object', { age: '<5m' }, { created: '2026-11-21T05:57:00Z' }, true],
  ['an object that is too old', { age: '<5m' }, { created: '2026-11-21T05:50:00Z' }, false],
  ['an object from the future, by its clock', { age: '<5m' }, { created: '2026-11-21T06:10:00Z' }, true],
  ['an age that nobody knows', { age: '>=0s' }, {}, false],
  ['regarding of what is not an Event', { regarding: { kind: '!Node' } }, { resource: POD }, false],
])('asks for %s', (_, when, parts, expected) => {
  expect(matches(when, parts)).toBe(expected)
})

test.each<[string, When]>([
  ['a pattern', { annotations: { page: 'true' } }],
  ['a selector', { annotations: 'page=true' }],
])('an annotation of one object is none of the next, asked by %s', (_, when) => {
  const match = compileRules([rule('paged', ['one'], when)], { onError: fail })
  const sends = (annotations: Record<string, string>) => match(clusterEvent({ annotations })).sends.length
  expect([sends({ page: 'true' }), sends({}), sends({ other: 'true' }), sends({ page: 'true' })]).toEqual([
    1, 0, 0, 1,
  ])
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
  expect([...new Set(asked)]).toEqual(['labels', 'annotations', 'event'])
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

test('continue: false ends behind a rule that matched, and keeps what it sent', () => {
  const last: Rule = { ...rule('last', ['one'], { kind: 'Pod' }), continue: false }
  const match = compileRules([last, rule('below', ['two'])], { onError: fail })
  expect(match(clusterEvent())).toEqual({
    sends: [{ sink: 'one', rule: 'last' }],
    limited: [],
    dropped: false,
  })
  expect(match(clusterEvent({ resource: NODE })).sends).toEqual([{ sink: 'two', rule: 'below' }])
})

test('onError: deliver takes a condition that fails for one that holds, and asks the others', () => {
  const failed: string[] = []
  const broken = Object.defineProperty(clusterEvent(), 'labels', {
    get: () => {
      throw new Error('no JSON')
    },
  })
  const careful = (name: string, when: When): Rule => ({ ...rule(name, [name], when), onError: 'deliver' })
  const match = compileRules(
    [careful('here', { labels: 'app=web' }), careful('elsewhere', { labels: 'app=web', annotations: 'x' })],
    { onError: (name) => failed.push(name) },
  )
  expect(match(broken).sends).toEqual([{ sink: 'here', rule: 'here' }])
  expect(failed).toEqual(['here', 'elsewhere'])
})

test('a rule with limits takes its sinks; one that follows states hears of all events of its kinds', () => {
  const limits: Record<string, LimitScope> = { states: 'states', events: 'events' }
  const rules = [
    rule('states', ['one'], { kind: 'Pod', namespace: 'shop', type: 'MODIFIED' }),
    rule('events', ['one', 'two'], { kind: 'Pod', namespace: 'shop' }),
    rule('plain', ['two', 'three']),
  ]
  const match = compileRules(rules, { onError: fail, limitsOf: (name) => limits[name] })
  const states = (holds: boolean, entered: boolean) => ({
    rule: 'states',
    sinks: holds ? ['one'] : [],
    holds,
    entered,
  })
  const plain = (...sinks: string[]) => sinks.map((sink) => ({ sink, rule: 'plain' }))
  expect(match(clusterEvent({ type: 'MODIFIED' }))).toEqual({
    limited: [states(true, true), { rule: 'events', sinks: ['two'], holds: true, entered: true }],
    sends: plain('three'),
    dropped: false,
  })
  expect(match(clusterEvent({ type: 'ADDED' })).limited).toEqual([
    states(true, false),
    { rule: 'events', sinks: ['one', 'two'], holds: true, entered: true },
  ])
  expect(match(clusterEvent({ namespace: 'web' }))).toEqual({
    limited: [states(false, false)],
    sends: plain('two', 'three'),
    dropped: false,
  })
  expect(match(clusterEvent({ resource: NODE })).limited).toEqual([])
})

test('a rule that follows states hears of what a rule above dropped, but is not entered by it', () => {
  const rules = [drop('noise', { type: 'DELETED' }), rule('down', ['one'], { kind: 'Pod' })]
  const matched: string[] = []
  const match = compileRules(rules, {
    onError: fail,
    onMatch: (name) => matched.push(name),
    limitsOf: (name) => (name === 'down' ? 'states' : undefined),
  })
  expect(match(clusterEvent({ type: 'DELETED' }))).toEqual({
    sends: [],
    limited: [{ rule: 'down', sinks: [], holds: true, entered: false }],
    dropped: true,
    droppedBy: 'noise',
  })
  expect(matched).toEqual(['noise'])
})

test('an index by exact values keeps the order of rules, whatever they are found by', () => {
  const rules = [
    rule('name', ['a'], { name: 'web' }),
    rule('any', ['b']),
    rule('label', ['c'], { labels: 'team in (shop, pay)' }),
    rule('pattern', ['d'], { labels: { tier: ['gold', 'silver', '!silver'] } }),
    rule('namespace', ['e'], { namespace: 'sh*' }),
    rule('other', ['f'], { name: 'api' }),
  ]
  const match = compileRules(rules, { onError: fail })
  const sent = (parts: EventParts) => match(clusterEvent(parts)).sends.map(({ rule }) => rule)
  expect(sent({ labels: { team: 'pay', tier: 'gold' } })).toEqual([
    'name',
    'any',
    'label',
    'pattern',
    'namespace',
  ])
  expect(sent({ labels: { tier: 'silver' }, name: 'api' })).toEqual(['any', 'namespace', 'other'])
  expect(sent({ namespace: 'web', name: 'x' })).toEqual(['any'])
})

test('more namespaces than are remembered, and lists longer than an index takes, change nothing', () => {
  const many = Array.from({ length: 200 }, (_, i) => `web-${i}`)
  const rules = [
    ...many.map((name) => rule(name, ['one'], { name, namespace: 'shop-*' })),
    rule('any', ['two'], { name: many }),
  ]
  const match = compileRules(rules, { onError: fail })
  for (let i = 0; i < 3_000; i++) {
    const event = clusterEvent({ namespace: `shop-${i}`, name: `web-${i % 250}` })
    const expected = i % 250 < 200 ? [`web-${i % 250}`, 'any'] : []
    expect(match(event).sends.map(({ rule }) => rule)).toEqual(expected)
  }
})

test('rules that drop cannot go on or deliver, and an Event has no owner', () => {
  const faults = (it: Omit<Rule, 'name'>) =>
    checkRule(it).map(({ path, message }) => `${path.join('.')}: ${message}`)
  expect(faults({ drop: true, onError: 'deliver' })).toEqual(['onError: a rule that drops delivers nothing'])
  expect(faults({ drop: true, continue: true })).toEqual(['continue: a rule that drops always ends'])
  expect(faults({ when: { kind: 'Event', owner: 'Job' }, to: ['a'] })).toEqual([
    'when.owner: an Event has no owner',
  ])
  expect(faults({ drop: true, continue: false, onError: 'skip' })).toEqual([])
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
    'when.namespace',
    'when.name',
    'when.labels.a b',
    'when.labels.ok.0',
    'when.annotations',
    'when.type.1',
    'when.regarding.name',
  ])
})

test.each([[['ADDED', '!ADDED']], [['!ADDED', '!MODIFIED', '!DELETED']], [['!Normal', '!Warning']]])(
  'the types %j leave nothing and are refused',
  (type) => {
    expect(checkRule({ when: { type } })).toHaveLength(1)
  },
)

test('a rule that follows states says nothing of an object that it cannot read', () => {
  const faults: string[] = []
  const match = compileRules([rule('down', ['one'], { labels: 'app=web' })], {
    onError: (name) => faults.push(name),
    limitsOf: () => 'states',
  })
  const unreadable = Object.defineProperty({ ...clusterEvent() }, 'labels', {
    get() {
      throw new Error('no labels')
    },
  })
  expect(match(unreadable)).toEqual({ sends: [], limited: [], dropped: false })
  expect(faults).toEqual(['down'])
})

test('a rule that follows states knows that what is deleted is over, whatever it cannot read', () => {
  const match = compileRules([rule('down', ['one'], { labels: 'app=web' })], {
    onError: () => {},
    limitsOf: () => 'states',
  })
  const unreadable = Object.defineProperty({ ...clusterEvent(), type: 'DELETED' as const }, 'labels', {
    get() {
      throw new Error('no labels')
    },
  })
  const over = { rule: 'down', sinks: [], holds: false, entered: false }
  expect(match(unreadable).limited).toEqual([over])
})

test('labels of a namespace that are not known end no state; what fails besides does, and what is deleted', () => {
  const match = compileRules([rule('down', ['one'], { name: 'web', namespaceLabels: 'env=prod' })], {
    onError: () => {},
    limitsOf: () => 'states',
  })
  const limited = (over: Parameters<typeof clusterEvent>[0]) =>
    match(clusterEvent({ name: 'web', namespace: 'shop', ...over })).limited.map(({ holds }) => holds)
  expect(limited({ namespaceLabels: { env: 'prod' } })).toEqual([true])
  expect(limited({ namespaceLabels: { env: 'test' } })).toEqual([false])
  expect(limited({})).toEqual([])
  expect(limited({ name: 'other' })).toEqual([false])
  expect(limited({ type: 'DELETED' })).toEqual([false])
})

const POD_OF = { kind: 'ReplicaSet', name: 'web-1' }
const WEB = { kind: 'Deployment', name: 'web' }

test.each<[string, Partial<Rule>]>([
  ['owner', { when: { kind: 'Pod', owner: 'Deployment/web' } }],
  [
    'event.owner in CEL',
    { when: { kind: 'Pod' }, if: 'event.owner.kind == "Deployment" && event.owner.name == "web"' },
  ],
])('%s: owners that are not known end no state; others do, and what is deleted', (_, of) => {
  const match = compileRules([{ name: 'down', to: ['one'], ...of }], {
    onError: () => {},
    limitsOf: () => 'states',
  })
  const limited = (over: Parameters<typeof clusterEvent>[0]) =>
    match(clusterEvent(over)).limited.map(({ holds }) => holds)
  expect(limited({ owners: [POD_OF, WEB] })).toEqual([true])
  expect(limited({ owners: [POD_OF], lacksOwners: true })).toEqual([])
  expect(limited({})).toEqual([])
  expect(limited({ owners: [POD_OF, { ...WEB, name: 'other' }] })).toEqual([false])
  expect(limited({ owners: [POD_OF] })).toEqual([false])
  expect(limited({ owners: [] })).toEqual([false])
  expect(limited({ type: 'DELETED', owners: [POD_OF], lacksOwners: true })).toEqual([false])
})

test('an owner that a "!" means ends a state, whatever may stand above it; what nobody excludes is waited for', () => {
  const match = compileRules([rule('down', ['one'], { owner: ['*/web', '!ReplicaSet/web-1'] })], {
    onError: () => {},
    limitsOf: () => 'states',
  })
  const limited = (owner: object) =>
    match(clusterEvent({ owners: [owner], lacksOwners: true })).limited.map(({ holds }) => holds)
  expect(limited(POD_OF)).toEqual([false])
  expect(limited({ ...POD_OF, name: 'web-2' })).toEqual([])
})
