// biome-ignore-all lint/suspicious/noTemplateCurlyInString: these are references of the configuration
import { expect, test } from 'vitest'
import { checkBroadWatches } from '../../../src/config/lint/reach.ts'
import { loadText, problemsOf } from '../load-text.ts'

const file = (watch: string, rules: string) =>
  `watch: ${watch}\nsinks: { screen: { type: stdout } }\nrules:\n${rules}`

async function widths(text: string): Promise<string[]> {
  const loaded = await loadText(text)
  if (!loaded.ok) throw new Error(JSON.stringify(loaded.problems))
  return checkBroadWatches(loaded.document).map(
    ({ severity, line, column, message, hint }) => `${severity} ${line}:${column} ${message} = ${hint}`,
  )
}

test.each([
  [
    '[Pod]',
    '  - { name: a, when: { kind: Pod, namespace: shop }, to: screen }\n  - { name: b, when: { namespace: [pay, shop], name: x }, to: screen }',
    'write { kind: Pod, namespaces: [pay, shop] }',
  ],
  [
    '[pods]',
    '  - { name: a, when: { labels: "team=a" }, to: screen }',
    'write { kind: pods, labels: "team=a" }',
  ],
  [
    '[Event]',
    '  - { name: n, when: { type: Normal }, drop: true }\n  - { name: a, when: { namespace: shop }, to: screen }',
    'write { kind: Event, namespaces: [shop] }',
  ],
])(
  'a watch %s that is wider than its rules is told what the API server could pick',
  async (watch, rules, hint) => {
    const what = watch.includes('Event') ? 'Event' : 'Pod'
    expect(await widths(file(watch, rules))).toEqual([
      `warning 1:9 all ${what} objects of the cluster are read, and the rules ask for a part of them = ${hint}`,
    ])
  },
)

test.each(['"${var:prod}"', '[shop, "${var:one}"]'])('the value of %s is not shown', async (namespace) => {
  const rules = `  - { name: a, when: { namespace: ${namespace} }, to: screen }\n`
  const vars = namespace.includes('one') ? 'vars: { one: pay }' : 'vars: { prod: [shop, pay] }'
  const [found] = await widths(`${vars}\n${file('[Pod]', rules)}`)
  expect(found).toContain('namespaces: […]')
  expect(found).not.toContain('pay')
})

test.each([
  ['[Pod]', '  - { name: a, when: { namespace: shop-* }, to: screen }'],
  [
    '[Pod]',
    '  - { name: a, when: { namespace: shop }, to: screen }\n  - { name: b, when: { labels: "a=b" }, to: screen }',
  ],
  ['[{ kind: Pod, namespaces: [shop, pay] }]', '  - { name: a, when: { namespace: shop }, to: screen }'],
  ['[{ kind: Pod, labels: "a" }]', '  - { name: a, when: { namespace: shop }, to: screen }'],
  ['[Deployment]', '  - { name: a, when: { namespace: shop }, to: screen }'],
  // An Event does not have the labels of its object.
  ['[Event]', '  - { name: a, when: { labels: "app=web" }, to: screen }'],
])('a watch %s is as wide as the rules %s can make it', async (watch, rules) => {
  expect(await widths(file(watch, rules))).toEqual([])
})

test.each([
  ['type: ADDED', 'changed: [spec]', 'changed', 'MODIFIED'],
  ['type: [ADDED, DELETED]', 'from: { status.phase: x }', 'from', 'MODIFIED'],
  ['type: DELETED', 'to-state: { status.phase: x }', 'to-state', 'ADDED and MODIFIED'],
  ['type: "!MODIFIED"', 'changed: [spec]', 'changed', 'MODIFIED'],
])('%s with %s never matches', async (type, key, name, types) => {
  const rules = `  - { name: a, when: { ${type} }, ${key}, to: screen }`
  expect(await problemsOf(file('[Deployment]', rules))).toContainEqual(
    expect.stringContaining(
      `this rule matches nothing: "${name}" looks at ${types}, and "type" leaves those out = leave "type" out`,
    ),
  )
})

test.each(['type: MODIFIED', 'type: [ADDED, MODIFIED]', 'name: x'])(
  '%s with a change that is looked at is good',
  async (when) => {
    expect(
      await problemsOf(
        file('[Deployment]', `  - { name: a, when: { ${when} }, changed: [spec], to: screen }`),
      ),
    ).toEqual([])
  },
)
