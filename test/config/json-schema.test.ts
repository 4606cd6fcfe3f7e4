import { globSync, readFileSync } from 'node:fs'
import { Ajv } from 'ajv'
import { beforeAll, expect, test } from 'vitest'
import { parse } from 'yaml'
import { jsonSchemaOf, type Node, schemaName } from '../../src/config/schema/json-schema.ts'
import { demoStarter, STARTER } from '../../src/config/starter.ts'
import { ruleSetNames, ruleSetText } from '../../src/rules/sets/rule-sets.ts'
import { allSinks } from '../../src/sink-types.ts'

const ROOT = new URL('../../', import.meta.url)
const read = (path: string) => readFileSync(new URL(path, ROOT), 'utf8')

interface Validator {
  schema: Node
  faults(yaml: string): string[]
}

async function open(included: boolean): Promise<Validator> {
  const schema = await jsonSchemaOf({ sinkTypes: allSinks, included })
  const validate = new Ajv({ strict: false, allErrors: true, allowUnionTypes: true }).compile(schema)
  return {
    schema,
    faults(yaml) {
      if (validate(parse(yaml, { merge: true }))) return []
      return (validate.errors ?? []).map(({ instancePath, message }) => `${instancePath} ${message}`)
    },
  }
}

let main: Validator
let included: Validator
beforeAll(async () => {
  main = await open(false)
  included = await open(true)
})

const EXAMPLES = [
  'docs/examples/*/kubeherald.yaml',
  'docs/examples/rules/*.yaml',
  'deploy/compose/*.yaml',
  'deploy/kustomize/overlays/*/kubeherald.yaml',
]
  .flatMap((pattern) => globSync(pattern, { cwd: ROOT.pathname }))
  .filter((file) => !file.endsWith('_test.yaml'))
  .concat('deploy/helm/kubeherald/files/starter.yaml')
  .toSorted()

test.each(EXAMPLES)('the schema takes %s, which names it for editors', (file) => {
  const text = read(file)
  expect(main.faults(text)).toEqual([])
  expect(text.split('\n')[0]).toBe(`# yaml-language-server: $schema=${main.schema['$id']}`)
})

const PAGES = [
  'README.md',
  'docs/**/*.md',
  'sinks/**/README.md',
  'src/**/README.md',
  'docs/examples/**/README.md',
  'deploy/**/*.md',
]
const BLOCKS = PAGES.flatMap((pattern) =>
  globSync(pattern, { cwd: ROOT.pathname, exclude: ['**/node_modules/**'] }),
)
  .flatMap((page) =>
    [...read(page).matchAll(/```yaml\n([\s\S]*?)```/g)].map(([, yaml = '']) => [page, yaml] as const),
  )
  .filter(([, yaml]) => /^rules:/m.test(yaml) && /^sinks:/m.test(yaml) && /^watch:/m.test(yaml))

test.each(BLOCKS.map(([page, yaml]) => [page, yaml.split('\n')[0], yaml]))(
  'the schema takes the file in %s that begins with %j',
  (_, __, yaml) => {
    expect(main.faults(yaml ?? '')).toEqual([])
  },
)

test('pages were looked at, and some have files', () => {
  expect(BLOCKS.length).toBeGreaterThan(5)
})

test.each([STARTER, demoStarter('http://127.0.0.1:9')])('the schema takes the starters', (yaml) => {
  expect(main.faults(yaml)).toEqual([])
})

test.each(ruleSetNames())('the schema takes the rule set %s, which names it for editors', (name) => {
  const text = ruleSetText(name) ?? ''
  expect(included.faults(text)).toEqual([])
  expect(text.split('\n')[0]).toBe(`# yaml-language-server: $schema=${included.schema['$id']}`)
})

const HEAD = 'watch: [Pod]\nsinks: { a: { type: stdout } }\n'

