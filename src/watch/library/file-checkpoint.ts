import { open, readFile, rename, rm } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import type { CheckpointStore } from './types.ts'

/**
 * A checkpoint in a file, which is replaced as a whole: written to another file in its folder, synchronised with the disk, and renamed (rename(2) is atomic).
 * Its folder must exist. `save` throws what the file system does.
 */
export function fileCheckpoint(path: string): CheckpointStore {
  const partial = join(dirname(path), `.${basename(path)}.partial`)
  return {
    async load() {
      try {
        return await readFile(path, 'utf8')
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
        throw error
      }
    },
    async save(checkpoint) {
      try {
        const file = await open(partial, 'w', 0o600)
        try {
          await file.writeFile(checkpoint)
          await file.sync()
        } finally {
          await file.close()
        }
        await rename(partial, path)
      } catch (error) {
        await rm(partial, { force: true }).catch(() => {})
        throw error
      }
    },
  }
}
