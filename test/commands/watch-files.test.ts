import { mkdtemp, rename, rm, symlink, writeFile } from 'node:fs/promises'
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
