import { describe, expect, it, test } from 'vitest'
import { parsePath } from '../../src/rules/path.ts'
import { differs, valuesAt } from '../../src/rules/path-values.ts'

function read(text: string, object: unknown): unknown[] {
  const path = parsePath(text)
  if (!path.ok) throw new Error(path.faults[0]?.message)
  return [...valuesAt(path.value, object).values()]
}

function changed(text: string, old: unknown, next: unknown): boolean {
  const path = parsePath(text)
  return path.ok && differs(path.value, old, next)
}

const OBJECT = {
  metadata: { labels: { app: 'web', 'a/b.c': 'x', 'it"s': 'q' } },
  spec: {
    containers: [
      { name: 'app', image: 'nginx:1', ports: [80] },
      { name: 'proxy', image: 'envoy:1' },
    ],
  },
  data: { '0': 'zero', '007': 'agent' },
  status: {
    conditions: [
      { type: 'Ready', status: 'True' },
      { type: 'a b', status: 'no' },
    ],
  },
}

describe('a path reads', () => {
  it.each([
    ['spec.containers.*.image', ['nginx:1', 'envoy:1']],
    ['spec.containers[*].image', ['nginx:1', 'envoy:1']],
    ['spec.containers[name=app].image', ['nginx:1']],
    ['spec.containers[name="app"].image', ['nginx:1']],
    ['spec.containers[1].name', ['proxy']],
    ['spec.containers[0].ports[0]', [80]],
    ['spec.containers.0.ports.0', [80]],
    ['data.0', ['zero']],
    ['data.007', ['agent']],
    ['metadata.labels["a/b.c"]', ['x']],
    ["metadata.labels['a/b.c']", ['x']],
    ['metadata.labels[a/b.c]', ['x']],
    ['metadata.labels["it\\"s"]', ['q']],
    ['metadata.labels.*', ['web', 'x', 'q']],
    ['status.conditions[type=Ready].status', ['True']],
    ['status.conditions[type=a b].status', ['no']],
    ["status.conditions[?(@.type=='Ready')].status", undefined],
    ['spec.nope.image', []],
    ['spec.containers.name', []],
    ['spec.containers[7]', []],
    ['metadata.constructor', []],
    ['metadata.labels.toString', []],
  ])('%s', (text, values) => {
    if (values === undefined) expect(parsePath(text).ok).toBe(false)
    else expect(read(text, OBJECT)).toEqual(values)
  })
})

test.each([
  ['', 'is empty', 'write a path, such as spec.replicas'],
  ['spec.**.image', '**', 'write each step, such as spec.containers.*.image ("*" is any key or item)'],
  ['spec.template.**', 'spec.template.**', 'write spec.template (all that is below it counts)'],
  ['/spec/replicas', '/spec/replicas', 'write spec.replicas'],
  ['.spec.replicas', '.spec.replicas', 'write spec.replicas'],
  ['$.spec.replicas', '$.spec.replicas', 'write spec.replicas'],
  ['{.spec.replicas}', '{.spec.replicas}', 'write spec.replicas'],
  ['object.spec.replicas', 'object.spec.replicas', 'write spec.replicas (paths begin in the object)'],
  ['sepc.replicas', 'sepc', 'did you mean "spec"?'],
  ['labels.app', 'labels.app', 'write metadata.labels.app'],
  ['conditions[type=Ready]', 'conditions[type=Ready]', 'write status.conditions[type=Ready]'],
  ['metadata.labels.app.io', 'metadata.labels.app.io', 'write metadata.labels["app.io"]'],
  ['metadata.labels.v.1', 'metadata.labels.v.1', 'write metadata.labels["v.1"]'],
  ['spec..image', 'spec..image', 'write spec.image'],
  ['spec.image.', 'spec.image.', 'write spec.image'],
  ['spec.a[0].', '.', 'a name is missing between two dots, or at an end'],
  ['spec.con*.image', 'con', '"*" is a step of its own: containers.*.image'],
  ['spec.containers[name=app', '[', undefined],
  ['spec.containers[name=]', '[name=]', 'write [name=app]'],
  ['spec.containers[?(@.x)]', '[?(@.x)]', 'write [name=app], ["a/b"], [0] or [*]'],
  ['spec.containers[0]image', 'i', 'separate steps by dots: spec.replicas'],
])('"%s" is refused at "%s"', (text, place, hint) => {
  const result = parsePath(text)
  const fault = result.ok ? undefined : result.faults[0]
  const { offset, length = 0 } = fault ?? {}
  expect(offset === undefined ? fault?.message : text.slice(offset, offset + length)).toBe(place)
  expect(fault?.hint).toBe(hint)
})

