import { expect, test } from 'vitest'
import { loadFiles, toldOf } from './include-text.ts'

const HEAD = 'watch: [Event, Pod]\nsinks: { a: { type: stdout }, b: { type: stdout } }\n'

/** What a configuration's rules come to be, in their order. */
async function rulesOf(main: string, texts: Record<string, string>) {
  const loaded = await loadFiles(main, texts)
  if (!loaded.ok) throw new Error(loaded.problems.map(({ file, message }) => `${file} ${message}`).join('\n'))
  return loaded.config.rules
}

const rule = (name: string, more = 'to: a') =>
  `rules: [{ name: ${name}, when: { kind: Pod, name: ${name} }, ${more} }]\n`

test('included rules come before those of the file, in the order of include, each with its place', async () => {
  const texts = {
    'teams/pay.yaml': `include: ../base.yaml\n${rule('pay')}`,
    'teams/shop.yaml': rule('shop'),
    'base.yaml': rule('base', 'to: b'),
  }
  const main = `include: [teams/shop.yaml, teams/pay.yaml]\n${HEAD.replace('Event, ', '')}${rule('own')}`
  const loaded = await loadFiles(main, texts)
  expect(loaded).toMatchObject({ ok: true, warnings: [] })
  if (!loaded.ok) return
  expect(loaded.config.rules.map(({ name }) => name)).toEqual(['shop', 'base', 'pay', 'own'])
  expect(loaded.config.placeOf?.(['rules', 1, 'to'])).toBe('/etc/kubeherald/base.yaml:1:60')
})

test('an included file brings what it watches; the same entry counts once', async () => {
  const loaded = await loadFiles(`include: a.yaml\n${HEAD}`, {
    'a.yaml': `watch: [Pod, Deployment]\nrules: [{ name: r, to: [a, b] }]`,
  })
  expect(loaded.ok && loaded.config.watch).toEqual([
    { kind: 'Event' },
    { kind: 'Pod' },
    { kind: 'Deployment' },
  ])
})

test('a glob means the files in the order of their names, but for tests, hidden files and the file itself', async () => {
  const texts = Object.fromEntries(
    ['b.yaml', 'a.yaml', 'c_test.yaml', '.d.yaml', 'sub/e.yaml'].map((path, i) => [path, rule(`r${i}`)]),
  )
  const names = async (include: string) =>
    (
      await rulesOf(`include: ${include}\n${HEAD}${rule('own', 'to: b')}`, {
        ...texts,
        'kubeherald.yaml': 'x',
      })
    ).map(({ name }) => name)
  expect(await names('"*.yaml"')).toEqual(['r1', 'r0', 'own'])
  expect(await names('"**/*.yaml"')).toEqual(['r1', 'r0', 'r4', 'own'])
  expect(await names('[b.yaml, "*.yaml"]')).toEqual(['r0', 'r1', 'own'])
})

test('what is wrong in any of the files is told at its place, all at once', async () => {
  const texts = {
    'x.yaml':
      'watch: [Event]\nrules:\n  - name: one\n    when: { kin: Pod }\n    to: a\n  - { name: two, to: [oncal] }\n',
    'y.yaml': '# y\nrules: [{ name: two, when: { namespace: "/(/" }, to: b }]\n',
  }
  const told = await toldOf(`include: [x.yaml, y.yaml]\n${HEAD}${rule('three', 'to: c')}`, texts)
  expect(told.toSorted()).toMatchInlineSnapshot(`
    [
      "kubeherald.yaml:4:62 there is no sink "c" = did you mean "a"?",
      "x.yaml:4:13 unknown key "kin" = did you mean "kind"?",
      "x.yaml:6:23 there is no sink "oncal" = there are: a, b",
      "y.yaml:2:17 two rules are called "two" = the first one is in line 6 of x.yaml",
      "y.yaml:2:43 "namespace" has an expression that RE2 cannot read: missing closing )",
    ]
  `)
})

