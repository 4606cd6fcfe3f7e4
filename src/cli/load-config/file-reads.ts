import { createHash } from 'node:crypto'
import {
  closeSync,
  constants,
  openSync,
  readdirSync,
  readSync,
  realpathSync,
  type Stats,
  statSync,
} from 'node:fs'
import { open, stat } from 'node:fs/promises'
import { resolve } from 'node:path'
import { expandGlob, FileTooLarge, type IncludeFiles, NoPlainFile } from '../../config/include/files.ts'
import { MAX_FILE_CHARACTERS } from '../../config/yaml/parse.ts'

/** The state of `FileReads` as plain data for another thread. */
export interface ReadsData {
  digests: ReadonlyMap<string, string | undefined>
  lists: ReadonlyMap<string, string>
  included: readonly string[]
}

/** The files of a configuration with the digests of their contents, to notice changes. */
export class FileReads {
  /** Undefined: it could not be read. */
  readonly #digests = new Map<string, string | undefined>()
  /** The files that each pattern matched. */
  readonly #lists = new Map<string, string>()
  readonly #included: string[] = []
  /** The stamps of files at the time when their digest was found unchanged. */
  readonly #stamps = new Map<string, string | undefined>()

  /** Reads included files, which are part of `digest`. */
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

  static from({ digests, lists, included }: ReadsData): FileReads {
    const reads = new FileReads()
    for (const [path, digest] of digests) reads.#digests.set(path, digest)
    for (const [pattern, list] of lists) reads.#lists.set(pattern, list)
    reads.#included.push(...included)
    return reads
  }

  toData(): ReadsData {
    return { digests: this.#digests, lists: this.#lists, included: this.#included }
  }

  /** Reads a file and records its digest. Throws as `readPlainFile` does. */
  read(path: string): Buffer {
    if (isPipe(path)) return readPlainFile(path)
    this.#digests.set(path, undefined)
    const bytes = readPlainFile(path)
    this.#digests.set(path, digestOf(bytes))
    return bytes
  }

  /** Returns the digest of a configuration: `main`, its main file's, combined with those of its included files. */
  digest(main: string): string {
    if (this.#included.length === 0) return main
    const parts = this.#included.map((path) => this.#digests.get(path))
    return digestOf(Buffer.from([main, ...parts].join('\n')))
  }

  /** Returns the same files with their present digests, for a reader that failed. */
  async again(): Promise<FileReads> {
    const paths = [...this.#digests.keys()]
    const digests = await Promise.all(paths.map(async (path) => [path, await presentDigest(path)] as const))
    const lists = [...this.#lists.keys()].map((pattern) => [pattern, listAgain(pattern)] as const)
    return FileReads.from({ digests: new Map(digests), lists: new Map(lists), included: this.#included })
  }

  /** Returns the changes since the reads as a text: equal texts mean equal states. Undefined without a change. */
  async changed(): Promise<string | undefined> {
    const now = await Promise.all(
      [...this.#digests].map(async ([path, before]) => {
        const stamp = await settledStamp(path)
        if (stamp !== undefined && stamp === this.#stamps.get(path)) return []
        const digest = await presentDigest(path)
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

function presentDigest(path: string): Promise<string | undefined> {
  return readPlainFileAsync(path).then(digestOf, () => undefined)
}

export function digestOf(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex')
}

/** A file written more recently may be written again within one tick of the file system's clock. */
const SETTLED_MS = 10_000

/** Returns a text that changes with each write or replacement of a file; undefined for a recent change or an unreadable file. */
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

/** Returns '' where the folder cannot be listed: the list was '' before, too. */
function listAgain(pattern: string): string {
  try {
    return listFiles(pattern).join('\n')
  } catch {
    return ''
  }
}

/** The limit of Kubernetes for Secrets and ConfigMaps. */
const MAX_FILE_BYTES = MAX_FILE_CHARACTERS

const PIECE_BYTES = 65_536
/** Non-blocking: some files below /proc have no size or no end, and some block a reader. */
const FLAGS = constants.O_RDONLY | constants.O_NONBLOCK

/** Returns true for a shell's `<(…)` and standard input, which end, and can be read only once. */
export function isPipe(path: string): boolean {
  return /^\/(dev|proc\/self)\/(fd\/|stdin$)/.test(path)
}

/**
 * Returns the bytes of a plain file of at most 1 MiB. Throws Node's errors, `NoPlainFile` or `FileTooLarge`: files without an end, and
 * files that block a reader, are not read.
 */
export function readPlainFile(path: string): Buffer {
  if (!isPipe(path)) requirePlain(path, statSync(path))
  const file = openSync(path, isPipe(path) ? constants.O_RDONLY : FLAGS)
  const pieces = new Pieces()
  try {
    while (pieces.take(readSync(file, pieces.next)));
    return pieces.whole()
  } finally {
    closeSync(file)
  }
}

async function readPlainFileAsync(path: string): Promise<Buffer> {
  requirePlain(path, await stat(path))
  await using file = await open(path, FLAGS)
  const pieces = new Pieces()
  while (pieces.take((await file.read(pieces.next)).bytesRead));
  return pieces.whole()
}

/** Returns a function that reads a text file, its path relative to the folder. */
export function readFileIn(folder: string): (path: string) => string {
  return (path) => readPlainFile(resolve(folder, path)).toString('utf8')
}

function requirePlain(path: string, stats: Stats): void {
  if (stats.isDirectory()) throw Object.assign(new Error(`${path} is a folder`), { code: 'EISDIR' })
  if (!stats.isFile()) throw new NoPlainFile()
  if (stats.size > MAX_FILE_BYTES) throw new FileTooLarge()
}

class Pieces {
  next = Buffer.allocUnsafe(PIECE_BYTES)
  readonly #pieces: Buffer[] = []
  #bytes = 0

  /** Keeps the bytes of `next` that were read; returns false at the end. */
  take(bytes: number): boolean {
    this.#bytes += bytes
    if (this.#bytes > MAX_FILE_BYTES) throw new FileTooLarge()
    this.#pieces.push(this.next.subarray(0, bytes))
    this.next = Buffer.allocUnsafe(PIECE_BYTES)
    return bytes > 0
  }

  whole(): Buffer {
    return Buffer.concat(this.#pieces)
  }
}

const REASONS: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such file or directory',
  EACCES: 'permission denied',
  EPERM: 'permission denied',
  EISDIR: 'it is a directory',
  ENOTDIR: 'a part of the path is a file',
  EROFS: 'the file system is read-only',
  ENOSPC: 'there is no space left',
}

/** Returns the reason why a file or directory cannot be used, for a message. */
export function fileFault(error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException
  return code === undefined ? message : (REASONS[code] ?? code)
}
