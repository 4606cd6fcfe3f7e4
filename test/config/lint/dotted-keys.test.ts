import { expect, test } from 'vitest'
import { loadText, problemsOf, withRules } from '../load-text.ts'

const ruleOf = (kind: string, keys: string) => `  - { name: r, when: { kind: ${kind} }, ${keys}, to: screen }`
const asked = (kind: string, keys: string) => problemsOf(withRules(`${ruleOf(kind, keys)}\n`, `[${kind}]`))

test.each([
  ['ConfigMap', 'changed: PATH', 'data.config.yaml', 'data["config.yaml"]'],
  ['cm', 'changed: [data.a, PATH]', 'data.app.conf.d', 'data["app.conf.d"]'],
  ['Secret', 'unchanged: PATH', 'data.tls.crt', 'data["tls.crt"]'],
  ['ConfigMap', 'from: { PATH: x }', 'binaryData.v.1', 'binaryData["v.1"]'],
  ['Secret', 'to-state: { PATH: x }', 'stringData.tls.key', 'stringData["tls.key"]'],
])('a path into a %s by a key with dots is reported in %s: %s', async (kind, keys, path, right) => {
  const written = keys.replace('PATH', path)
  const column = ruleOf(kind, written).indexOf(path) + 1
  const found = await asked(kind, written)
  expect(found).toEqual([expect.stringMatching(`^warning 4:${column} `)])
  expect(found[0]?.split(' = ')[1]).toBe(`write ${right}`)
  expect(await asked(kind, keys.replace('PATH', `'${right}'`))).toEqual([])
})

test('the problem has its code and file', async () => {
  const loaded = await loadText(
    withRules(
      '  - { name: r, when: { kind: ConfigMap }, changed: data.config.yaml, to: screen }\n',
      '[ConfigMap]',
    ),
  )
  expect(loaded.ok && loaded.warnings).toMatchObject([
    { code: 'dotted-key', file: '/etc/kubeherald/kubeherald.yaml', line: 4, column: 52, length: 16 },
  ])
})

test.each([
  ['ConfigMap', 'changed: data'],
  ['ConfigMap', 'changed: data.config'],
  ['ConfigMap', `changed: 'data["config.yaml"]'`],
  ['Secret', 'changed: "data.*"'],
  ['ConfigMap', 'changed: metadata.managedFields.x'],
  ['Deployment', 'changed: spec.a.b'],
  ['configs.example.com', 'changed: data.config.yaml'],
])('of %s nothing is reported by %s', async (kind, keys) => {
  expect(await asked(kind, keys)).toEqual([])
})
