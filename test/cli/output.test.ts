import fc from 'fast-check'
import { expect, test } from 'vitest'
import { parse, parseAllDocuments } from 'yaml'
import { dataText, recordText, table } from '../../src/cli/output/format.ts'
import { runHere } from './here.ts'
import { openProofDesk } from './proof-fixture.ts'

/** What moves a cursor, breaks a line, or turns the direction of text. */
const CONTROLS = /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/

test('YAML has the data of JSON, and nothing in it moves a cursor', () => {
  const text = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.constantFrom('yes', '0x1f', '1_000', '~', '- a', '---', 'a: b', '\u001b[31m', 'a\u202eb\n c', '\t'),
  )
  const value = fc.dictionary(text, fc.oneof(text, fc.integer(), fc.array(text), fc.dictionary(text, text)))
  fc.assert(
    fc.property(value, (data) => {
      const yaml = dataText(data, 'yaml')
      expect(yaml).not.toMatch(CONTROLS)
      expect(parse(yaml)).toEqual(JSON.parse(dataText(data, 'json')))
    }),
    { numRuns: 200 },
  )
})

test('texts that YAML 1.1 takes for other values are quoted', () => {
  expect(dataText({ a: 'yes', b: 'off', c: '012' }, 'yaml')).toBe('a: "yes"\nb: "off"\nc: "012"\n')
})

test('several values are lines of JSON, or documents of YAML', () => {
  const values = [{ a: 1 }, { text: 'two\nlines' }]
  const as = (format: 'json' | 'yaml') => values.map((it) => recordText(it, format)).join('')
  expect(as('json')).toBe('{"a":1}\n{"text":"two\\nlines"}\n')
  expect(as('yaml')).toMatch(/^---\na: 1\n---\n/)
  expect(parseAllDocuments(as('yaml')).map((it) => it.toJS())).toEqual(values)
})

test('deeply nested data stays readable for programs', () => {
  let deep: unknown = 'end'
  for (let i = 0; i < 3_000; i++) deep = { a: deep }
  expect(dataText({ deep }, 'yaml')).toBe(`${JSON.stringify({ deep })}\n`)
})

const ONE_TEST = `tests:
  - { name: one, given: backoff.yaml, expect: { rule: crash-loops, to: [oncall, pager, bus] } }
`

test.each([
  ['check', '--offline'],
  ['explain', 'backoff.yaml', '--at', '2026-11-21T09:14:07Z'],
  ['routes'],
  ['version'],
])('-o yaml of %s has the data of -o json, and --json is short for that', async (...args) => {
  using desk = openProofDesk()
  const json = await runHere(desk, ...args, '-o', 'json')
  const yaml = await runHere(desk, ...args, '-o', 'yaml')
  expect(yaml.code).toBe(json.code)
  expect(parse(yaml.stdout)).toEqual(JSON.parse(json.stdout))
  expect((await runHere(desk, ...args, '--json')).stdout).toBe(json.stdout)
})

test('test -o yaml lists the tests', async () => {
  using desk = openProofDesk({ 'kubeherald_test.yaml': ONE_TEST })
  const { code, stdout } = await runHere(desk, 'test', '-o', 'yaml')
  expect({ code, data: parse(stdout) }).toMatchObject({
    code: 0,
    data: { passed: 1, tests: [{ name: 'one' }] },
  })
})

test('explain of several objects gives a document for each', async () => {
  using desk = openProofDesk()
  const { stdout } = await runHere(desk, 'explain', 'many.yaml', '-o', 'yaml').then(async (none) => {
    expect(none.code).toBe(2)
    const event = 'kind: Event\nreason: BackOff\nregarding: { kind: Pod, name: web }\n'
    desk.write('many.yaml', `${event}---\n${event}`)
    return runHere(desk, 'explain', 'many.yaml', '-o', 'yaml')
  })
  expect(parseAllDocuments(stdout)).toHaveLength(2)
})

test.each([
  ['-o', 'xml'],
  ['--json', '-o', 'yaml'],
])('%s %s is a mistake', async (...args) => {
  using desk = openProofDesk()
  expect(await runHere(desk, 'routes', ...args)).toMatchObject({ code: 2, stdout: '' })
})

test('--no-color turns colours off, before and after the command', async () => {
  using desk = openProofDesk()
  delete desk.env['NO_COLOR']
  desk.env['FORCE_COLOR'] = '1'
  const isColoured = async (...args: string[]) => (await runHere(desk, ...args)).stdout.includes('\u001b[')
  expect(await isColoured('routes')).toBe(true)
  expect(await isColoured('routes', '--no-color')).toBe(false)
  expect(await isColoured('--no-color', 'routes')).toBe(false)
})

test('--quiet hides notes, and no errors', async () => {
  using desk = openProofDesk()
  const sinks = `{ s: { type: stdout }, spare: { type: file, path: "${desk.cwd}/out.ndjson" } }`
  desk.write('two.yaml', `watch: [Event]\nsinks: ${sinks}\nrules: [{ name: all, to: s }]\n`)
  const args = ['send-test', 'spare', '-c', 'two.yaml']
  expect((await runHere(desk, ...args)).stderr).toMatch(/^note: /)
  for (const quiet of [
    ['-q', ...args],
    [...args, '--quiet'],
  ])
    expect(await runHere(desk, ...quiet)).toMatchObject({ code: 0, stderr: '' })
  expect((await runHere(desk, '-q', 'routes', '-c', 'none.yaml')).stderr).toMatch(/^kubeherald: cannot read/)
})

test('a table may have more rows than a function has arguments', () => {
  const rows = Array.from({ length: 200_000 }, (_, i) => [String(i), 'x'])
  expect(table(rows).split('\n').at(-2)).toBe('199999  x')
})
