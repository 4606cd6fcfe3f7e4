import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openDesk } from '../cli/cli.ts'

const HOST = new URL('plugins-host.ts', import.meta.url).pathname
const folder = mkdtempSync(join(tmpdir(), 'kubeherald-plugins-'))

const SCHEMA = `{ '~standard': { version: 1, vendor: 'none', validate: (value) =>
  value && value.room ? { value } : { issues: [{ message: 'is missing', path: ['room'] }] } } }`
const pager = (type = 'pager', more = '') =>
  `({ apiVersion: 1, type: '${type}', config: ${SCHEMA}, open() { return { deliver: async () => [], async close() {} } }${more} })`
const ESM = (type?: string) => `export default ${pager(type)}\n`

/** Files beside the configurations. */
const FILES: Record<string, string> = {
  'sinks/pager.mts': `import { TemplateFault, defineSink, type Message } from 'kubeherald/sink'
const first = (batch: readonly Message[]): Message | undefined => batch[0]
export default { ...defineSink(${pager('pager')}), TemplateFault, first }\n`,
  'sinks/pager.mjs': ESM(),
  'sinks/two.mjs': `export default [${pager('one')}, ${pager('two')}]\n`,
  'sinks/built-in.mjs': ESM('webhook'),
  'sinks/throws.mjs': `throw new Error('no licence\\nat line two \\u001b[31m')\n`,
  'sinks/throws-secret.mjs': `throw new Error('the key hunter2-secret is wrong')\n`,
  'sinks/throws-nothing.mjs': 'throw undefined\n',
  'sinks/syntax.mjs': 'export default {{\n',
  'sinks/needs.mjs': `import 'not-installed'\n`,
  'sinks/enum.mts': 'enum A { B }\nexport default A\n',
  'sinks/none.mjs': 'export const sink = 1\n',
  'sinks/function.mjs': 'export default () => {}\n',
  'sinks/empty.mjs': 'export default []\n',
  'sinks/old.mjs': `export default { apiVersion: 0, type: 'old' }\n`,
  'sinks/unversioned.mjs': `export default { type: 'old', create() {} }\n`,
  'sinks/shape.mjs': `export default { apiVersion: 1, type: 'a b', config: {}, create() {}, lane: 'x', maxBatch: 0 }\n`,
  'cjs/package.json': '{ "type": "commonjs" }',
  'cjs/pager.ts': `import 'node:fs'\n${ESM()}`,
  'node_modules/@acme/esm/package.json': '{ "name": "@acme/esm", "exports": { "import": "./i.mjs" } }',
  'node_modules/@acme/esm/i.mjs': ESM('esm'),
  'node_modules/cjs/package.json': '{ "name": "cjs", "main": "i.js" }',
  'node_modules/cjs/i.js': `exports.__esModule = true; exports.default = ${pager('cjs')}\n`,
  'node_modules/typed/package.json': '{ "name": "typed", "exports": "./i.mts" }',
  'node_modules/typed/i.mts': ESM('typed'),
}

