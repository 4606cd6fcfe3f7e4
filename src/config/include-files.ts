import { textOf } from './read-text.ts'

/** Where included files come from. */
export interface IncludeFiles {
  /** What a file holds; throws as Node does, or `NoPlainFile`, `FileTooLarge`. */
  read(path: string): Uint8Array
  /** The files that a pattern means, sorted; throws as Node does, or `GlobTooWide`. */
  list(pattern: string): readonly string[]
  /** The path without links; the same where there are none, or nothing is there. */
  real?(path: string): string
}

/** Returns true for a file that lies neither in the folder nor below it, links followed. */
export function isOutside(files: IncludeFiles, folder: string, path: string): boolean {
  const [from, to] = [folder, path].map((it) => files.real?.(it) ?? it) as [string, string]
  return to !== from && !to.startsWith(from.endsWith('/') ? from : `${from}/`)
}

/** A device, a socket or a pipe: reading it may never end. */
export class NoPlainFile extends Error {
  readonly code = 'NO_PLAIN_FILE'
}

export class FileTooLarge extends Error {
  readonly code = 'FILE_TOO_LARGE'
}

export const NO_FILES: IncludeFiles = {
  read: (path) => {
    throw Object.assign(new Error(path), { code: 'ENOENT' })
  },
  list: () => [],
}

/** The text of an included file, or why there is none: `does not exist`. */
export function readIncluded(
  files: IncludeFiles,
  path: string,
): { text: string } | { fault: string; hint?: string } {
  try {
    const found = textOf(files.read(path))
    return 'text' in found ? found : { fault: `cannot be read: ${found.fault}` }
  } catch (error) {
    if (error instanceof FileTooLarge) return { fault: 'is larger than 1 MiB', hint: 'split it' }
    if (error instanceof NoPlainFile) return { fault: 'is no plain file' }
    const { code = 'unknown error' } = error as NodeJS.ErrnoException
    if (code === 'EISDIR') return { fault: 'is a folder', hint: 'name the files in it' }
    const reasons: Record<string, string> = {
      ENOENT: 'does not exist',
      ENOTDIR: 'does not exist',
      EACCES: 'cannot be read: permission denied',
      ELOOP: 'cannot be read: its links lead in a circle',
      ENAMETOOLONG: 'does not exist: the name is too long',
    }
    return { fault: reasons[code] ?? `cannot be read: ${code}` }
  }
}
