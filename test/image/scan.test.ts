import { spawnSync } from 'node:child_process'
import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { findings } from '../../deploy/image/scan.ts'
import { entriesOf } from '../../deploy/image/tar.ts'

interface File {
  text?: string
  mode?: number
}

/** What the scan says of these files, as they come out of a real tar. */
function scan(files: Record<string, File>, owner = '0:0', devDependencies: string[] = []): string[] {
  const folder = mkdtempSync(join(tmpdir(), 'kubeherald-scan-'))
  try {
    for (const [path, { text = '', mode = 0o444 }] of Object.entries(files)) {
      mkdirSync(dirname(join(folder, path)), { recursive: true })
      writeFileSync(join(folder, path), text)
      chmodSync(join(folder, path), mode)
    }
    symlinkSync('main.js', join(folder, 'link'))
    const [uid, gid] = owner.split(':')
    const names = Object.keys(files)
    const args = ['-C', folder, `--owner=${uid}`, `--group=${gid}`, '-c', 'link', ...names]
    return findings(entriesOf(spawnSync('tar', args, { maxBuffer: 1e9 }).stdout), devDependencies)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

const LONG = `app/${'deep/'.repeat(40)}file.js`
const KEY = `-----BEGIN PRIVATE KEY-----\n${'MIIEvQIBADANBgkqhkiG9w0B'}\n`

test('files that nobody may write to, with long names and links among them, are no finding', () => {
  expect(scan({ 'app/main.js': { text: 'code', mode: 0o555 }, [LONG]: {} })).toEqual([])
})

test.each([
  ['setuid', { 'usr/bin/su': { mode: 0o4755 } }, '0:0', 'usr/bin/su: setuid or setgid (4755)'],
  ['setgid', { 'usr/bin/wall': { mode: 0o2755 } }, '0:0', 'usr/bin/wall: setuid or setgid (2755)'],
  [
    'of the user',
    { 'app/x': { mode: 0o644 } },
    '65532:0',
    'app/x: user 65532 may write to it (644, of 65532:0)',
  ],
  [
    'of its group',
    { [LONG]: { mode: 0o464 } },
    '0:65532',
    `${LONG}: user 65532 may write to it (464, of 0:65532)`,
  ],
  ['for everybody', { 'etc/x': { mode: 0o446 } }, '0:0', 'etc/x: user 65532 may write to it (446, of 0:0)'],
  ['a key', { 'etc/key.pem': { text: KEY } }, '0:0', 'etc/key.pem: a private key'],
  ['a registry', { 'app/.npmrc': {} }, '0:0', 'app/.npmrc: a file that holds secrets'],
  ['a token', { 'app/a.js': { text: `x='npm_${'a1'.repeat(18)}'` } }, '0:0', 'app/a.js: a token of npm'],
  ['modules', { 'app/node_modules/x.js': {} }, '0:0', 'app/node_modules/x.js: a package beside the bundle'],
])('a scan finds %s', (_, files: Record<string, File>, owner, line) => {
  expect(scan(files, owner)).toEqual([line])
})

test('a scan finds packages that are for development, and too much of anything', () => {
  const licences = { text: 'What is bundled.\n\n---- vitest 5.1.1 (MIT)\n' }
  expect(scan({ 'app/THIRD_PARTY_LICENSES.txt': licences }, '0:0', ['vitest', 'esbuild'])).toEqual([
    'app: bundles vitest, which is for development',
  ])
  const huge = { path: 'app/a', type: 'file', mode: 0o444, uid: 0, gid: 0, size: 2e8 } as const
  expect(findings([huge])).toEqual(['app: 200000000 bytes, more than 125829120'])
})