describe('what differs', () => {
  const images = (...list: [name: string, image: string][]) => ({
    spec: { containers: list.map(([name, image]) => ({ name, image })) },
  })
  const IMAGE = 'spec.containers.*.image'

  it('is a value', () => expect(changed(IMAGE, images(['a', '1']), images(['a', '2']))).toBe(true))
  it('is an item that came', () =>
    expect(changed(IMAGE, images(['a', '1']), images(['a', '1'], ['b', '1']))).toBe(true))
  it('is an item that went', () =>
    expect(changed(IMAGE, images(['a', '1'], ['b', '1']), images(['a', '1']))).toBe(true))
  it('is not the order of items', () =>
    expect(changed(IMAGE, images(['a', '1'], ['b', '2']), images(['b', '2'], ['a', '1']))).toBe(false))
  it('is the order of a list, where no step goes into its items', () => {
    const [before, after] = [images(['a', '1'], ['b', '2']), images(['b', '2'], ['a', '1'])]
    expect([changed('spec.containers', before, after), changed('spec', before, after)]).toEqual([true, true])
  })
  it('is two values exchanged', () =>
    expect(changed(IMAGE, images(['a', '1'], ['b', '2']), images(['a', '2'], ['b', '1']))).toBe(true))
  it('is not the order of keys', () =>
    expect(changed('spec', { spec: { a: 1, b: [2] } }, { spec: { b: [2], a: 1 } })).toBe(false))
  it('is what is deep inside', () =>
    expect(changed('spec', { spec: { a: [{ b: 1 }] } }, { spec: { a: [{ b: 2 }] } })).toBe(true))
  it('is a key called as others are inherited', () =>
    expect(
      changed(
        'metadata.labels',
        { metadata: { labels: {} } },
        { metadata: { labels: JSON.parse('{"__proto__":"x"}') as object } },
      ),
    ).toBe(true))
  it('is what was not there', () =>
    expect(changed('spec.paused', { spec: {} }, { spec: { paused: false } })).toBe(true))
  it.each(['spec', 'spec.template', 'spec.template.metadata.*', 'spec.paused', 'spec.claims.*.status'])(
    'is not null instead of absent: %s',
    (path) => {
      const withNull = {
        spec: {
          template: { metadata: { creationTimestamp: null, labels: { a: 'b' } } },
          paused: null,
          claims: [{ status: null, n: 1 }],
        },
      }
      const without = { spec: { template: { metadata: { labels: { a: 'b' } } }, claims: [{ n: 1 }] } }
      expect([changed(path, withNull, without), changed(path, without, withNull)]).toEqual([false, false])
    },
  )
  it.each([
    ['a value instead of null', { a: null, b: 1 }, { a: 0, b: 1 }],
    ['another key and a null', { a: null }, { b: 1 }],
    ['an empty map instead of null', { a: null }, { a: {} }],
  ])('is %s', (_, before, after) => {
    const [old, next] = [{ spec: before }, { spec: after }]
    expect([changed('spec', old, next), changed('spec', next, old)]).toEqual([true, true])
  })
})

describe('several items with the same value of a key', () => {
  const ports = (...list: [name: string, protocol: string, port: number][]) => ({
    spec: { ports: list.map(([name, protocol, port]) => ({ name, protocol, port })) },
  })
  const TCP = 'spec.ports[protocol=TCP].port'
  const two = ports(['http', 'TCP', 80], ['https', 'TCP', 443])

  it('count all', () => expect(read(TCP, two)).toEqual([80, 443]))
  it.each([
    ['the first', ports(['http', 'TCP', 8080], ['https', 'TCP', 443]), true],
    ['the last', ports(['http', 'TCP', 80], ['https', 'TCP', 8443]), true],
    ['one that was removed', ports(['http', 'TCP', 80]), true],
    ['one of another value', ports(['dns', 'UDP', 53], ['http', 'TCP', 80], ['https', 'TCP', 443]), false],
    ['their order', ports(['https', 'TCP', 443], ['http', 'TCP', 80]), false],
  ])('%s: a change %j is %j', (_, next, expected) => expect(changed(TCP, two, next)).toBe(expected))
  it('are compared without their names where each state has one', () => {
    const one = (name: string, port: number) => ports([name, 'TCP', port], [`${name}-dns`, 'UDP', 53])
    expect(changed(TCP, one('http', 80), one('web', 80))).toBe(false)
    expect(changed(TCP, one('http', 80), one('http', 8080))).toBe(true)
  })
  it('are identified, where the key is a name, only if there are several', () => {
    const mounts = (...paths: string[]) => ({
      spec: { mounts: paths.map((mountPath) => ({ name: 'data', mountPath, readOnly: true })) },
    })
    const path = 'spec.mounts[name=data].readOnly'
    expect(changed(path, mounts('/a'), mounts('/b'))).toBe(false)
    expect(changed(path, mounts('/a'), mounts('/a', '/b'))).toBe(true)
  })
  it('are bounded', () =>
    expect(read('spec.a[b=1].c', { spec: { a: Array(20_000).fill({ b: 1, c: 2 }) } }).length).toBe(10_000))
})
