import { expect, test } from 'vitest'
import { fieldChanges } from '../../src/rules/field-changes.ts'
import { leastCpuMs } from '../cpu-time.ts'

const DEPLOYMENT = { group: 'apps', kind: 'Deployment' }

/** `path: old → new`, one line for each change. */
function told(old: object, next: object, resource = DEPLOYMENT): string[] {
  return fieldChanges(old, next, resource).map(
    (it) => `${it.path}: ${JSON.stringify(it.old)} → ${JSON.stringify(it.new)}`,
  )
}

const web = (spec: object) => ({ spec: { template: { spec } } })

type Row = [what: string, old: object, next: object, lines: string[]]

const ROWS: Row[] = [
  [
    'an image, by the name of its container',
    web({
      containers: [
        { name: 'log', image: 'fluent:3' },
        { name: 'web', image: 'nginx:1' },
      ],
    }),
    web({
      containers: [
        { name: 'web', image: 'nginx:2' },
        { name: 'log', image: 'fluent:3' },
      ],
    }),
    ['spec.template.spec.containers[name=web].image: "nginx:1" → "nginx:2"'],
  ],
  [
    'a container that came, as a whole, and one that went',
    web({ containers: [{ name: 'web' }], initContainers: [{ name: 'migrate', image: 'm:1' }] }),
    web({ containers: [{ name: 'web' }, { name: 'proxy', image: 'envoy:1' }] }),
    [
      'spec.template.spec.containers[name=proxy]: undefined → {"name":"proxy","image":"envoy:1"}',
      'spec.template.spec.initContainers[name=migrate]: {"name":"migrate","image":"m:1"} → undefined',
    ],
  ],
  [
    'a condition, by its type, its times last',
    {
      status: {
        conditions: [
          { type: 'Available', status: 'True', lastTransitionTime: '1', lastUpdateTime: '1' },
          { type: 'Progressing', status: 'True', lastHeartbeatTime: '1', lastProbeTime: null },
        ],
        observedGeneration: 1,
      },
    },
    {
      status: {
        conditions: [
          { type: 'Progressing', status: 'True', lastHeartbeatTime: '2', lastProbeTime: '2' },
          { type: 'Available', status: 'False', lastTransitionTime: '2', lastUpdateTime: '2' },
        ],
        observedGeneration: 2,
      },
    },
    [
      'status.conditions[type=Available].status: "True" → "False"',
      'status.conditions[type=Available].lastTransitionTime: "1" → "2"',
    ],
  ],
  [
    'labels and annotations, with dots and without',
    { metadata: { labels: { tier: 'gold', 'app.kubernetes.io/name': 'a' }, annotations: { 'x"y': '1' } } },
    { metadata: { labels: { tier: 'silver', 'app.kubernetes.io/name': 'b' }, annotations: { 'x"y': '2' } } },
    [
      'metadata.labels.tier: "gold" → "silver"',
      'metadata.labels["app.kubernetes.io/name"]: "a" → "b"',
      'metadata.annotations["x\\"y"]: "1" → "2"',
    ],
  ],
  [
    'nothing but bookkeeping and heartbeats',
    {
      apiVersion: 'apps/v1beta1',
      metadata: {
        resourceVersion: '1',
        generation: 1,
        managedFields: [{}],
        annotations: { 'control-plane.alpha.kubernetes.io/leader': '{"renewTime":"1"}' },
      },
    },
    {
      apiVersion: 'apps/v1',
      metadata: {
        resourceVersion: '2',
        generation: 2,
        annotations: { 'control-plane.alpha.kubernetes.io/leader': '{"renewTime":"2"}' },
      },
    },
    [],
  ],
  [
    'maps that came and went, field by field; null is absent',
    { spec: { resources: { limits: { cpu: '1', memory: '1Gi' } }, paused: null, emptyDir: null } },
    { spec: { resources: { requests: { cpu: '1' } }, emptyDir: {} } },
    [
      'spec.resources.limits.cpu: "1" → undefined',
      'spec.resources.limits.memory: "1Gi" → undefined',
      'spec.resources.requests.cpu: undefined → "1"',
      'spec.emptyDir: undefined → {}',
    ],
  ],
  [
    'lists of scalars as a whole, and values that change their type',
    { spec: { args: ['--a', '--b'], port: 80, ingress: undefined } },
    { spec: { args: ['--a', '--c'], port: '80', ingress: [] } },
    ['spec.args: ["--a","--b"] → ["--a","--c"]', 'spec.port: 80 → "80"', 'spec.ingress: undefined → []'],
  ],
  [
    'items without a key by their place, or as a whole when their number changes',
    {
      spec: {
        rules: [{ http: { paths: [{ path: '/', pathType: 'Exact' }] } }],
        from: [{ a: 1 }],
        tolerations: [
          { key: 'a', effect: 'NoExecute' },
          { key: 'a', effect: 'NoSchedule' },
        ],
      },
    },
    {
      spec: {
        rules: [{ http: { paths: [{ path: '/', pathType: 'Prefix' }] } }],
        from: [{ a: 1 }, { a: 2 }],
        tolerations: [
          { key: 'a', effect: 'NoExecute' },
          { key: 'b', effect: 'NoSchedule' },
        ],
      },
    },
    [
      'spec.rules[0].http.paths[path=/].pathType: "Exact" → "Prefix"',
      'spec.from: [{"a":1}] → [{"a":1},{"a":2}]',
      'spec.tolerations[1].key: "a" → "b"',
    ],
  ],
  [
    'the most telling first: images, spec and data, deletion, status, metadata, ids and times',
    {
      metadata: { labels: { a: '1' } },
      status: { podIP: '1', containerStatuses: [{ name: 'w', containerID: '1', image: 'w:1' }] },
      spec: { replicas: 1, containers: [{ name: 'w', image: 'w:1' }] },
    },
    {
      metadata: { labels: { a: '2' }, deletionTimestamp: '2' },
      status: { podIP: '2', containerStatuses: [{ name: 'w', containerID: '2', image: 'w:2' }] },
      spec: { replicas: 2, containers: [{ name: 'w', image: 'w:2' }] },
    },
    [
      'spec.containers[name=w].image: "w:1" → "w:2"',
      'spec.replicas: 1 → 2',
      'metadata.deletionTimestamp: undefined → "2"',
      'status.podIP: "1" → "2"',
      'status.containerStatuses[name=w].image: "w:1" → "w:2"',
      'metadata.labels.a: "1" → "2"',
      'status.containerStatuses[name=w].containerID: "1" → "2"',
    ],
  ],
  [
    'names of prototypes like any other',
    JSON.parse('{"metadata":{"labels":{"constructor":"a","toString":"x"}}}'),
    JSON.parse('{"metadata":{"labels":{"constructor":"b","__proto__":"c","hasOwnProperty":"d"}}}'),
    [
      'metadata.labels.constructor: "a" → "b"',
      'metadata.labels.toString: "x" → undefined',
      'metadata.labels.__proto__: undefined → "c"',
      'metadata.labels.hasOwnProperty: undefined → "d"',
    ],
  ],
  [
    'names of items that would look like something else, quoted',
    { spec: { env: [{ name: 'a]b=c', value: '1' }] } },
    { spec: { env: [{ name: 'a]b=c', value: '2' }] } },
    ['spec.env[name="a]b=c"].value: "1" → "2"'],
  ],
  [
    'texts whose name says that they are secret without their values, also inside of what came as a whole',
    {
      spec: {
        password: 'old',
        tokenTTL: 1,
        useToken: true,
        containers: [{ name: 'w', env: [{ name: 'DB_PASSWORD', value: 'hunter1' }] }],
      },
    },
    {
      spec: {
        password: 'new',
        tokenTTL: 2,
        useToken: false,
        containers: [
          { name: 'w', env: [{ name: 'DB_PASSWORD', value: 'hunter2' }] },
          { name: 'x', env: [{ name: 'API_KEY', value: 'k' }], apiToken: 't' },
        ],
      },
    },
    [
      'spec.password: "***" → "***"',
      'spec.tokenTTL: 1 → 2',
      'spec.useToken: true → false',
      'spec.containers[name=w].env[name=DB_PASSWORD].value: "***" → "***"',
      'spec.containers[name=x]: undefined → {"name":"x","env":[{"name":"API_KEY","value":"***"}],"apiToken":"***"}',
    ],
  ],
]

