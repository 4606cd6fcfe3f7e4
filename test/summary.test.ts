import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { startProgram } from './servers/process.ts'
import { waitFor } from './wait-for.ts'

const ROOT = new URL('..', import.meta.url).pathname
const SUITES = `
import { beforeAll, describe, test } from 'vitest'
test('passes', () => {})
describe('whose preparation fails', () => {
  beforeAll(() => { throw new Error('no') })
  test('is not reached', () => {})
})
`

test('the last line counts a group of tests whose preparation failed as a failure', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'kubeherald-summary-'))
  try {
    symlinkSync(join(ROOT, 'node_modules'), join(dir, 'node_modules'))
    writeFileSync(join(dir, 'some.test.mjs'), SUITES)
    const args = ['run', '--root', dir, '--reporter', join(ROOT, 'test/summary-reporter.ts')]
    const program = startProgram(process.execPath, [join(ROOT, 'node_modules/vitest/vitest.mjs'), ...args])
    await waitFor(() => program.ended(), { what: () => program.output() })
    expect(program.output().trim().split('\n').at(-1)).toBe('1 passed, 1 failed, 1 skipped')
  } finally {
    rmSync(dir, { recursive: true })
  }
})
