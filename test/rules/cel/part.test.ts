import { describe, expect, it, test } from 'vitest'
import { celPart, mentionsObject, mentionsOld, mentionsOwner } from '../../../src/rules/cel/part.ts'
import { compileRules } from '../../../src/rules/compile.ts'
import { EVENT, NODE } from '../events.ts'
import { evaluate, eventOf, type Given } from './evaluate.ts'

const POD = {
  metadata: {
    name: 'web-1',
    generation: 3,
    labels: { app: 'web', 'a/b': 'c' },
    creationTimestamp: '2026-11-21T05:55:00Z',
  },
  spec: {
    replicas: 2,
    ratio: 0.5,
    containers: [{ name: 'app', image: 'nginx:1.27', ports: [80, 443] }],
    limit: '1500Mi',
  },
  status: { phase: 'Running', containerStatuses: [{ name: 'app', restartCount: 4 }] },
}

describe('an if sees', () => {
  it.each<[what: string, text: string, given?: Given]>([
    ['nobody as the writer where none is known', 'event.manager == "" && !has(event.manager)'],
    ['whole numbers as ints', 'object.metadata.generation + 1 == 4 && object.metadata.generation % 2 == 1'],
    ['others as doubles', 'object.spec.ratio * 2.0 == 1.0'],
    [
      'numbers in lists',
      'object.spec.containers[0].ports.exists(p, p + 1 == 81) && 443 in object.spec.containers[0].ports',
    ],
    [
      'lists as wholes',
      'object.spec.containers[0].ports == [80, 443] && object.spec.containers[0].ports.sum() == 523',
    ],
    [
      'what is in items of lists',
      'object.status.containerStatuses.filter(c, c.name == "app")[0].restartCount + 1 == 5',
    ],
    ['what is mapped', 'object.status.containerStatuses.map(c, c.restartCount).max() == 4'],
    [
      'optional fields',
      'object.spec.?nope.orValue(1) + 1 == 2 && object.?spec.?replicas.orValue(0) + 1 == 3',
    ],
    ['keys with any characters', 'object.metadata.labels["a/b"] == "c" && "app" in object.metadata.labels'],
    ['what is there', 'has(object.spec.replicas) && !has(object.spec.paused)'],
    ['bound values', 'cel.bind(c, object.spec.containers[0], c.image.split(":")[1] == "1.27")'],
    ['whole objects', 'object.spec == object.spec && object.spec != object.status'],
    [
      'the change',
      'event.type == "MODIFIED" && oldObject.spec.replicas < object.spec.replicas',
      { type: 'MODIFIED', old: { spec: { replicas: 1 } } },
    ],
    ['no old object of what is new', 'oldObject == null'],
    [
      'the last state of what is gone',
      'event.type == "DELETED" && oldObject.status.phase == "Running"',
      { type: 'DELETED' },
    ],
    [
      'the header',
      'event.kind == "Pod" && event.namespace == "shop" && event.name == "web" && !event.synthesized && cluster == "test"',
    ],
    ['no namespace', 'event.namespace == "" && !has(event.namespace)', { resource: NODE }],
    [
      'when it was observed',
      'now - timestamp(object.metadata.creationTimestamp) == duration("5m") && event.time == now',
    ],
    [
      'no Event where there is none',
      'event.count == 0 && event.reason == "" && !has(event.count) && event.regarding.kind == ""',
    ],
    [
      'an Event',
      'event.count >= 3 && event.eventType == "Warning" && event.regarding.kind == "Pod" && event.lastSeen > event.firstSeen && has(event.reason)',
      {
        resource: EVENT,
        event: {
          count: 3,
          type: 'Warning',
          regarding: { kind: 'Pod' },
          firstSeen: '2026-11-21T05:00:00Z',
          lastSeen: '2026-11-21T05:30:00Z',
        },
      },
    ],
    [
      'the controller above what an Event is about, as limits and templates do',
      'event.owner.kind == "Job" && has(event.owner) && event.owner.name == event.regarding.owner.name',
      { resource: EVENT, regardingOwners: [{ kind: 'Job', name: 'nightly' }], owners: [] },
    ],
    [
      'the top of the controllers above an object',
      'event.owner.kind == "Deployment" && event.owner.name == "web"',
      {
        owners: [
          { kind: 'ReplicaSet', name: 'web-5d4f' },
          { kind: 'Deployment', name: 'web' },
        ],
      },
    ],
    [
      'quantities',
      'quantity("1k") == quantity("1000") && quantity(object.spec.limit).isGreaterThan(quantity("1Gi")) && quantity("1.5Gi").compareTo(quantity("1536Mi")) == 0',
    ],
    [
      'sums of quantities',
      'quantity("200m").add(quantity("0.3")).asApproximateFloat() == 0.5 && quantity("2k").sub(1).asInteger() == 1999',
    ],
    [
      'what is a quantity',
      'isQuantity("10Mi") && !isQuantity("10MB") && quantity("-1").sign() == -1 && !quantity("0.5").isInteger()',
    ],
    [
      'URLs',
      'isURL("https://a.example/x") && url("https://a.example:8443/x?y=1").getPort() == "8443" && url("https://a.example/x").getHost() == "a.example"',
    ],
    [
      'parts of URLs',
      'url("https://a.example/x?y=1&y=2").getQuery()["y"].size() == 2 && url("/only/a/path").getEscapedPath() == "/only/a/path"',
    ],
    [
      'addresses',
      'ip("10.1.2.3").family() == 4 && isIP("::1") && !isIP("10.1.2") && ip("fe80::1").isLinkLocalUnicast() && string(ip("2001:db8:0:0::1")) == "2001:db8::1"',
    ],
    [
      'addresses for special use',
      'ip("127.1.2.3").isLoopback() && ip("::1").isLoopback() && !ip("128.0.0.1").isLoopback() && !ip("::2").isLoopback() && ip("169.254.9.9").isLinkLocalUnicast() && ip("febf::1").isLinkLocalUnicast() && !ip("fec0::1").isLinkLocalUnicast() && ip("224.0.0.5").isLinkLocalMulticast() && !ip("224.0.1.5").isLinkLocalMulticast() && ip("ff02::1").isLinkLocalMulticast()',
    ],
    [
      'addresses that all may reach',
      '["10.1.2.3", "8.8.8.8", "2001:db8::1"].all(it, ip(it).isGlobalUnicast()) && !["127.0.0.1", "239.1.1.1", "255.255.255.255", "0.0.0.0", "::", "ff0e::1", "fe80::1"].exists(it, ip(it).isGlobalUnicast())',
    ],
    [
      'ranges of addresses',
      'cidr("10.0.0.0/8").containsIP("10.1.2.3") && cidr("10.1.2.3/8").masked() == cidr("10.1.2.3/8").masked() && cidr("10.0.0.0/8").containsCIDR("10.3.0.0/16") && !isCIDR("10.0.0.0/33")',
    ],
    [
      'texts',
      '"Straße 🔴x".size() == 9 && "Straße 🔴x".indexOf("x") == 8 && "ABC".lowerAscii() == "abc" && "a-b-c".replace("-", "+", 1) == "a+b-c"',
    ],
    [
      'formatted texts',
      '"%s: %d of %.1f".format([dyn(event.name), dyn(3), dyn(4.26)]) == "web: 3 of 4.3" && "%s".format([[1, 2]]) == "[1, 2]"',
    ],
    [
      'expressions',
      'object.spec.containers[0].image.matches("^nginx:[0-9.]+$") && "a1b22".findAll("[0-9]+") == ["1", "22"] && "a1".find("[0-9]") == "1"',
    ],
    [
      'lists',
      '[1, 2, 2].isSorted() && [3, 1].min() == 1 && ["a", "b", "a"].lastIndexOf("a") == 2 && [1, 2].indexOf(3) == -1',
    ],
  ])('%s', (_what, text, given = {}) => {
    expect(evaluate(text, { object: POD, ...given })).toBe(true)
  })
})

