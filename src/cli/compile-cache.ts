import { lstatSync, mkdirSync } from 'node:fs'
import { enableCompileCache } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** Halves the start; without a directory that nobody else can write to it does nothing. */
export function startCompileCache(): void {
  const uid = process.getuid?.()
  // Where there are no such ids, as on Windows, the temporary directory is the user's own.
  const directory = uid === undefined ? join(tmpdir(), 'kubeherald') : ownDirectory(tmpdir(), uid)
  if (directory !== undefined) enableCompileCache(directory)
}

/**
 * The cache below `parent` of this user alone; undefined when it cannot be. Node runs what it finds in a cache and asks not
 * who wrote it, and in its own default, which all users share, whoever comes first can write for the others.
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