test.each([
  ['an unknown key', `${HEAD}rules: [{ name: r, to: a }]\nrule: []`, ' must NOT have additional properties'],
  [
    'an unknown key of a rule',
    `${HEAD}rules: [{ name: r, too: a }]`,
    '/rules/0 must NOT have additional properties',
  ],
  [
    'an unknown condition',
    `${HEAD}rules: [{ name: r, to: a, when: { kin: Pod } }]`,
    '/rules/0/when must NOT have additional properties',
  ],
  [
    'a bad name',
    `${HEAD}rules: [{ name: R_1, to: a }]`,
    '/rules/0/name must match pattern "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"',
  ],
  ['a wrong type', `${HEAD}rules: { name: r }`, '/rules must be array'],
  [
    'a duration without a unit',
    `${HEAD}rules: [{ name: r, to: a, throttle: { every: 10 } }]`,
    '/rules/0/throttle/every must be string',
  ],
  [
    'an option of another sink',
    'watch: [Pod]\nsinks: { a: { type: stdout, url: x } }\nrules: [{ name: r, to: a }]',
    '/sinks/a must NOT have additional properties',
  ],
  [
    'a missing option',
    'watch: [Pod]\nsinks: { a: { type: kafka } }\nrules: [{ name: r, to: a }]',
    "/sinks/a must have required property 'brokers'",
  ],
  [
    'a wrong word',
    'watch: [Pod]\nsinks: { a: { type: stdout, format: jsn } }\nrules: [{ name: r, to: a }]',
    '/sinks/a/format must be equal to one of the allowed values',
  ],
  ['a missing part', 'watch: [Pod]\nrules: [{ name: r, to: a }]', " must have required property 'sinks'"],
  ['no rules and no include', HEAD, " must have required property 'rules'"],
  [
    'when as a default',
    `${HEAD}defaults: { when: {} }\nrules: [{ name: r, to: a }]`,
    '/defaults must NOT have additional properties',
  ],
  ['include without from', `${HEAD}include: [{ to: a }]`, "/include/0 must have required property 'from'"],
])('the schema refuses %s', (_, yaml, expected) => {
  expect(main.faults(yaml)).toContain(expected)
})

test.each([
  `${HEAD}rules: [{ name: "\${var:n}", when: "\${var:w}", drop: "\${var:d}", throttle: { every: "\${var:e}" } }]`,
  `${HEAD}rules: [{ name: "\${var:t}-x", to: a, throttle: { every: "\${var:n}m" } }]`,
  `${HEAD}cluster: "prod-\${env:REGION}"\nrules: [{ name: r, to: a }]`,
  `${HEAD}include: [{ from: [x.yaml], to: a, throttle: false, vars: { x: [1] } }]`,
  'watch: [Pod]\nsinks: { a: { type: acme, anything: 1 } }\nrules: [{ name: r, to: [{ a: { anything: 1 } }] }]',
  `${HEAD}x-ours: &x { to: a }\nrules: [{ <<: *x, name: r }]`,
])('the schema takes %j', (yaml) => {
  expect(main.faults(yaml)).toEqual([])
})

test('an included file has no sinks', () => {
  expect(included.faults('rules: [{ name: r, to: a }]')).toEqual([])
  expect(included.faults(HEAD)).toContain(' must NOT have additional properties')
})

test.each([false, true])(
  'docs have the schema (included: %s) that the command prints',
  async (isIncluded) => {
    const { schema } = isIncluded ? included : main
    expect(JSON.parse(read(`docs/${schemaName(isIncluded)}`))).toEqual(JSON.parse(JSON.stringify(schema)))
  },
)

test('every key has a text for editors', () => {
  const silent = new Set<string>()
  const definitions = main.schema['definitions'] as Record<string, Node>
  function walk(node: Node, path: string): void {
    for (const [key, child] of Object.entries(node.properties ?? {})) {
      const at = `${path}.${key}`
      const target =
        typeof child['$ref'] === 'string' ? definitions[child['$ref'].split('/').at(-1) ?? ''] : child
      if (!path.includes('if') && target?.['description'] === undefined) silent.add(at)
      if (target) walk(target, at)
    }
    for (const key of ['items', 'additionalProperties', 'then'] as const) {
      const part = node[key]
      if (typeof part === 'object' && part !== null)
        walk(part as Node, `${path}.${key === 'then' ? '' : '*'}`)
    }
    for (const key of ['anyOf', 'allOf', 'oneOf'])
      for (const part of (node[key] as Node[] | undefined) ?? []) walk(part, path)
  }
  walk(main.schema, '')
  expect([...silent].filter((it) => !it.endsWith('..type'))).toEqual([])
})
