import { expect, test } from 'vitest'
import { problemsOf } from '../load-text.ts'

const watching = (...entries: string[]) =>
  problemsOf(
    `watch:\n${entries.map((it) => `  - ${it}\n`).join('')}sinks: { screen: { type: stdout } }\nrules:\n  - { name: all, to: screen }\n`,
  )

test.each([
  ['Pod', '{ kind: pods, labels: "a=b" }'],
  [
    '{ kind: Pod, labels: "a=b", namespaces: shop }',
    '{ kind: v1/Pod, labels: "a=c", namespaces: [pay, s*] }',
  ],
  ['{ kind: Pod, labels: a=b }', '{ kind: pods, labels: b=c }'],
  ['{ kind: events.k8s.io/v1/Event, fields: "type=Warning" }', 'Event'],
  ['databases.example.com', '{ kind: databases.example.com, labels: "a=b" }'],
])('%s and %s select the same objects', async (one, other) => {
  const [found, ...others] = await watching('Node', one, other)
  expect(others).toEqual([])
  expect(found).toMatch(/^error 4:5 .* with different selectors.* = also in line 3: make them one/)
})

test('two entries on one line are distinguished by their columns', async () => {
  const watch = async (entries: string) =>
    (
      await problemsOf(`watch: [${entries}]\nsinks: { s: { type: stdout } }\nrules: [{ name: r, to: s }]\n`)
    ).join()
  expect(await watch('Pod, { kind: Pod, labels: team=a }')).toMatch(/^error 1:14 .*also at 1:9/)
  expect(await watch('Node, Pod, Pod')).toMatch(/^error 1:20 .*also at 1:15/)
  expect(await watch('Pod, { kind: Pod, namespaces: shop }')).toMatch(/^warning 1:14 .*also at 1:9/)
})

test('a kind watched in all namespaces and in one is a warning', async () => {
  const [all, shop] = ['Pod', '{ kind: po, namespaces: shop }']
  for (const entries of [
    [all, shop],
    [shop, all],
  ] as const)
    expect((await watching(...entries)).join()).toMatch(
      /^warning 3:5 .* all namespaces, and some of them again/,
    )
})

test.each([
  ['{ kind: Pod, namespaces: [shop, pay] }', '{ kind: Pod, namespaces: [pay, web] }'],
  ['{ kind: Pod, labels: "a=b", namespaces: shop }', '{ kind: Pod, namespaces: [pay, "kube-*"] }'],
  ['{ kind: Pod, labels: "a=b", namespaces: shop }', '{ kind: Pod, namespaces: "!shop" }'],
  ['Pod', '{ kind: Node, labels: "a=b" }'],
])('%s and %s select different objects', async (one, other) => {
  expect(await watching(one, other)).toEqual([])
})