test.each([
  [
    'include: gone.yaml',
    {},
    'kubeherald.yaml:1:10 gone.yaml cannot be read: there is no such file = paths are relative to this file',
  ],
  [
    'include: [d]',
    { d: 'FOLDER' },
    'kubeherald.yaml:1:11 d cannot be read: it is a directory: name the file in it',
  ],
  ['include: [d]', { d: 'LARGE' }, 'kubeherald.yaml:1:11 d cannot be read: it is larger than 1 MiB'],
  [
    'include: [a]',
    { a: 'rules: [\0]' },
    'kubeherald.yaml:1:11 a cannot be read: it is not text in UTF-8: it has zero bytes',
  ],
  [
    'include: [a, a]',
    { a: rule('x') },
    'kubeherald.yaml:1:14 a is included twice = the first time by kubeherald.yaml:1',
  ],
  ['include: [kubeherald.yaml]', {}, 'kubeherald.yaml:1:11 kubeherald.yaml includes itself'],
  ['include: [a]', { a: 'include: b', b: 'include: a' }, 'b:1:10 a includes itself, by way of b'],
  [
    'include: [https://x.test/a]',
    {},
    'kubeherald.yaml:1:11 files are not fetched over the network = name a file, or kubeherald:SET',
  ],
  [
    'include: [kubeherald:crash-loop]',
    {},
    'kubeherald.yaml:1:11 there is no rule set "crash-loop" = did you mean "kubeherald:crash-loops"?',
  ],
  [
    'include: [kubeherald:crash]',
    {},
    'kubeherald.yaml:1:11 there is no rule set "crash" = there are: audit, crash-loops, nodes, rollouts, security, storage',
  ],
  ['include: [{ to: a }]', {}, 'kubeherald.yaml:1:11 "from" is missing = such as from: teams/*.yaml'],
  [
    'include: [a]',
    { a: 'sinks: {}' },
    'a:1:1 "sinks" cannot stand in an included file = it belongs into the file that includes this one',
  ],
  ['include: [a]', { a: 'rules: { name: x }' }, 'a:1:8 "rules" must be a list, not a map'],
  ['include: [a]', { a: 'rulez: []' }, 'a:1:1 unknown key "rulez" = did you mean "rules"?'],
  [
    'include: [a]',
    { a: '- x' },
    'a:1:1 the file must be a map of keys and values = an included file has the keys include, vars, defaults, watch, rules, tests',
  ],
  [
    'include: [a]',
    { a: 'rules: [' },
    'a:1:9 a "]" is missing before this = is a bracket, quote or indentation missing in a line above?',
  ],
  [
    'include: 3',
    {},
    'kubeherald.yaml:1:10 "include" must be text or a list, not a number = as text it needs quotes',
  ],
])('%s with %j: %s', async (include, texts, expected) => {
  const told = await toldOf(
    `${include}\n${HEAD}rules: [{ name: own, to: [a, b] }]`,
    texts as Record<string, string>,
  )
  expect(told).toEqual([expected])
})

test('a glob without files is a warning, an empty file too', async () => {
  expect(
    await toldOf(`include: [teams/*.yaml, e.yaml]\n${HEAD}rules: [{ name: own, to: [a, b] }]`, {
      'e.yaml': '',
    }),
  ).toEqual([
    'warning: kubeherald.yaml:1:11 no file matches "teams/*.yaml" = paths are relative to this file',
    'warning: e.yaml:1:1 the file is empty',
  ])
})

test('a long row of files is refused, and so are too many', async () => {
  const row = Object.fromEntries(Array.from({ length: 30 }, (_, i) => [`f${i}`, `include: f${i + 1}\n`]))
  expect(await toldOf(`include: f0\n${HEAD}rules: [{ name: own, to: [a, b] }]`, row)).toEqual([
    'f19:1:10 files include each other more than 20 deep',
  ])
  const many = Object.fromEntries(Array.from({ length: 600 }, (_, i) => [`m/${i}.yaml`, '{}']))
  expect(await toldOf(`include: m/*.yaml\n${HEAD}rules: [{ name: own, to: [a, b] }]`, many)).toEqual([
    'kubeherald.yaml:1:10 the configuration has more than 500 files',
  ])
})

test('a file of secrets is relative to the file that names it', async () => {
  const texts = {
    'teams/a.yaml': 'rules: [{ name: r, when: { name: "${file:n}" }, to: [a, b] }]',
    'teams/n': 'web\n',
  }
  expect(await rulesOf(`include: teams/a.yaml\n${HEAD}`, texts)).toMatchObject([{ when: { name: 'web' } }])
})