describe('hostile keys mislead nobody', () => {
  const labels = JSON.parse(
    '{"constructor":"x","__proto__":"y","hasOwnProperty":"z","$typeName":"t","toString":"s","app":"web"}',
  ) as object
  const object = {
    metadata: { labels, list: [labels, { n: 1, constructor: { a: 2 } }] },
    spec: { replicas: 1 },
  }

  it.each([
    'object.metadata.labels.app == "web"',
    'object.metadata.labels.constructor == "x" && object.metadata.labels["__proto__"] == "y" && object.metadata.labels.hasOwnProperty == "z"',
    'has(object.metadata.labels.app) && !has(object.metadata.labels.prototype)',
    'object.metadata.labels.exists(k, k == "constructor") && object.metadata.labels.size() == 6',
    'object.metadata.list.exists(l, l.n == 1 && l.constructor.a + 1 == 3)',
    'object.metadata.list.filter(l, has(l.n)).size() == 1 && object == object',
    'object.spec.replicas + 1 == 2',
  ])('%s', (text) => {
    expect(evaluate(text, { object })).toBe(true)
  })

  it('does not see what it inherits', () => {
    const plain = { object: { metadata: { labels: { app: 'web' } } } }
    expect(
      evaluate('has(object.metadata.labels.constructor) || "toString" in object.metadata.labels', plain),
    ).toBe(false)
    expect(() => evaluate('object.metadata.labels.constructor == "x"', plain)).toThrow(
      'no such key: constructor',
    )
  })

  it('finds a key whose letters are escaped', () => {
    const json = '{"metadata":{"labels":{"\\u0063onstructor":"x","app":"web"}}}'
    const parts = { object: { value: JSON.parse(json) }, objectJson: { value: Buffer.from(json) } }
    expect(evaluate('object.metadata.labels.app == "web"', Object.create(eventOf(), parts))).toBe(true)
  })

  it('finds it in the old object', () => {
    expect(evaluate('oldObject.metadata.labels.app == "web"', { type: 'MODIFIED', old: object })).toBe(true)
  })
})

