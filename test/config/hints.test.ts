// biome-ignore-all lint/suspicious/noTemplateCurlyInString: these are references of the configuration
import { expect, test } from 'vitest'
import { told, withRules } from './load-text.ts'

const MAP = 'must be a map of keys and values, not text'

test.each([
  ['{ name: r, match: { kind: Pod }, to: screen }', 'unknown key "match" = here it is called "when"'],
  ['{ name: r, sink: screen }', 'unknown key "sink" = here it is called "to"'],
  [
    '{ name: r, when: { regarding: Pod }, to: screen }',
    `"regarding" ${MAP} = write regarding: { kind: Pod }`,
  ],
])('the rule %s is told what to write, once', async (rule, problem) => {
  const found = await told(withRules(`  - ${rule}`, '[Event]'))
  expect(found).toEqual([expect.stringContaining(problem)])
})

test('a rule for a word that is nearly a built-in kind asks for that kind, and advises to watch it', async () => {
  const found = await told(withRules('  - { name: r, when: { kind: Pood }, to: screen }', '[Event]'))
  expect(found).toEqual([expect.stringContaining('no entry of "watch" watches Pood = did you mean "Pod"?')])
  expect(found[0]).not.toMatch(/watch: \[.*Pood/)
  expect(found[0]).toContain('write watch: [Pod]')
})

test.each([
  ['Warn_Events', 'write warn-events'],
  ['"Out of memory!"', 'write out-of-memory'],
  ['"!"', 'undefined'],
])('a rule called %s is offered a name that fits', async (name, hint) => {
  const [found] = await told(withRules(`  - { name: ${name}, to: screen }`, '[Event]'))
  expect(found).toContain(`is no name`)
  expect(found).toContain(`= ${hint}`)
})

test('no name is made of what came from outside', async () => {
  const text = withRules('  - { name: "${env:N}", to: screen }', '[Event]')
  const [found] = await told(text, { env: { N: 'Hunter_2' } })
  expect(found?.toLowerCase()).not.toContain('hunter')
})

test('a sink with a name that does not fit is offered one', async () => {
  const text = 'watch: [Pod]\nsinks: { On_Call: { type: stdout } }\nrules: [{ name: r, to: On_Call }]'
  expect((await told(text))[0]).toContain('= write on-call')
})

test.each([
  ['labels: { app: web, tier: gold }', 'write one text: labels: "app=web,tier=gold"'],
  ['labels: { app: "${env:A}" }', 'write one text: labels: "team=a,tier=b"'],
  ['fields: { status.phase: Running }', 'write one text: fields: "status.phase=Running"'],
])('an entry of watch with %s is told the selector', async (selector, hint) => {
  const text = withRules('  - { name: r, to: screen }', `[{ kind: Pod, ${selector} }]`)
  const found = await told(text, { env: { A: 'hunter2' } })
  expect(found).toEqual([expect.stringContaining(`= ${hint}`)])
})

test('a Kubernetes manifest is told to be one, and nothing else', async () => {
  const map = 'apiVersion: v1\nkind: ConfigMap\nmetadata: { name: x }\n'
  expect(await told(`${map}data:\n  kubeherald.yaml: |\n    watch: [Pod]\n`)).toEqual([
    'error 1:1 this is a Kubernetes manifest (ConfigMap), and no configuration = give it the text under "data" as a file: that has the keys watch, sinks and rules',
  ])
  expect(await told('apiVersion: apps/v1\nkind: Deployment\nspec: {}\n')).toEqual([
    'error 1:1 this is a Kubernetes manifest (Deployment), and no configuration = a configuration has the keys watch, sinks and rules',
  ])
  expect((await told(`kind: x\napiVersion: y\nrules: []\nsinks: {}\nwatch: []\n`)).length).toBeGreaterThan(3)
})
