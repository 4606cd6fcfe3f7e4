import { expect, test } from 'vitest'
import { told } from './load-text.ts'

const watching = (...entries: string[]) =>
  told(
    `watch:\n${entries.map((it) => `  - ${it}\n`).join('')}sinks: { screen: { type: stdout } }\nrules:\n  - { name: all, to: screen }\n`,
  )

const MAKE_ONE = 'make them one, without selectors, and select by "when" of rules'

test.each([
  [
    'Pod',
    '{ kind: pods, labels: "a=b" }',
    'keep only Pod to read all of them, or only { kind: pods, labels: "a=b" } to read those with a=b alone',
  ],
  [
    '{ kind: Pod, labels: "a=b", namespaces: shop }',
    '{ kind: v1/Pod, labels: "a=c", namespaces: [pay, s*] }',
    MAKE_ONE,
  ],
  ['{ kind: Pod, labels: a=b }', '{ kind: pods, labels: a=c }', 'make them one: labels: "a in (b, c)"'],
  ['{ kind: Pod, labels: a=b }', '{ kind: pods, labels: b=c }', MAKE_ONE],
  [
    '{ kind: events.k8s.io/v1/Event, fields: "type=Warning" }',
    'Event',
    'keep only Event to read all of them, or only { kind: events.k8s.io/v1/Event, fields: "type=Warning" } to read those with type=Warning alone',
  ],
  [
    'databases.example.com',
    '{ kind: databases.example.com, labels: "a=b" }',
    'keep only databases.example.com to read all of them, or only { kind: databases.example.com, labels: "a=b" } to read those with a=b alone',
  ],
  [
    'Pod',
    '{ kind: pods,\n     labels: "a=b" }',
    'leave this one out to read all of them, or that one to read those with a=b alone',
  ],
])('%s and %s would see an object twice: both places are named', async (one, other, hint) => {
  const kind = /kind: ([\w./]+)/.exec(other)?.[1] ?? other
  expect(await watching('Node', one, other)).toEqual([
    `error 4:5 ${kind} is watched twice, with different selectors: an object would be seen twice = also in line 3: ${hint}`,
  ])
})

test('of two in one line the column of the other is told', async () => {
  const watch = (entries: string) =>
    told(`watch: [${entries}]\nsinks: { s: { type: stdout } }\nrules: [{ name: r, to: s }]\n`)
  expect(await watch('Pod, { kind: Pod, labels: team=a }')).toEqual([
    'error 1:14 Pod is watched twice, with different selectors: an object would be seen twice = also at 1:9: keep only Pod to read all of them, or only { kind: Pod, labels: team=a } to read those with team=a alone',
  ])
  expect(await watch('Node, Pod, Pod')).toEqual([
    'error 1:20 Pod is watched twice = also at 1:15: leave one out',
  ])
  expect(await watch('Pod, { kind: Pod, namespaces: shop }')).toEqual([
    'warning 1:14 Pod is watched twice: all namespaces, and some of them again = the one at 1:9 is enough: leave this out',
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
