import { chmodSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { ownDirectory } from '../../src/cli/compile-cache.ts'
import { openDesk } from './cli.ts'

const uid = process.getuid?.() as number
let parent: string
beforeEach(() => {
  parent = mkdtempSync(join(tmpdir(), 'kubeherald-cache-'))
})
afterEach(() => rmSync(parent, { recursive: true, force: true }))

test('compiled code is kept where nobody else can write, and found again', () => {
  const path = join(parent, `kubeherald-${uid}`)
  expect(ownDirectory(parent, uid)).toBe(path)
  expect(statSync(path).mode & 0o777).toBe(0o700)
  expect(ownDirectory(parent, uid)).toBe(path)
})

test('one that others can write to is not used', () => {
  const path = join(parent, `kubeherald-${uid}`)
  mkdirSync(path)
  chmodSync(path, 0o777)
  expect(ownDirectory(parent, uid)).toBeUndefined()
})

test('one that leads elsewhere is not used', () => {
  symlinkSync(parent, join(parent, `kubeherald-${uid}`))
  expect(ownDirectory(parent, uid)).toBeUndefined()
})

test('what another user made is not used', () => {
  mkdirSync(join(parent, `kubeherald-${uid + 1}`), { mode: 0o700 })
  expect(ownDirectory(parent, uid + 1)).toBeUndefined()
})

test('without a temporary directory to write to there is none', () => {
  expect(ownDirectory('/dev/null', uid)).toBeUndefined()
})

test('a command puts nothing into the cache that all users share', async () => {
  using desk = openDesk({ TMPDIR: parent, NODE_COMPILE_CACHE: '', NODE_DISABLE_COMPILE_CACHE: '' })
  expect((await desk.run('--version')).code).toBe(0)
  expect(readdirSync(parent).filter((it) => !it.startsWith('kubeherald-cli'))).toEqual([`kubeherald-${uid}`])
})
