import { createHash } from 'node:crypto'
import { readdirSync, realpathSync } from 'node:fs'
import { stat } from 'node:fs/promises'
import { expandGlob } from '../../config/expand-glob.ts'
import type { IncludeFiles } from '../../config/include-files.ts'
import { isHandedOver, MAX_FILE_BYTES, readPlainFile, readPlainFileLater } from './plain-file.ts'

/** The same as plain data. */
export interface ReadsNoted {
  digests: ReadonlyMap<string, string | undefined>
  lists: ReadonlyMap<string, string>
  included: readonly string[]
}

/** Files with what they held when they were read. */
export class FileReads {
  /** Undefined: it could not be read. */
  readonly #digests = new Map<string, string | undefined>()
  /** What each pattern meant. */
  readonly #lists = new Map<string, string>()
  readonly #included: string[] = []
  /** The stamps of files when they were found to hold what they held before. */
  readonly #stamps = new Map<string, string | undefined>()

  /** Included files: they are part of `digest`. */
  readonly included: IncludeFiles = {
    read: (path) => {
      this.#digests.set(path, undefined)
      const bytes = this.read(path)
      this.#included.push(path)
      return bytes
    },
    list: (pattern) => {
      this.#lists.set(pattern, '')
      const found = listFiles(pattern)
      this.#lists.set(pattern, found.join('\n'))
      return found
    },
    real: realPath,
  }

  /** What another thread read. */
  static from({ digests, lists, included }: ReadsNoted): FileReads {
    const reads = new FileReads()
    for (const [path, digest] of digests) reads.#digests.set(path, digest)
    for (const [pattern, list] of lists) reads.#lists.set(pattern, list)
    reads.#included.push(...included)
    return reads
  }

  noted(): ReadsNoted {
    return { digests: this.#digests, lists: this.#lists, included: this.#included }
  }

  /** Reads a file and notes what it held; throws when it cannot be read, as `readPlainFile`. */
  read(path: string): Buffer {
    const isKept = !isHandedOver(path)
    if (isKept) this.#digests.set(path, undefined)
    const bytes = readPlainFile(path, MAX_FILE_BYTES)
    if (isKept) this.#digests.set(path, digestOf(bytes))
    return bytes
  }

  /** Of a file that holds `main`, with all that it includes: its own when it includes nothing. */
  digest(main: string): string {
    if (this.#included.length === 0) return main
    const parts = this.#included.map((path) => this.#digests.get(path))
    return digestOf(Buffer.from([main, ...parts].join('\n')))
  }

  /** The same files with what they hold now, for who could make nothing of it. */
  async again(): Promise<FileReads> {
    const paths = [...this.#digests.keys()]
    const digests = await Promise.all(
      paths.map(
        async (path) =>
          [path, await readPlainFileLater(path, MAX_FILE_BYTES).then(digestOf, () => undefined)] as const,
      ),
    )
    const lists = [...this.#lists.keys()].map((pattern) => [pattern, listAgain(pattern)] as const)
    return FileReads.from({ digests: new Map(digests), lists: new Map(lists), included: this.#included })
  }

  /** What of them is otherwise now: equal texts mean equal states. Undefined when all are as they were read. */
  async changed(): Promise<string | undefined> {
    const now = await Promise.all(
      [...this.#digests].map(async ([path, before]) => {
        const stamp = await settledStamp(path)
        if (stamp !== undefined && stamp === this.#stamps.get(path)) return []
        const digest = await readPlainFileLater(path, MAX_FILE_BYTES).then(digestOf, () => undefined)
        if (digest !== before) return [`${path} ${digest}`]
        this.#stamps.set(path, stamp)
        return []
      }),
    )
    const lists = [...this.#lists].flatMap(([pattern, before]) => {
      const found = listAgain(pattern)
      return found === before ? [] : [`${pattern} ${found}`]
    })
    const different = [...now.flat(), ...lists]
    return different.length === 0 ? undefined : different.join('\n')
  }
}

export function digestOf(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex')
}

/** A file written so lately may be written again within one tick of the file system's clock. */
const SETTLED_MS = 10_000

/** What is another one after each write or exchange of a file; undefined where it was changed lately, or cannot be known. */
async function settledStamp(path: string): Promise<string | undefined> {
  const stats = await stat(path, { bigint: true }).catch(() => undefined)
  if (!stats || Date.now() - Number(stats.ctimeMs) < SETTLED_MS) return undefined
  return [stats.dev, stats.ino, stats.size, stats.mtimeNs, stats.ctimeNs].join(' ')
}

function realPath(path: string): string {
  try {
    return realpathSync(path)
  } catch {
    return path
  }
}

function listFiles(pattern: string): string[] {
  return expandGlob(pattern, (folder) =>
    readdirSync(folder, { withFileTypes: true }).map((it) => ({ name: it.name, isFolder: it.isDirectory() })),
  )
}

/** One that may not be looked for was empty before, too. */
function listAgain(pattern: string): string {
  try {
    return listFiles(pattern).join('\n')
  } catch {
    return ''
  }
}
