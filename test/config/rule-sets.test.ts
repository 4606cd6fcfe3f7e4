import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { parse } from 'yaml'
import { ruleSetNames, ruleSetText } from '../../src/rules/sets/rule-sets.ts'
import { type Desk, openDesk } from '../cli/cli.ts'
import { runHere } from '../cli/here.ts'

interface RuleSet {
  watch: (string | { kind: string })[]
  rules: { name: string; drop?: boolean }[]
  tests: { expect: { rule?: string } | { rule?: string }[] }[]
}

const FOLDER = new URL('../../src/rules/sets/', import.meta.url)
const README = readFileSync(new URL('README.md', FOLDER), 'utf8')
const SETS = ruleSetNames().map(
  (name) => [name, parse(ruleSetText(name) ?? '', { merge: true }) as RuleSet] as const,
)

let desk: Desk
beforeAll(() => {
  desk = openDesk()
})
afterAll(() => desk?.[Symbol.dispose]())

const SINKS = 'cluster: test\nsinks: { screen: { type: stdout } }\n'

test.for(SETS)('the tests of %s pass, and hold each of its rules', async ([name, { rules, tests }]) => {
  const from = fileURLToPath(new URL(`${name}.yaml`, FOLDER))
  const file = desk.write(`${name}.yaml`, `${SINKS}include: [{ from: "${from}", to: [screen] }]\n`)
  const { stdout, code } = await runHere(desk, 'test', '--config', file)
  expect(code, stdout).toBe(0)
  const held = new Set(tests.flatMap(({ expect }) => expect).map(({ rule }) => rule))
  expect(rules.map((rule) => rule.name).filter((rule) => !held.has(rule))).toEqual([])
})

test('whoever includes all sets hears of no problem, and runs tests of their own only', async () => {
  const include = `include: [{ from: [${ruleSetNames().map((set) => `kubeherald:${set}`)}], to: [screen] }]\n`
  const own =
    'tests: [{ name: own, given: { kind: Secret, type: ADDED }, expect: { rule: created-or-deleted } }]\n'
  const file = desk.write('all.yaml', SINKS + include + own)
  const checked = JSON.parse((await runHere(desk, 'check', '--offline', '--json', '--config', file)).stdout)
  expect(checked).toMatchObject({ good: true, problems: [] })
  expect((await runHere(desk, 'test', '--config', file)).stdout).toMatch(/✓ own[^✓]*\n1 passed/)
})

test('no rule of a set fails on what has just been made', async () => {
  const include = `include: [{ from: [${ruleSetNames().map((set) => `kubeherald:${set}`)}], to: [screen] }]\n`
  desk.write('kubeherald.yaml', SINKS + include)
  const watched = SETS.flatMap(([, { watch }]) => watch.map((it) => (typeof it === 'string' ? it : it.kind)))
  const young = [...new Set(watched)].filter((kind) => kind !== 'Event').map(justMade)
  for (const type of ['ADDED', 'MODIFIED']) {
    desk.write('young.json', JSON.stringify({ kind: 'List', items: young }))
    const { code, stdout, stderr } = await runHere(desk, 'explain', 'young.json', '--all', '--type', type)
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(stdout.match(/^.*it failed, and so.*$/gm)).toBeNull()
  }
})

/** No more than what the API server asks of such objects. */
function justMade(kind: string): object {
  const spec = { containers: [{ name: 'app' }], template: { spec: { containers: [{ name: 'app' }] } } }
  const roleRef = { kind: 'ClusterRole', name: 'view' }
  return { kind, metadata: { name: 'young' }, spec, roleRef, status: { phase: 'Pending' } }
}

test.for(SETS)('%s never ends the rules of whoever includes it', ([, { rules }]) => {
  expect(rules.filter((rule) => 'drop' in rule || 'continue' in rule)).toEqual([])
})

test.for(SETS)(
  'README.md tells what each rule of %s sends, and what it watches',
  ([name, { rules, watch }]) => {
    const [, section = ''] = README.split(`\n## ${name}\n`)
    const [own = ''] = section.split('\n## ')
    const described = [...own.matchAll(/^\| `([a-z-]+)` \|/gm)].map(([, rule]) => rule)
    expect(described).toEqual(rules.map((rule) => rule.name))
    for (const entry of watch) expect(own).toContain(typeof entry === 'string' ? entry : entry.kind)
  },
)