/** The list of plug-ins of each configuration, and its sink. */
const LISTS: Record<string, [plugins: string, sink?: string]> = {
  typescript: ['["./sinks/pager.mts"]', 'pager, room: "1"'],
  javascript: ['[./sinks/pager.mjs]', 'pager, room: "1"'],
  absolute: [`["${folder}/sinks/pager.mjs"]`, 'pager, room: "1"'],
  'two of one': ['[./sinks/two.mjs]', 'two, room: "1"'],
  'for import alone': ['["@acme/esm"]', 'esm, room: "1"'],
  commonjs: ['[cjs]', 'cjs, room: "1"'],
  'wrong options': ['[./sinks/pager.mjs]', 'pager'],
  'no list': ['./sinks/pager.mjs'],
  'empty entry': ['[""]'],
  'not there': ['[./sinks/nope.mjs]'],
  'not installed': ['["@acme/nope"]'],
  'no dot': ['[sinks/pager.mjs]'],
  'of node': ['[fs]'],
  throws: ['[./sinks/throws.mjs]', 'lost'],
  'throws a secret': ['["./sinks/${env:TOKEN}.mjs", ./sinks/throws-secret.mjs]'],
  'throws nothing': ['[./sinks/throws-nothing.mjs]'],
  syntax: ['[./sinks/syntax.mjs]'],
  needs: ['[./sinks/needs.mjs]'],
  enum: ['[./sinks/enum.mts]'],
  'as commonjs': ['[./cjs/pager.ts]'],
  'typescript in a package': ['[typed]'],
  'no default': ['[./sinks/none.mjs]'],
  'a function': ['[./sinks/function.mjs]'],
  'an empty list': ['[./sinks/empty.mjs]'],
  'old version': ['[./sinks/old.mjs]'],
  'no version': ['[./sinks/unversioned.mjs]'],
  'wrong shape': ['[./sinks/shape.mjs]'],
  'a built-in name': ['[./sinks/built-in.mjs]'],
  'a name twice': ['[./sinks/pager.mjs, ./sinks/pager.mts]', 'pager, room: "1"'],
  'unknown type': ['[./sinks/two.mjs]', 'smoke-signals'],
  misspelt: ['[./sinks/pager.mjs]', 'pagr, room: "1"'],
  'good beside bad': ['[./sinks/throws.mjs, ./sinks/pager.mjs]', 'pager'],
}

let results: Record<
  string,
  { problems?: string[]; types?: string[]; sinks?: object[]; sameContract?: boolean }
>

function host(...args: string[]): typeof results {
  const { stdout, stderr } = spawnSync(process.execPath, [HOST, folder, ...args], { encoding: 'utf8' })
  expect(stderr).not.toContain('at ')
  return JSON.parse(stdout)
}

beforeAll(() => {
  for (const [name, text] of Object.entries(FILES)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true })
    writeFileSync(join(folder, name), text)
  }
  for (const [name, [plugins, sink = 'stdout']] of Object.entries(LISTS)) {
    const rest = `watch: [Pod]\nsinks:\n  out: { type: ${sink} }\nrules: [{ name: all, to: [out] }]\n`
    writeFileSync(join(folder, `${name}.yaml`), `plugins: ${plugins}\n${rest}`)
  }
  results = host()
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

test.each<[name: string, types: string[]]>([
  ['typescript', ['pager']],
  ['javascript', ['pager']],
  ['absolute', ['pager']],
  ['two of one', ['one', 'two']],
  ['for import alone', ['esm']],
  ['commonjs', ['cjs']],
])('a plug-in is found and its type can be used: %s', (name, types) => {
  expect(results[name]).toMatchObject({ types, sinks: [{ name: 'out', options: { room: '1' } }] })
})

test('a plug-in gets the contract of the program that loads it, though nothing is installed', () => {
  expect(results['typescript']?.sameContract).toBe(true)
})

test('the options of its sinks are checked by its schema', () => {
  expect(results['wrong options']?.problems).toEqual([expect.stringMatching(/^4:3 .*"room" is missing/)])
})

