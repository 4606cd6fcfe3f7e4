import { parsePattern } from '../../rules/pattern.ts'

/** Access to included files. */
export interface IncludeFiles {
  /** Returns the content of a file. Throws errors of Node, `NoPlainFile` or `FileTooLarge`. */
  read(path: string): Uint8Array
  /** Returns the files that match a pattern, sorted. Throws errors of Node or `GlobTooWide`. */
  list(pattern: string): readonly string[]
  /** Returns the path with symbolic links resolved; unchanged if it does not exist. */
  real?(path: string): string
}

/** Returns true for a file that is neither in the folder nor below it, after resolving symbolic links. */
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

interface FolderEntry {
  name: string
  isFolder: boolean
}

/** Returns the entries of a folder. Throws errors of `node:fs`. */
type ReadFolder = (path: string) => readonly FolderEntry[]

/** A pattern for which more than MAX_LOOKED_AT entries of folders would be read. */
export class GlobTooWide extends Error {}

const MAX_LOOKED_AT = 10_000

export function isGlob(path: string): boolean {
  return /[*?]/.test(path)
}

/**
 * Returns the files that match an absolute pattern, sorted: `*` and `?` within a name, `**` for any folders, not through
 * links to folders. Names that begin with a dot never match, because a ConfigMap volume has such folders. Throws
 * `GlobTooWide`, or errors of Node when a folder may not be read.
 */
export function expandGlob(pattern: string, readFolder: ReadFolder): string[] {
  const found = new Set<string>()
  let lookedAt = 0
  function list(folder: string): readonly FolderEntry[] {
    try {
      const entries = readFolder(folder === '' ? '/' : folder)
      lookedAt += entries.length + 1
      if (lookedAt > MAX_LOOKED_AT) throw new GlobTooWide()
      return entries.filter(({ name }) => !name.startsWith('.'))
    } catch (error) {
      if (/^(ENOENT|ENOTDIR)$/.test((error as NodeJS.ErrnoException).code ?? '')) return []
      throw error
    }
  }
  function walk(folder: string, [segment = '', ...rest]: readonly string[]): void {
    const isLast = rest.length === 0
    if (segment === '**') {
      walk(folder, isLast ? ['*'] : rest)
      for (const { name, isFolder } of list(folder))
        if (isFolder) walk(`${folder}/${name}`, [segment, ...rest])
      return
    }
    if (!isGlob(segment) && !isLast) return walk(`${folder}/${segment}`, rest)
    const test = testOf(segment)
    for (const { name, isFolder } of list(folder)) {
      if (!test(name)) continue
      if (!isLast) walk(`${folder}/${name}`, rest)
      else if (!isFolder) found.add(`${folder}/${name}`)
    }
  }
  walk('', pattern.split('/').slice(1))
  return [...found].toSorted()
}

function testOf(segment: string): (name: string) => boolean {
  const parsed = parsePattern(segment)
  return parsed.ok && !parsed.value.negated ? parsed.value.test : (name) => name === segment
}