test.each(ROWS)('tells %s', (_what, old, next, lines) => {
  expect(told(old, next)).toEqual(lines)
})

test('a Lease that was renewed tells nothing, one that changed its holder does', () => {
  const lease = { group: 'coordination.k8s.io', kind: 'Lease' }
  expect(told({ spec: { renewTime: '1' } }, { spec: { renewTime: '2' } }, lease)).toEqual([])
  expect(told({ spec: { holderIdentity: 'a' } }, { spec: { holderIdentity: 'b' } }, lease)).toEqual([
    'spec.holderIdentity: "a" → "b"',
  ])
})

test('long texts are shortened to 200 characters, around the first difference', () => {
  const text = (word: string) => `${'line\n'.repeat(1_000)}${word}${'\nline'.repeat(1_000)}`
  const [change] = fieldChanges({ data: { x: text('old') } }, { data: { x: text('new') } }, DEPLOYMENT)
  expect(change?.old).toMatch(/^…(line\n)+old(\nline)+/)
  expect(change?.new).toMatch(/^…(line\n)+new(\nline)+/)
  expect(String(change?.old).length).toBe(200)
  const args = (last: string) => ({ args: [...Array.from({ length: 50 }, (_, i) => `--flag-${i}=1`), last] })
  const [flags] = fieldChanges({ spec: args('--x=1') }, { spec: args('--x=2') }, DEPLOYMENT)
  expect([flags?.old, flags?.new]).toEqual([
    expect.stringMatching(/^….*"--x=1"\]$/),
    expect.stringMatching(/^….*"--x=2"\]$/),
  ])
})

