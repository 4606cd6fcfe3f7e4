import { parsePattern } from '../rules/pattern.ts'

export interface FolderEntry {
  name: string
  isFolder: boolean
}

/** Gives what lies in a folder; throws as Node does. */
export type ReadFolder = (path: string) => readonly FolderEntry[]

/** A pattern that leads to more than anybody meant. */
export class GlobTooWide extends Error {}

const MAX_LOOKED_AT = 10_000

export function isGlob(path: string): boolean {
  return /[*?]/.test(path)
}

/**
 * The files that an absolute pattern means, sorted: `*` and `?` within a name, `**` for any folders, not through links to
 * folders. Names that begin with a dot are never meant, as those behind a ConfigMap's files. Throws `GlobTooWide`, or as
 * Node when a folder may not be read.
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