test('what fails says what was missing, and where', () => {
  const given = { object: POD }
  expect(() => evaluate('object.status.containerStatuses[0].restarts > 3', given)).toThrow(
    'no such key: restarts, in object.status.containerStatuses[0].restarts',
  )
  expect(() => evaluate('oldObject.status.phase != "x"', given)).toThrow(
    'no such key: status, in oldObject.status',
  )
  expect(() => evaluate('object.spec.containers[1].name == "x"', given)).toThrow('index out of bounds')
  expect(() => evaluate('object.status.phase', given)).toThrow(
    'gives a text where true or false is asked for',
  )
  expect(() => evaluate('now.getHours(object.status.phase) > 7', given)).toThrow('time zone')
  expect(() => evaluate('quantity(object.status.phase).isInteger()', given)).toThrow(
    '"Running" is not a quantity',
  )
})

test('an error is absorbed where the other side decides', () => {
  expect(evaluate('event.type == "ADDED" || oldObject.status.phase != "Failed"')).toBe(true)
})

test('a rule whose expression fails does not match, and is told; others go on', () => {
  const errors: string[] = []
  const match = compileRules(
    [
      { name: 'broken', if: 'object.nope > 1', to: ['a'] },
      { name: 'fine', if: 'object.spec.replicas == 2', to: ['b'] },
      { name: 'delivers', if: 'object.nope > 1', onError: 'deliver', to: ['c'] },
    ],
    { onError: (rule, error) => errors.push(`${rule}: ${(error as Error).message}`) },
  )
  expect(match(eventOf({ object: POD })).sends.map(({ rule }) => rule)).toEqual(['fine', 'delivers'])
  expect(errors).toEqual([
    'broken: no such key: nope, in object.nope',
    'delivers: no such key: nope, in object.nope',
  ])
})

describe('a rule that tracks states, and an expression with an error', () => {
  const holdsOf = (text: string, parts: Partial<Parameters<typeof eventOf>[0]>) => {
    const rules = [{ name: 'state', when: {}, if: text, to: ['screen'] }]
    const match = compileRules(rules, { onError: () => {}, limitsOf: () => 'states' })
    return match(eventOf({ type: 'MODIFIED', ...parts })).limited.map(({ holds }) => holds)
  }

  it.each<[what: string, text: string, object: Record<string, unknown>]>([
    ['a field', 'object.spec.paused', { spec: {} }],
    ['a parent of the field', 'object.spec.paused', {}],
    ['an item of a list', 'object.status.conditions[0].status == "False"', { status: { conditions: [] } }],
  ])('ends the state if the object has no longer %s', (_, text, object) => {
    expect(holdsOf(text, { object })).toEqual([false])
  })

  it('begins it while the field is there', () => {
    expect(holdsOf('object.spec.paused', { object: { spec: { paused: true } } })).toEqual([true])
  })

  it.each<[what: string, text: string]>([
    ['too much work', 'object.l.all(a, object.l.all(b, object.l.all(c, a + b + c >= 0)))'],
    ['a value of another type', 'object.l'],
    ['a previous object that is unknown', 'oldObject.l[0] == 1'],
    ['labels of a namespace that are unknown', 'event.namespaceLabels["env"] == "prod"'],
  ])('does not end it because of %s', (_, text) => {
    const object = {
      metadata: { namespace: 'shop', name: 'web' },
      l: Array.from({ length: 100 }, (_, i) => i),
    }
    expect(holdsOf(text, { object })).toEqual([])
  })
})

test('an expression over the header alone costs no look at the object', () => {
  const cost = (text: string) => {
    const part = celPart({ if: text })
    return part.ok && part.value.conditions[0]?.cost
  }
  expect(cost('event.type == "ADDED" && event.name.startsWith("web")')).toBe(0)
  expect(cost('event.count > 3')).toBeGreaterThan(0)
  expect(cost('object.spec.replicas > 3')).toBeGreaterThan(cost('event.count > 3') as number)
})

test('what it looked at can be shown', () => {
  const part = celPart({ if: 'object.spec.replicas > 1 && event.name == "web" && has(object.spec.nope)' })
  const seen = part.ok && part.value.conditions[0]?.seen?.(eventOf({ object: POD }))
  expect(seen).toEqual({ 'object.spec.replicas': 2, 'event.name': 'web', 'object.spec.nope': undefined })
})

test('old objects are wanted by expressions that mention them', () => {
  expect(mentionsOld('oldObject.spec != object.spec')).toBe(true)
  expect(mentionsOld('object.spec.oldObject == "oldObject"')).toBe(false)
  expect(mentionsObject('object.spec.paused')).toBe(true)
  expect(mentionsObject('event.name == "object" && oldObject == null')).toBe(false)
  expect(mentionsOwner('has(event.owner) && event["owner"].name == "web"')).toBe(true)
  expect(mentionsOwner('event.regarding.owner.name == "web" || event.name == "owner"')).toBe(false)
})