const AT = '1:11'
test.each<[name: string, problem: RegExp, at?: string]>([
  ['no list', /"plugins" must be a list, not text/, '1:10'],
  ['empty entry', /"plugins", entry 1 is empty/],
  ['not there', /nope\.mjs is not there: \/.*\/sinks\/nope\.mjs = undefined/],
  [
    'not installed',
    /@acme\/nope is not a package that can be found from \/.* = install it next to .*npm install/,
  ],
  [
    'no dot',
    /sinks\/pager\.mjs is not a package.* = a file is named with "\.\/" in front: "\.\/sinks\/pager\.mjs"/,
  ],
  ['of node', /fs is a part of Node/],
  ['throws', /throws\.mjs failed while it was loaded: no licence = undefined$/],
  ['throws nothing', /throws-nothing\.mjs failed while it was loaded: undefined/],
  ['syntax', /syntax\.mjs failed while it was loaded: Unexpected token/],
  [
    'needs',
    /needs\.mjs imports a missing module: Cannot find package 'not-installed'.* = install its dependencies/,
  ],
  ['enum', /enum\.mts cannot be read: TypeScript enum is not supported.* = Node only takes types away/],
  ['as commonjs', /pager\.ts is read as CommonJS.* = let its name end in \.mts, or write "type": "module"/],
  ['typescript in a package', /is TypeScript inside node_modules.* = a package must bring JavaScript/],
  ['no default', /none\.mjs has no default export = write: export default defineSink/],
  ['a function', /its default export is a function, not a sink type/],
  ['an empty list', /exports an empty list/],
  ['old version', /is written for version 0 of the contract; this kubeherald has version 1/],
  ['no version', /has no apiVersion = this kubeherald has apiVersion: 1/],
  ['a built-in name', /built-in\.mjs: its type "webhook" is a built-in one = give it a name of its own/],
])('what is wrong is told at the entry, with the file: %s', (name, problem, at = AT) => {
  expect(results[name]?.problems).toEqual([expect.stringMatching(problem)])
  expect(results[name]?.problems?.[0]).toMatch(new RegExp(`^${at} `))
})

test('everything that is wrong with a type is told at once', () => {
  const problems = results['wrong shape']?.problems?.join('\n')
  for (const part of [
    'type "a b" is not a name',
    'config is no',
    '"create" there is "open"',
    'lane',
    'maxBatch',
  ])
    expect(problems).toContain(part)
})

test('two plug-ins cannot bring the same type: the second is told', () => {
  expect(results['a name twice']?.problems).toEqual([
    expect.stringMatching(/^1:30 .*pager\.mts: its type "pager" is that of .*pager\.mjs already/),
  ])
})

test('what `${…}` stood for is shown in no message of a plug-in', () => {
  const problems = results['throws a secret']?.problems?.join('\n')
  expect(problems).not.toContain('hunter2')
  expect(problems).toContain('the key *** is wrong')
})

test('an unknown type tells of plug-ins; a misspelt one of theirs what it should be', () => {
  expect(results['unknown type']?.problems).toEqual([
    expect.stringMatching(/no sink type "smoke-signals" = there are: .*two; others come by plug-ins/),
  ])
  expect(results['misspelt']?.problems).toEqual([expect.stringContaining('did you mean "pager"?')])
})

test('one that fails keeps no other back, and its types are not told as unknown', () => {
  const problems = results['good beside bad']?.problems
  expect(problems).toHaveLength(2)
  expect(problems?.join()).toMatch(/throws\.mjs failed[\s\S]*"room" is missing/)
  expect(results['throws']?.problems).toHaveLength(1)
})

test('turned off, a configuration with plug-ins is refused and nothing of them runs', () => {
  const off = host('--no-plugins')
  expect(off['javascript']?.problems).toEqual([
    expect.stringMatching(/^1:1 plug-ins are turned off by --no-plugins = leave this key out/),
  ])
  expect(off['throws']?.problems?.join()).not.toContain('licence')
})

test('the command line and the environment turn plug-ins off; check uses them otherwise', async () => {
  using desk = openDesk()
  const config = join(folder, 'javascript.yaml')
  const check = ['check', '--offline', '--config', config]
  expect(await desk.run(...check)).toMatchObject({ code: 0, stdout: expect.stringContaining('is good') })
  const off = await desk.run(...check, '--no-plugins')
  expect(off).toMatchObject({ code: 2, stderr: expect.stringContaining('turned off by --no-plugins') })
  using hardened = openDesk({ KUBEHERALD_NO_PLUGINS: '1' })
  const byEnvironment = await hardened.run('run', '--config', config)
  expect(byEnvironment).toMatchObject({ code: 2, stderr: expect.stringContaining('KUBEHERALD_NO_PLUGINS') })
})
