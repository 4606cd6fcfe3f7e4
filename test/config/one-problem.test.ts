import { expect, test } from 'vitest'
import { loadText, messagesOf, withRules } from './load-text.ts'

test.each([
  ['- { nmae: r, to: screen }', ['4:7 unknown key "nmae"']],
  ['- { name: r, too: screen }', ['4:16 unknown key "too"']],
  ['- { name: r, dorp: true }', ['4:16 unknown key "dorp"']],
  ['- { name: r, drop: false }', ['4:5 this rule has no "to": it does nothing']],
  ['- { whatever: r, to: screen }', ['4:5 "name" is missing', '4:7 unknown key "whatever"']],
])('%s is one problem where one key is meant', async (rule, expected) => {
  expect((await messagesOf(withRules(`  ${rule}`, '[Pod]'))).sort()).toEqual(expected)
})

test('the hint for a sink with a misspelt "type" names the key', async () => {
  const text = 'watch: [Pod]\nsinks: { a: { typ: stdout } }\nrules: [{ name: r, to: a }]'
  const loaded = await loadText(text)
  expect(loaded).toMatchObject({
    problems: [
      { line: 2, column: 15, message: '"type" is missing', hint: 'did you mean "type" instead of "typ"?' },
    ],
  })
})

test('an invalid port is one problem', async () => {
  for (const port of ['99999999999999999999', '80.5', '-1', '"99999"', 'true'])
    expect(
      await messagesOf(`server: { port: ${port} }\n${withRules('  - { name: r, to: screen }')}`),
    ).toEqual(['1:17 "port" must be a port from 1 to 65535, or 0 for any free one'])
})

test('versions of one kind are not the same entry', async () => {
  const all = '  - { name: r, to: screen }'
  expect(await messagesOf(withRules(all, '[Deployment, apps/v2/Deployment]'))).toEqual([])
  expect(await messagesOf(withRules(all, '[Deployment, apps/v1/Deployment]'))).toEqual([
    '1:21 apps/v1/Deployment is watched twice',
  ])
})

test('a kind that is watched by several entries is named once', async () => {
  const watch = '[{ kind: Pod, namespaces: a }, { kind: Pod, namespaces: b }, Event]'
  expect(
    await messagesOf(withRules('  - { name: r, when: { kind: Pod, reason: x }, to: screen }', watch)),
  ).toEqual(['4:35 only Events have "reason", and this rule is for Pod'])
})
