import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { programMain } from '../program.ts'
import { withRules } from './load-text.ts'

const folder = mkdtempSync(join(tmpdir(), 'kubeherald-config-'))
afterAll(() => rmSync(folder, { recursive: true }))

interface Answer {
  code: number | null
  out: string
  err: string
}

/** `kubeherald check --offline`, as a process. */
function check(config: string, input = ''): Promise<Answer> {
  return new Promise((resolve) => {
    const args = [programMain(), 'check', '--offline', '--config', config]
    const child = execFile(process.execPath, args, { cwd: folder }, (_, out, err) =>
      resolve({ code: child.exitCode, out, err }),
    )
    child.stdin?.on('error', () => {}).end(input)
  })
}

const GOOD = withRules('  - { name: all, to: screen }')
const BAD = withRules('  - { name: all, to: scren }')

test('a configuration comes through a pipe', async () => {
  expect(await check('-', withRules('  - { name: all, to: screen }', '[Pod]'))).toMatchObject({
    code: 0,
    out: expect.stringContaining('standard input is good: 1 watch entry, 1 sink, 1 rule\n'),
  })
  const bad = await check('-', BAD)
  expect(bad).toMatchObject({ code: 2, out: '' })
  expect(bad.err).toContain(
    'kubeherald: standard input has 1 problem\n\nstandard input:4:22: there is no sink',
  )
})

test('the heading names the file as the problems do', async () => {
  const file = join(folder, 'bad.yaml')
  writeFileSync(file, BAD)
  writeFileSync(file, BAD.replace('Event', 'Evnt'))
  expect((await check(file)).err).toContain(`kubeherald: ${file} has 1 problem and 1 warning\n`)
  writeFileSync(file, BAD)
  expect((await check(file)).err).toContain(`kubeherald: ${file} has 1 problem\n\n${file}:4:22: `)
})

test('a byte order mark is not a character of the file', async () => {
  const file = join(folder, 'marked.yaml')
  writeFileSync(file, `\ufeffx: 1\n${GOOD}`)
  const { err } = await check(file)
  expect(err).toContain(`${file}:1:1: unknown key "x"\n`)
})

test.each([
  ['a directory', () => folder, 'it is a directory: name the file in it'],
  ['a file that is not there', () => join(folder, 'gone.yaml'), 'there is no such file'],
  [
    'UTF-16',
    () => written('utf16.yaml', Buffer.from(`\ufeff${GOOD}`, 'utf16le')),
    'it is UTF-16: save it as UTF-8',
  ],
  [
    'UTF-16 without a mark',
    () => written('bare16.yaml', Buffer.from(GOOD, 'utf16le')),
    'it is not text in UTF-8',
  ],
  [
    'Latin-1',
    () => written('latin1.yaml', Buffer.from('# \u00e4', 'latin1')),
    'it is not UTF-8: save it as UTF-8',
  ],
])('%s is not a configuration, and why', async (_, file, reason) => {
  const { code, err } = await check(file())
  expect(code).toBe(2)
  expect(err).toContain(`kubeherald: cannot read the configuration ${file()}: ${reason}`)
  expect(err.trim().split('\n')).toHaveLength(1)
})

function written(name: string, bytes: Uint8Array): string {
  const file = join(folder, name)
  writeFileSync(file, bytes)
  return file
}
