import { mkdtempSync, rmSync } from 'node:fs'
import { rename, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { FileReads } from '../../src/cli/load-config/file-reads.ts'
import { watchFiles } from '../../src/cli/run/follow-configuration.ts'
import { waitFor } from '../wait-for.ts'

/** Files that are read again whenever one of them changes; `told` has what they held each time. */
function startWatching(names: readonly string[], { beforeLook = async () => {} } = {}) {
  const dir = mkdtempSync(join(tmpdir(), 'kubeherald-'))
  const told: string[] = []
  let reads = new FileReads()
  function read(): string {
    reads = new FileReads()
    const texts = names.map((name) => {
      try {
        return reads.read(join(dir, name)).toString()
      } catch {
        return '-'
      }
    })
    return texts.join(' ')
  }
  const looking = {
    async changed() {
      await beforeLook()
      return reads.changed()
    },
  }
  let watching = { close() {} }
  return {
    path: (name: string) => join(dir, name),
    told,
    start() {
      read()
      watching = watchFiles(
        () => looking,
        async () => void told.push(read()),
        { everyMs: 5, settledMs: 20 },
      )
    },
    until: (text: string) =>
      waitFor(() => told.at(-1) === text, { what: () => `"${text}"; told: ${told.join(', ')}` }),
    [Symbol.dispose]() {
      watching.close()
      rmSync(dir, { recursive: true, force: true })
    },
  }
}

test('a change of content is noticed, whether it is written, renamed over or behind a symbolic link', async () => {
  using it = startWatching(['token', 'data'])
  await writeFile(it.path('v1'), 'one')
  await symlink('v1', it.path('data'))
  await writeFile(it.path('token'), 'a')
  it.start()
  await writeFile(it.path('token'), 'b')
  await it.until('b one')
  await writeFile(it.path('new'), 'c')
  await rename(it.path('new'), it.path('token'))
  await it.until('c one')
  await writeFile(it.path('v2'), 'two')
  await symlink('v2', it.path('data_tmp'))
  await rename(it.path('data_tmp'), it.path('data'))
  await it.until('c two')
  expect(it.told).toEqual(['b one', 'c one', 'c two'])
})

test('a file that is gone is told, and again when it is back', async () => {
  using it = startWatching(['token', 'key'])
  await writeFile(it.path('token'), 'a')
  await writeFile(it.path('key'), 'k')
  it.start()
  await rm(it.path('key'))
  await it.until('a -')
  await writeFile(it.path('key'), 'k')
  await it.until('a k')
})

test('a file that is being written is waited for', async () => {
  let written = 0
  const write = async () => {
    if (written < 10) await writeFile(it.path('config'), 'x'.repeat(++written))
  }
  using it = startWatching(['config'], { beforeLook: write })
  await writeFile(it.path('config'), 'old')
  it.start()
  await it.until('x'.repeat(10))
  expect(it.told).toEqual(['x'.repeat(10)])
})

test('what was read anew while a look was under way is not read a second time', async () => {
  const confirming = Promise.withResolvers<string>()
  const answers = [Promise.resolve('changed'), confirming.promise]
  const before = { changed: () => answers.shift() ?? Promise.resolve('changed') }
  let looks = 0
  const since = { changed: async () => void looks++ }
  let reads: { changed(): Promise<string | undefined> } = before
  let told = 0
  const watching = watchFiles(
    () => reads,
    async () => void told++,
    { everyMs: 1, settledMs: 1 },
  )
  try {
    await waitFor(() => answers.length === 0, { what: 'the look that confirms' })
    reads = since
    confirming.resolve('changed')
    await waitFor(() => looks > 1, { what: 'later looks' })
    expect(told).toBe(0)
  } finally {
    watching.close()
  }
})
