import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { FileReads } from '../../src/cli/load-config/file-reads.ts'
import { openDesk } from './cli.ts'

function openFolder() {
  const dir = mkdtempSync(join(tmpdir(), 'kubeherald-'))
  const path = (name: string) => join(dir, name)
  return {
    path,
    fifo: (name: string) => execFileSync('mkfifo', [path(name)]),
    write: (name: string, text: string) => writeFileSync(path(name), text),
    grow: (name: string, bytes: number) => {
      writeFileSync(path(name), '')
      truncateSync(path(name), bytes)
    },
    [Symbol.dispose]: () => rmSync(dir, { recursive: true, force: true }),
  }
}

test('a value or an included file that never ends, or makes a reader wait, is told and not read', async () => {
  using desk = openDesk()
  execFileSync('mkfifo', [join(desk.dir, 'work', 'pipe')])
  desk.write('big', '')
  truncateSync(join(desk.dir, 'work', 'big'), 2_000_000)
  desk.write(
    'kubeherald.yaml',
    `include: [/dev/zero, pipe, big]
watch: [Pod]
sinks: { a: { type: webhook, url: "\${file:/dev/zero}", secret: ["\${file:pipe}", "\${file:big}"] } }
rules: [{ name: r, to: a }]
`,
  )
  const { code, stderr } = await desk.run('check', '--offline')
  expect(code).toBe(2)
  const told = stderr.split('\n').filter((line) => line.startsWith('kubeherald.yaml:'))
  expect(told.map((line) => line.replace(/^\S+ /, ''))).toEqual([
    '/dev/zero cannot be read: it is not a plain file',
    'pipe cannot be read: it is not a plain file',
    'big cannot be read: it is larger than 1 MiB',
    'the file /dev/zero cannot be read: it is not a plain file',
    'the file pipe cannot be read: it is not a plain file',
    'the file big cannot be read: it is larger than 1 MiB',
  ])
})

test('a secret that becomes a pipe, or grows without end, has changed: nobody waits for it', async () => {
  using folder = openFolder()
  folder.write('a', 'one')
  folder.write('b', 'two')
  const reads = new FileReads()
  reads.read(folder.path('a'))
  reads.read(folder.path('b'))
  expect(await reads.changed()).toBeUndefined()
  rmSync(folder.path('a'))
  folder.fifo('a')
  folder.grow('b', 5_000_000_000)
  expect(await reads.changed()).toBe(`${folder.path('a')} undefined\n${folder.path('b')} undefined`)
})

test.runIf(process.platform === 'linux')('a file without a size is read up to a bound', () => {
  const reads = new FileReads()
  expect(reads.read('/proc/self/status').toString()).toContain('Pid:')
  expect(() => reads.read('/proc/self/pagemap')).toThrow()
})
