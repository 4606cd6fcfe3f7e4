import { expect, test } from 'vitest'
import { told } from './load-text.ts'

const watching = (...entries: string[]) =>
  told(
    `watch:\n${entries.map((it) => `  - ${it}\n`).join('')}sinks: { screen: { type: stdout } }\nrules:\n  - { name: all, to: screen }\n`,
  )

test.each([
  ['Pod', '{ kind: pods, labels: "a=b" }'],
  [
    '{ kind: Pod, labels: "a=b", namespaces: shop }',
    '{ kind: v1/Pod, labels: "a=c", namespaces: [pay, s*] }',
  ],
  ['{ kind: events.k8s.io/v1/Event, fields: "type=Warning" }', 'Event'],
  ['databases.example.com', '{ kind: databases.example.com, labels: "a=b" }'],
])('%s and %s would see an object twice: both places are named', async (one, other) => {
  const kind = /kind: ([\w./]+)/.exec(other)?.[1] ?? other
  expect(await watching('Node', one, other)).toEqual([
    `error 4:5 ${kind} is watched twice, with other selectors: an object would be seen twice = also in line 3: make them one, and select by "when" of rules`,
  ])
})

test('one namespace of a kind that is watched in all of them is doubted', async () => {
  const [all, shop] = ['Pod', '{ kind: po, namespaces: shop }']
  const said = 'is watched twice: all namespaces, and some of them again'
  expect(await watching(all, shop)).toEqual([`warning 3:5 po ${said} = line 2 is enough: leave this out`])
  expect(await watching(shop, all)).toEqual([`warning 3:5 Pod ${said} = this is enough: leave line 2 out`])
})

test.each([
  ['{ kind: Pod, namespaces: [shop, pay] }', '{ kind: Pod, namespaces: [pay, web] }'],
  ['{ kind: Pod, labels: "a=b", namespaces: shop }', '{ kind: Pod, namespaces: [pay, "kube-*"] }'],
  ['{ kind: Pod, labels: "a=b", namespaces: shop }', '{ kind: Pod, namespaces: "!shop" }'],
  ['Pod', '{ kind: Node, labels: "a=b" }'],
])('%s and %s may stand side by side', async (one, other) => {
  expect(await watching(one, other)).toEqual([])
})