test.each([
  ['one item', (i: number) => `--flag-${i}`, [700]],
  ['many', (i: number) => i, [650, 651, 999]],
  ['what is secret, and an item', (i: number) => `https://me:word-${i}@host`, [640, 700]],
])(
  'a long list is told as a shorter one would be, around its first visible difference: %s',
  (_, itemOf, at) => {
    const old = Array.from({ length: 1_000 }, (_, i) => itemOf(i))
    const next = old.map((it, i) =>
      at.includes(i) ? `${String(it).replace('word', 'other')}${i === 640 ? '' : '-x'}` : it,
    )
    const shown = (from: number) =>
      fieldChanges({ spec: { a: old.slice(from) } }, { spec: { a: next.slice(from) } }, DEPLOYMENT)
    const [whole] = shown(0)
    expect(shown(600)).toEqual([whole])
    expect([whole?.old, whole?.new]).toEqual([
      expect.stringMatching(/^….*…$/),
      expect.stringMatching(/^….*-x.*…$/),
    ])
  },
)

test('what is cut stays well-formed text', () => {
  const smile = '😀'.repeat(5_000)
  const old = { data: { a: smile, [`${smile}1`]: '1' } }
  const changes = fieldChanges(old, { data: { a: `x${smile}` } }, DEPLOYMENT)
  expect(changes).toHaveLength(2)
  expect(JSON.stringify(changes).isWellFormed()).toBe(true)
  expect(changes.every(({ path }) => path.isWellFormed() && path.length <= 300)).toBe(true)
})

/** Milliseconds for comparing two objects of about a megabyte; the limit is far above what they take. */
const MAX_CPU_MS = 3_000

const wide = (value: number) =>
  Object.fromEntries(Array.from({ length: 10_000 }, (_, i) => [`key-${i}`, { value, text: 'x'.repeat(80) }]))
const deep = (leaf: string) => JSON.parse(`${'{"a":'.repeat(5_000)}"${leaf}"${'}'.repeat(5_000)}`)
const abyss = (leaf: string) => JSON.parse(`${'[{"a":'.repeat(100_000)}"${leaf}"${'}]'.repeat(100_000)}`)
const list = (value: number) => Array.from({ length: 10_000 }, (_, i) => ({ name: `n${i}`, value }))

test.each([
  ['10,000 keys', wide(1), wide(2)],
  ['10,000 items', list(1), list(2)],
  ['10,000 items that came and went', list(1), list(1).map(({ name }) => ({ name: `${name}x` }))],
  ['10,000 items without a key', list(1).map(({ value }) => [value]), list(2).map(({ value }) => [value])],
  ['5,000 levels', deep('a'), deep('b')],
  ['200,000 levels', abyss('a'), abyss('b')],
  ['a text of 1 MB that looks like logins', '//a:'.repeat(250_000), `${'//a:'.repeat(249_999)}b`],
  ['a text of 1 MB', 'a'.repeat(1_000_000), `${'a'.repeat(999_999)}b`],
])('a hostile object costs bounded time and gives few, small changes: %s', async (_what, old, next) => {
  const compare = () => fieldChanges({ spec: old }, { spec: next }, DEPLOYMENT)
  expect(await leastCpuMs(MAX_CPU_MS, compare)).toBeLessThan(MAX_CPU_MS)
  const changes = compare()
  expect(changes.length).toBeGreaterThan(0)
  expect(changes.length).toBeLessThanOrEqual(40)
  for (const change of changes) expect(JSON.stringify(change).length).toBeLessThan(1_500)
})

test('the API conventions are kept over many other fields: spec is told although status fills the limit', () => {
  const status = (value: number) =>
    Object.fromEntries(Array.from({ length: 10_000 }, (_, i) => [`s${i}`, value]))
  expect(
    told({ status: status(1), spec: { replicas: 1 } }, { status: status(2), spec: { replicas: 2 } })[0],
  ).toBe('spec.replicas: 1 → 2')
})

test('what is named comes first, also when there are more changes than are told', () => {
  const spec = (value: number) =>
    Object.fromEntries(Array.from({ length: 60 }, (_, i) => [`field${i}`, value]))
  const at = (value: number) => ({ spec: spec(value), metadata: { labels: { release: value } } })
  const named = fieldChanges(at(1), at(2), DEPLOYMENT, (way) => way.at(-1)?.key === 'release')
  expect(named[0]).toEqual({ path: 'metadata.labels.release', old: 1, new: 2 })
  expect(named).toHaveLength(40)
  expect(fieldChanges(at(1), at(2), DEPLOYMENT).map(({ path }) => path)).not.toContain(
    'metadata.labels.release',
  )
})
