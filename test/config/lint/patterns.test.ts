// biome-ignore-all lint/suspicious/noTemplateCurlyInString: these are references of the configuration
import { expect, test } from 'vitest'
import { problemsOf, withRules } from '../load-text.ts'

const rule = (when: string) => withRules(`  - { name: r, when: ${when}, to: screen }`, '[Event]')

const hook = (options: string) =>
  `watch: [Pod]\nsinks: { a: { type: webhook, ${options} } }\nrules: [{ name: r, to: a }]`

const LINK_LOCAL =
  '"url" is a link-local or cloud metadata address, which gets nothing unless allowLinkLocal is true'

test.each(['169.254.169.254', '[fe80::1]', 'metadata.google.internal', '2852039166'])(
  'a webhook to %s is refused unless link-local addresses are allowed',
  async (host) => {
    const url = `url: "http://${host}/x"`
    expect(await problemsOf(hook(url))).toEqual([`error 2:35 ${LINK_LOCAL} = undefined`])
    expect(await problemsOf(hook(`${url}, allowLinkLocal: true`))).toEqual([])
  },
)

test('a link-local webhook is told beside other mistakes in its options', async () => {
  const found = await problemsOf(hook('url: "http://169.254.1.1", concurrency: 0'))
  expect(found).toHaveLength(2)
  expect(found).toContain(`error 2:35 ${LINK_LOCAL} = undefined`)
})

test.each([
  ['{ reason: "BackOff, OOMKilling" }', 'write a list: [BackOff, OOMKilling]'],
  ['{ reason: [x, "a,b"] }', 'write a list: [a, b]'],
  ['{ namespaceLabels: { team: "a,b" } }', 'write a list: [a, b]'],
  ['{ regarding: { labels: { team: [x, "a,b"] } } }', 'write a list: [a, b]'],
])('%s is a list that was forgotten', async (when, hint) => {
  expect(await problemsOf(rule(when))).toEqual([
    expect.stringMatching(/^warning .* is one text, and its value has no commas = /),
  ])
  expect((await problemsOf(rule(when)))[0]).toContain(hint)
})

test.each([
  ['{ name: "^web-.*" }', 'a glob = write /^web-.*/'],
  ['{ name: "/^web" }', 'exact text = write /^web/'],
  ['{ name: "web-(a|b)$" }', 'exact text = write /web-(a|b)$/'],
  ['{ name: "web|api" }', 'exact text = write a list: [web, api]'],
  ['{ name: [x, "!^web"] }', 'exact text = write "!/^web/"'],
  ["{ name: 'web-\\d' }", "exact text = write '/web-\\d/'"],
  ['{ name: "web-.*" }', 'a glob = write /web-.*/'],
  ['{ name: "^web(" }', 'exact text = a regular expression is enclosed in slashes: /…/'],
  ['{ labels: { app: "^web" } }', 'exact text = write /^web/'],
  ['{ regarding: { name: ".*-canary" } }', 'a glob = write /.*-canary/'],
  ['{ reason: "^Failed" }', 'exact text = write /^Failed/'],
  ['{ reason: "Failed.*" }', 'a glob = write /Failed.*/'],
  ['{ reason: [BackOff, "!Failed.*Mount"] }', 'a glob = write "!/Failed.*Mount/"'],
  ['{ message: "failed to pull.*image" }', 'a glob = write /failed to pull.*image/'],
  ['{ message: "(?i)oom" }', 'a glob = write /(?i)oom/'],
  ['{ message: ".*OOM.*" }', 'a glob = write /OOM/ or "*OOM*"'],
  ['{ message: "^Back-off" }', 'exact text = write /^Back-off/'],
])('%s looks like an expression, and is none', async (when, doubt) => {
  const found = await problemsOf(rule(when))
  expect(found).toHaveLength(1)
  expect(found[0]).toMatch(/^warning /)
  expect(found[0]).toContain(`looks like an expression, but is ${doubt}`)
})

test.each([
  '{ name: "web-0.*" }',
  '{ name: "/^web-.*/" }',
  '{ name: "system:node*" }',
  '{ name: "\\\\/web" }',
  '{ message: "/var/lib/*" }',
  '{ message: "*(exit code 1)*" }',
  '{ message: "pulled image.*" }',
  '{ message: "*lookup db.*svc*" }',
  '{ labels: "team in (a, b)" }',
  '{ annotations: { team: "^web" } }',
])('%s is not taken for an expression', async (when) => {
  expect(await problemsOf(rule(when))).toEqual([])
})

test('what an outside value looks like is not told', async () => {
  expect(await problemsOf(rule('{ name: "${env:N}" }'), { env: { N: '^web-.*' } })).toEqual([])
})

test.each([
  ['"/^shop"', 'cannot be a namespace', 'write /^shop/'],
  ['"shop|pay"', 'cannot be a namespace', 'write a list: [shop, pay]'],
  ['"^shop-.*"', 'means no namespace', 'write /^shop-.*/'],
  ['"shop-.*"', 'means no namespace', 'write shop-*, or an expression: /…/'],
  ['"Kube-*"', 'means no namespace', 'did you mean "kube-*"?'],
])('the namespace %s can be none', async (namespace, message, hint) => {
  const [found, ...others] = await problemsOf(rule(`{ namespace: ${namespace} }`))
  expect(others).toEqual([])
  expect(found).toMatch(/^error /)
  expect(found).toContain(message)
  expect(found).toContain(`= ${hint}`)
})

test('a kind that events are about is checked for slips', async () => {
  expect(await problemsOf(rule('{ regarding: { kind: [Pod, Deploymnt] } }'))).toEqual([
    'warning 4:49 no cluster has a built-in kind Deploymnt = did you mean "Deployment"?',
  ])
  expect(await problemsOf(rule('{ regarding: { kind: Database } }'))).toEqual([])
})

const entering = (key: string, states: string) =>
  withRules(`  - { name: r, when: { kind: Pod }, ${key}: ${states}, to: screen }`, '[Pod]')

test.each([
  ['to-state', '{ spec.version: 1.10 }', '1.10'],
  ['from', '{ spec.version: [1, 007] }', '007'],
  ['to-state', '{ spec.version: 0x10 }', '0x10'],
])('%s: %s is a number that is compared as another text', async (key, states, written) => {
  expect(await problemsOf(entering(key, states))).toEqual([
    expect.stringMatching(new RegExp(`^warning .*\\b${written}\\b.* = `)),
  ])
})

test('a number that is too large has no hint to quote it: a field of numbers is never compared as that text', async () => {
  const found = await problemsOf(entering('to-state', '{ spec.serial: 9007199254740993 }'))
  expect(found).toEqual([expect.stringMatching(/^warning .*\b9007199254740993\b/)])
  expect(found[0]).not.toContain('"9007199254740993"')
})

test.each([
  '{ spec.replicas: 0 }',
  '{ spec.version: "1.10" }',
  '{ spec.version: [1.1, -2] }',
  '{ a.b: True }',
])('to-state: %s is compared as it is written', async (states) => {
  expect(await problemsOf(entering('to-state', states))).toEqual([])
})
