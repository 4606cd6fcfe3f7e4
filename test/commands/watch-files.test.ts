import { mkdtemp, readFile, rename, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { watchFiles } from '../../src/commands/watch-files.ts'
import { waitFor } from '../wait-for.ts'

test('a change of content is noticed, whether it is written, renamed over or behind a symbolic link', async () => {
  const dir = await mkdtemp(join(tmpdir(), 'kubeherald-'))
  const token = join(dir, 'token')
  await writeFile(join(dir, 'v1'), 'one')
  await symlink('v1', join(dir, 'data'))
  await writeFile(token, 'a')
  let changes = 0
  const files = watchFiles(
    [token, join(dir, 'data')],
    async () => {
      changes++
      return true
    },
    20,
  )
  const changed = (n: number) => waitFor(() => changes === n, { what: `change ${n}` })
  // Known from the first look on; before it, a change is the beginning.
  await writeFile(token, 'b')
  await new Promise((resolve) => setTimeout(resolve, 50))
  const start = changes
  await writeFile(token, 'c')
  await changed(start + 1)
  await writeFile(join(dir, 'new'), 'd')
  await rename(join(dir, 'new'), token)
  await changed(start + 2)
  await writeFile(join(dir, 'v2'), 'two')
  await symlink('v2', join(dir, 'data_tmp'))
  await rename(join(dir, 'data_tmp'), join(dir, 'data'))
  await changed(start + 3)
  await rm(token)
  await writeFile(token, 'd')
  await new Promise((resolve) => setTimeout(resolve, 60))
  expect(changes).toBe(start + 3)
  files.close()
  await rm(dir, { recursive: true })
})

test('a change that comes while another file is away counts when that one is back as it was', async () => {
  const dir = await mkdtemp(join(tmpdir(), 'kubeherald-'))
  const [token, key] = [join(dir, 'token'), join(dir, 'key')]
  await writeFile(token, 'a')
  await writeFile(key, 'k')
  const read: string[] = []
  let missed = 0
  const files = watchFiles(
    [token, key],
    async () => {
      const text = await readFile(token, 'utf8')
      await readFile(key).catch((error) => {
        missed++
        throw error
      })
      read.push(text)
      return true
    },
    20,
  )
  // Whether the first look comes before or after it: from then on, all is known.
  await writeFile(token, 'b')
  await new Promise((resolve) => setTimeout(resolve, 50))
  await rm(key)
  await writeFile(token, 'c')
  await waitFor(() => missed > 0, { what: 'the change to be looked at' })
  await writeFile(key, 'k')
  await waitFor(() => read.at(-1) === 'c', { what: 'the change to be used' })
  files.close()
  await rm(dir, { recursive: true })
})
