import { lstatSync, mkdirSync } from 'node:fs'
import { enableCompileCache } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** Halves the time of a start; does nothing without a directory that only this user can write to. */
export function startCompileCache(): void {
  const uid = process.getuid?.()
  // Where there are no such ids, as on Windows, the temporary directory is the user's own.
  const directory = uid === undefined ? join(tmpdir(), 'kubeherald') : ownDirectory(tmpdir(), uid)
  if (directory !== undefined) enableCompileCache(directory)
}

/**
 * Returns a directory below `parent` that only this user can write to; undefined without one. Node runs the code in a cache without
 * checking its owner, and its default directory is shared by all users.
 */
export function ownDirectory(parent: string, uid: number): string | undefined {
  const path = join(parent, `kubeherald-${uid}`)
  try {
    mkdirSync(path, { recursive: true, mode: 0o700 })
    const found = lstatSync(path)
    return found.isDirectory() && found.uid === uid && (found.mode & 0o022) === 0 ? path : undefined
  } catch {
    return undefined
  }
}
