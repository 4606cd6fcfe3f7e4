import { expect, test } from 'vitest'
import { formatProblems } from '../../src/config/problem.ts'
import { loadFiles, toldOf } from './include-text.ts'

const HEAD = 'watch: [Event, Pod]\nsinks: { a: { type: stdout }, b: { type: stdout } }\n'

async function first(vars: string, rule: string, options = {}): Promise<unknown> {
  const loaded = await loadFiles(`vars: ${vars}\n${HEAD}rules: [{ name: r, ${rule} }]`, {}, options)
  return loaded.ok ? loaded.config.rules[0] : loaded.problems.map(({ message }) => message)
}

test.each([
  ['a text', '{ n: web }', 'when: { name: "${var:n}" }, to: a', { when: { name: 'web' } }],
  ['a part of a text', '{ n: web }', 'when: { name: "${var:n}-*" }, to: a', { when: { name: 'web-*' } }],
  [
    'a list',
    '{ n: [web, "api-*"] }',
    'when: { name: "${var:n}" }, to: a',
    { when: { name: ['web', 'api-*'] } },
  ],
  ['a map', '{ w: { kind: Pod, name: x } }', 'when: "${var:w}", to: a', { when: { kind: 'Pod', name: 'x' } }],
  ['true', '{ d: true }', 'when: { name: x }, drop: "${var:d}"', { drop: true }],
  ['a number in a text', '{ n: 7 }', 'when: { name: "web-${var:n}" }, to: a', { when: { name: 'web-7' } }],
  [
    'a decimal number in a text',
    '{ n: 1.10 }',
    'when: { name: "web-${var:n}" }, to: a',
    { when: { name: 'web-1.10' } },
  ],
  [
    'a number with zeros in a text',
    '{ n: 007 }',
    'when: { name: "web-${var:n}" }, to: a',
    { when: { name: 'web-007' } },
  ],
  ['nothing in a text', '{ n: null }', 'when: { name: "web-${var:n}" }, to: a', { when: { name: 'web-' } }],
  [
    'another variable',
    '{ t: shop, n: "${var:t}-web" }',
    'when: { name: "${var:n}" }, to: a',
    { when: { name: 'shop-web' } },
  ],
  [
    'one that stands below',
    '{ n: "${var:t}-web", t: shop }',
    'when: { name: "${var:n}" }, to: a',
    { when: { name: 'shop-web' } },
  ],
])('a variable can be %s', async (_, vars, rule, expected) => {
  expect(await first(vars, rule)).toMatchObject(expected)
})

test.each([
  [
    '{ prod: x }',
    'name: "${var:prd}"',
    [
      // And not that nothing uses "prod".
      'kubeherald.yaml:4:35 there is no variable "prd" = did you mean "prod"?',
    ],
  ],
  [
    '{ p: x, q: y }',
    'namespace: $p',
    [
      'warning: kubeherald.yaml:1:15 nothing uses the variable "q" = a value uses it as "${var:q}"',
      'kubeherald.yaml:4:39 "$p" cannot be a namespace: those have lower-case letters, digits and "-" = write "${var:p}"',
    ],
  ],
  [
    '{ p: [x] }',
    'name: "a-${var:p}"',
    [
      'kubeherald.yaml:4:37 the variable p is a list, and cannot be part of a text = it can be all of a value only, such as namespace: ${var:p}',
    ],
  ],
  [
    '{ p: "${var:q}", q: "${var:p}" }',
    'name: "${var:p}"',
    ['kubeherald.yaml:1:28 the variable p is part of itself'],
  ],
  [
    '{ p: x }',
    'name: "$var:p"',
    ['kubeherald.yaml:4:35 $var:p is not a reference: it stays as it is = write ${var:p}'].map(
      (it) => `warning: ${it}`,
    ),
  ],
  [
    '{ p: x }',
    'name: "${p}"',
    ['kubeherald.yaml:4:35 ${p} is not a reference = write ${var:p}, or $${ for a plain ${'],
  ],
  [
    '{ 1p: x }',
    'name: "${var:1p}"',
    [
      'kubeherald.yaml:1:9 "1p" is not a name: use letters, digits, "_", "-" and ".", beginning with a letter',
    ],
  ],
  [
    '[x]',
    'name: x',
    [
      'kubeherald.yaml:1:7 "vars" must be a map of keys and values, not a list = such as vars: { ours: [shop, pay-*] }',
    ],
  ],
])('vars: %s with { %s } is told', async (vars, when, expected) => {
  expect(await toldOf(`vars: ${vars}\n${HEAD}rules: [{ name: r, when: { ${when} }, to: [a, b] }]`)).toEqual(
    expected,
  )
})

test('what is wrong with a text stands where it is used, what is wrong in a list where it is defined', async () => {
  const main = `vars:\n  sinks: [a, c]\n  one: d\n${HEAD}rules:\n  - { name: r, to: "\${var:sinks}" }\n  - { name: s, to: ["\${var:one}", b] }\n`
  expect(await toldOf(main)).toEqual([
    'kubeherald.yaml:2:14 there is no sink "c" = did you mean "a"?',
    'kubeherald.yaml:8:21 there is no sink "d" = did you mean "a"?',
  ])
})

test('a variable made of a secret is as secret as that', async () => {
  const main = `vars: { t: "\${env:TOKEN}", u: "x-\${var:t}" }\n${HEAD}rules: [{ name: r, when: { namespace: "\${var:u}", kind: "\${var:t}" }, to: ["\${var:t}"] }]`
  const loaded = await loadFiles(main, {}, { env: { TOKEN: 'S3CRET/(' } })
  if (loaded.ok) throw new Error('it is not good')
  const shown = formatProblems(loaded.problems, loaded.texts)
  expect(shown).toContain('the value of ${var:t} is no sink')
  expect(shown).not.toContain('S3CRET')
})

test('an included file sees the variables around it; its own win, and those that include gives win over both', async () => {
  const texts = {
    'a.yaml': 'vars: { x: own }\nrules: [{ name: a, when: { name: "${var:x}-${var:y}" }, to: [a, b] }]',
    'b.yaml': 'rules: [{ name: b, when: { name: "${var:x}-${var:y}" }, to: [a, b] }]',
    'c.yaml': 'vars: { x: own }\nrules: [{ name: c, when: { name: "${var:x}-${var:y}" }, to: [a, b] }]',
  }
  const main = `vars: { x: outer, y: outer }\ninclude: [a.yaml, b.yaml, { from: c.yaml, vars: { x: given } }]\n${HEAD}`
  const loaded = await loadFiles(main, texts)
  expect(loaded.ok && loaded.config.rules.map(({ when }) => when?.name)).toEqual([
    'own-outer',
    'outer-outer',
    'given-outer',
  ])
})

test('a variable that include gives and nothing uses is told where it is given', async () => {
  const texts = { 'a.yaml': 'vars: { x: own }\nrules: [{ name: "${var:x}", to: [a, b] }]' }
  const main = `include: [{ from: a.yaml, vars: { y: 1 } }]\n${HEAD}`
  expect(await toldOf(main, texts)).toEqual([
    'warning: kubeherald.yaml:1:35 a.yaml does not use the variable "y" = a value uses it as "${var:y}"',
  ])
})
