import { expect, test } from 'vitest'
import { loadText, problemsOf, withRules } from '../load-text.ts'

const rule = (when: string, to = 'screen') => withRules(`  - { name: r, when: ${when}, to: ${to} }`, '[Pod]')

test.each([
  [
    '{ name: "shop*,pay" }',
    'warning 4:30 "shop*,pay" is one text, and its value has no commas = write a list: ["shop*", pay]',
  ],
  [
    '{ name: [web, "a,b"] }',
    'warning 4:36 "a,b" is one text, and its value has no commas = write a list: [a, b]',
  ],
  [
    '{ labels: { team: "a,b" } }',
    'warning 4:40 "a,b" is one text, and its value has no commas = write a list: [a, b]',
  ],
  [
    '{ namespace: "shop,pay" }',
    'error 4:35 "shop,pay" is not a namespace: names have no commas = write a list: [shop, pay]',
  ],
  [
    '{ namespace: "shop*, !pay" }',
    'error 4:35 "shop*, !pay" is not a namespace: names have no commas = write a list: ["shop*", "!pay"]',
  ],
  ['{ kind: "Pod,Node" }', 'error 4:31 "Pod,Node" is not a kind = write a list: [Pod, Node]'],
  ['{ kind: "Po*,Node" }', 'error 4:31 "Po*,Node" is not a kind = write a list: ["Po*", Node]'],
  ['{ type: "ADDED,DELETED" }', 'error 4:30 "ADDED,DELETED" is not a type = write a list: [ADDED, DELETED]'],
])('%s is a list that was forgotten', async (when, problem) => {
  expect(await problemsOf(rule(when))).toEqual([problem])
})

test('a comma is no mistake in an expression, a selector or a message', async () => {
  const watch = '[Event]'
  const when = '{ name: "/^a{1,3}$/", labels: "a,b", message: "no, wait" }'
  expect(await problemsOf(withRules(`  - { name: r, when: ${when}, to: screen }`, watch))).toEqual([])
})

test('sinks are a list, each once', async () => {
  const [found] = await problemsOf(rule('{}', '"screen,other"'))
  expect(found).toBe('error 4:30 there is no sink "screen,other" = write a list: [screen, other]')
  expect(await problemsOf(rule('{}', '[screen, screen]'))).toEqual([
    'warning 4:39 "screen" is named twice = one event reaches one sink once: leave one out',
  ])
})

test.each([
  ['$env:TOKEN', '${env:TOKEN}'],
  ['$(env:TOKEN)', '${env:TOKEN}'],
  ['$file:/run/secrets/token', '${file:/run/secrets/token}'],
])('%s is nearly a reference, and stays what it is', async (text, meant) => {
  const hook = `{ type: webhook, url: "https://foo.com", headers: { x: "Bearer ${text}" } }`
  const yaml = `watch: [Pod]\nsinks: { a: ${hook} }\nrules: [{ name: r, to: a }]`
  expect(await problemsOf(yaml)).toEqual([
    `warning 2:76 ${text} is not a reference: it stays as it is = write ${meant}`,
  ])
  expect(await loadText(yaml)).toMatchObject({
    ok: true,
    config: { sinks: [{ options: { headers: { x: `Bearer ${text}` } } }] },
  })
})
