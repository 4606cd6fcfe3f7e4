import { expect, test } from 'vitest'
import { loadFiles, toldOf } from './include-text.ts'

const HEAD = 'watch: [Pod]\nsinks: { a: { type: stdout }, b: { type: stdout } }\n'

async function rulesOf(main: string, texts: Record<string, string> = {}): Promise<Record<string, unknown>[]> {
  const loaded = await loadFiles(main, texts)
  if (!loaded.ok) throw new Error(loaded.problems.map(({ line, message }) => `${line} ${message}`).join('\n'))
  return loaded.config.rules as never
}

test('a rule takes over what it does not say, key by key', async () => {
  const main = `defaults: { to: [a, b], throttle: { every: 10m }, message: hello }\n${HEAD}rules:
  - { name: one }
  - { name: two, to: b, throttle: { every: 1h, burst: 3 }, when: { name: x } }
  - { name: three, throttle: false, message: false, when: { name: y } }
`
  const [one, two, three] = await rulesOf(main)
  expect(one).toMatchObject({ to: ['a', 'b'], throttle: { every: 600_000 }, message: { source: 'hello' } })
  expect(two).toMatchObject({ to: ['b'], throttle: { every: 3_600_000, burst: 3 } })
  expect(Object.keys(three!).toSorted()).toEqual(['name', 'to', 'when'])
})

test('a rule that drops takes over no sinks and no limits', async () => {
  const main = `defaults: { to: [a, b], throttle: { every: 10m } }\n${HEAD}rules:
  - { name: one, when: { name: x }, drop: true }
  - { name: two }
`
  expect((await rulesOf(main))[0]).toEqual({ name: 'one', when: { name: 'x' }, drop: true })
})

test('a rule that drops does not inherit the result of an error', async () => {
  const main = `defaults: { to: [a, b], onError: deliver }\n${HEAD}rules:
  - { name: one, when: { name: x }, drop: true }
  - { name: two }
`
  const [one, two] = await rulesOf(main)
  expect([one, two]).toMatchObject([{ drop: true }, { onError: 'deliver' }])
  expect(one).not.toHaveProperty('onError')
})

test.each([
  ['DELETED', '{ name: one }'],
  ['["!ADDED", "!MODIFIED"]', '{ name: one, throttle: false }'],
])('a rule for deletions alone (%s) does not inherit limits of a state that lasts', async (type, rest) => {
  const rule = rest.replace('{', `{ when: { kind: Pod, type: ${type} },`)
  const main = `defaults: { to: [a, b], for: 2m, throttle: { every: 10m } }
include: [{ from: x.yaml, resolve: true }]
${HEAD}rules: [${rule}, { name: other, when: { kind: Pod, type: [ADDED, DELETED] } }]`
  const files = {
    'x.yaml': `rules: [${rule.replace('one', 'r').replace('kind: Pod', 'kind: Pod, name: x')}]`,
  }
  const [included, own, other] = await rulesOf(main, files)
  expect(other).toMatchObject({ for: 120_000 })
  for (const it of [included, own]) {
    expect(it).not.toHaveProperty('for')
    expect(it).not.toHaveProperty('resolve')
    expect(it).toMatchObject({ to: ['a', 'b'] })
  }
  expect(await loadFiles(main, files)).toMatchObject({ ok: true, warnings: [] })
})

test('a rule for deletions inherits the time without further ones', async () => {
  const main = `defaults: { to: [a, b], resolve: { after: 1h } }\n${HEAD}rules: [{ name: one, when: { kind: Pod, type: DELETED } }]`
  expect((await rulesOf(main))[0]).toMatchObject({ resolve: { after: 3_600_000 } })
})

test('the nearest file says it: the rule, its file, include, the file around', async () => {
  const texts = {
    'x.yaml': 'defaults: { throttle: { every: 2m } }\nrules: [{ name: r, group: { max: 4 } }]',
  }
  const main = `defaults: { to: b, throttle: { every: 9m }, after: { count: 9, within: 9m } }
include: [{ from: x.yaml, to: a, throttle: { every: 3m }, group: { max: 3 }, sample: 0.5 }]
${HEAD}rules: [{ name: own }]`
  const [r, own] = await rulesOf(main, texts)
  expect(r).toMatchObject({
    to: ['a'],
    throttle: { every: 120_000 },
    group: { max: 4 },
    sample: 0.5,
    after: { count: 9 },
  })
  expect(own).toMatchObject({ to: ['b'], throttle: { every: 540_000 } })
  expect(own).not.toHaveProperty('group')
})

test('what is wrong with a default is told once, where it stands', async () => {
  const main = `defaults: { to: [a, c], thottle: {}, throttle: { evry: 10m } }\n${HEAD}rules: [{ name: one, when: { name: x } }, { name: two }]`
  expect((await toldOf(main)).toSorted()).toMatchInlineSnapshot(`
    [
      "kubeherald.yaml:1:21 there is no sink "c" = did you mean "a"?",
      "kubeherald.yaml:1:25 unknown key "thottle" = did you mean "throttle"?",
      "kubeherald.yaml:1:50 unknown key "evry" = did you mean "every"?",
    ]
  `)
})

test.each(['name: x', 'when: { kind: Pod }', 'drop: true'])('%s is not a default', async (text) => {
  const [key] = text.split(':')
  expect(await toldOf(`defaults: { to: [a, b], ${text} }\n${HEAD}rules: [{ name: one }]`)).toEqual([
    `kubeherald.yaml:1:25 "${key}" belongs to one rule and cannot be a default = set it in the rules`,
  ])
})

test('a fault in what include says for a file is told at include', async () => {
  const texts = { 'x.yaml': 'rules: [{ name: r }]' }
  expect(await toldOf(`include: [{ from: x.yaml, to: c, when: {} }]\n${HEAD}`, texts)).toMatchInlineSnapshot(`
    [
      "kubeherald.yaml:1:34 unknown key "when"",
      "kubeherald.yaml:1:31 there is no sink "c" = did you mean "a"?",
    ]
  `)
})

test('a rule of a set needs sinks from where it is included', async () => {
  expect(
    await toldOf(
      `include: [kubeherald:crash-loops]\n${HEAD.replace('Pod', 'Event')}rules: [{ name: own, to: [a, b] }]`,
    ),
  ).toMatchInlineSnapshot(`
    [
      "kubeherald.yaml:1:11 the rules of kubeherald:crash-loops need a sink = write { from: kubeherald:crash-loops, to: a }",
    ]
  `)
  expect(
    await toldOf(`include: [{ from: kubeherald:crash-loops, to: [a, b] }]\n${HEAD.replace('Pod', 'Event')}`),
  ).toEqual([])
})
