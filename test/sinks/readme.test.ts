import { copyFileSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { builtInSinks } from '../../src/sink-types.ts'
import { type Elsewhere, installElsewhere, ROOT } from '../packed.ts'

const TEXT = readFileSync(join(ROOT, 'sinks/README.md'), 'utf8')
const [pager = '', kit = ''] = [...TEXT.matchAll(/```ts\n([\s\S]*?)```/g)].map(([, code = '']) => code)
const configuration = /```yaml\n([\s\S]*?)```/.exec(TEXT)?.[1] ?? ''
const LIMIT = 120_000

let elsewhere: Elsewhere
beforeAll(() => {
  elsewhere = installElsewhere('@types/node')
  const write = (name: string, text: string) => writeFileSync(join(elsewhere.folder, name), text)
  write('pager.mts', pager)
  write('kit.test.mts', kit)
  copyFileSync(new URL('fake-pager.mts', import.meta.url), join(elsewhere.folder, 'fake-pager.mts'))
  write('kubeherald.yaml', configuration.replace('${file:/run/secrets/pager}', 't0ken'))
}, LIMIT)
afterAll(() => elsewhere?.[Symbol.dispose]())

test('the sink of the page passes the kit, as the page runs it', { timeout: LIMIT }, () => {
  const { status, output } = elsewhere.node(
    elsewhere.folder,
    '--test',
    '--test-reporter=spec',
    'kit.test.mts',
  )
  expect(output).toMatch(/pass [1-9]\d\n[\s\S]*skipped 0\n/)
  expect({ status, output: status === 0 ? '' : output }).toEqual({ status: 0, output: '' })
})

test('the configuration of the page names it', { timeout: LIMIT }, () => {
  const { status, output } = elsewhere.node(
    elsewhere.folder,
    elsewhere.main,
    'check',
    '--offline',
    '--strict',
  )
  expect({ status, output }).toMatchObject({ status: 0, output: expect.stringContaining('is good') })
})

test('the types of the page are right', { timeout: LIMIT }, () => {
  const compilerOptions = {
    module: 'nodenext',
    target: 'es2024',
    strict: true,
    noEmit: true,
    allowImportingTsExtensions: true,
    types: ['node'],
  }
  const tsconfig = JSON.stringify({ compilerOptions, files: ['pager.mts', 'kit.test.mts'] })
  writeFileSync(join(elsewhere.folder, 'tsconfig.json'), tsconfig)
  const compiler = join(ROOT, 'node_modules/typescript/bin/tsc')
  expect(elsewhere.node(elsewhere.folder, compiler, '-p', '.').output).toBe('')
})

test('the types of the contract ask for no package but zod', () => {
  const packages = new Set<string>()
  const seen = new Set<string>()
  const visit = (file: string) => {
    if (seen.has(file)) return
    seen.add(file)
    for (const [, from = ''] of readFileSync(file, 'utf8').matchAll(/ from '([^']+)'/g))
      if (from.startsWith('.')) visit(join(dirname(file), from.replace(/\.ts$/, '.d.ts')))
      else packages.add(from)
  }
  const types = join(dirname(elsewhere.main), 'types/src/sink')
  visit(join(types, 'index.d.ts'))
  visit(join(types, 'testkit/index.d.ts'))
  expect([...packages].filter((it) => !it.startsWith('node:'))).toEqual(['zod'])
})

test('the page lists every built-in sink', () => {
  const listed = [...TEXT.matchAll(/^\| \[`([\w-]+)`\]/gm)].map(([, name]) => name)
  expect(listed).toEqual(Object.keys(builtInSinks).toSorted())
})
