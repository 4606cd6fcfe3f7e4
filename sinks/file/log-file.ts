import { randomUUID } from 'node:crypto'
import { constants, createReadStream, createWriteStream } from 'node:fs'
import {
  access,
  type FileHandle,
  mkdir,
  open,
  readdir,
  readlink,
  realpath,
  rename,
  stat,
  unlink,
} from 'node:fs/promises'
import { basename, dirname, extname, join, resolve } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { createGzip } from 'node:zlib'
import type { Logger, Outcome, Reason } from '../../src/sink/index.ts'

const { O_APPEND, O_CREAT, O_NONBLOCK, O_RDWR } = constants
const MODE = 0o640
const LINE_FEED = 0x0a

/** The current file. After an exception it is reopened, and a torn last line is terminated. */
export class LogFile {
  readonly #path: string
  #opened: { handle: FileHandle; inode: number; device: number } | undefined
  #current: Current = { bytes: 0, writtenMs: 0 }
  /** A file was made or renamed: its folder is to be synced, too. */
  #folderIsNew = true
  #movedMs = 0

  constructor(path: string) {
    this.#path = path
  }

  get current(): Current {
    return this.#current
  }

  /** Opens the file at the path. Others, such as logrotate, may have moved it away. */
  async ready(): Promise<void> {
    const known = this.#opened
    if (known) {
      const there = await stat(this.#path).catch(goneOrThrow)
      if (there?.ino === known.inode && there.dev === known.device) return
      await this.close()
    }
    await mkdir(dirname(this.#path), { recursive: true, mode: 0o750 })
    const handle = await open(this.#path, O_APPEND | O_CREAT | O_RDWR | O_NONBLOCK, MODE)
    try {
      const { size, mtimeMs, ino, dev } = await usable(handle)
      this.#current = { bytes: size, writtenMs: mtimeMs }
      this.#folderIsNew ||= size === 0
      if (size > 0 && !(await endsWithLine(handle, size)))
        await this.#writeAll(handle, Buffer.from([LINE_FEED]))
      this.#opened = { handle, inode: ino, device: dev }
    } catch (error) {
      await handle.close()
      throw error
    }
  }

  /** Appends all bytes, with as many writes as needed; `took` receives the number of bytes written so far. */
  async append(bytes: Buffer, nowMs: number, took: (written: number) => void): Promise<void> {
    try {
      await this.#writeAll(this.#handle, bytes, took)
      this.#current.writtenMs = nowMs
    } catch (error) {
      await this.close()
      throw error
    }
  }

  /** Waits until the disk has everything, the name of a new file too. */
  async sync(): Promise<void> {
    try {
      await this.#handle.datasync()
      if (this.#folderIsNew) await syncFolder(dirname(await followed(this.#path)))
      this.#folderIsNew = false
    } catch (error) {
      // Bytes that could not be synced may be lost from the page cache, too: never build on them.
      await this.close()
      throw error
    }
  }

  /** Renames the file to a full file; the next line begins a new one. */
  async moveAway(nowMs: number): Promise<string> {
    await this.close()
    const path = await followed(this.#path)
    // Names sort in the order of the files, even if several fill up within a millisecond or the clock goes back.
    this.#movedMs ||= await newestFullMs(path)
    let atMs = Math.max(nowMs, this.#movedMs + 1)
    while (await isTaken(fullName(path, atMs))) atMs++
    const full = fullName(path, atMs)
    await rename(path, full)
    this.#movedMs = atMs
    this.#folderIsNew = true
    return full
  }

  async close(): Promise<void> {
    const opened = this.#opened
    this.#opened = undefined
    await opened?.handle.close().catch(() => undefined)
  }

  get #handle(): FileHandle {
    if (!this.#opened) throw new Error('the file is not open')
    return this.#opened.handle
  }

  /** On a full disk a write succeeds in part; only the next one fails. */
  async #writeAll(handle: FileHandle, bytes: Buffer, took?: (written: number) => void): Promise<void> {
    for (let written = 0; written < bytes.length; ) {
      const { bytesWritten } = await handle.write(bytes, written)
      written += bytesWritten
      this.#current.bytes += bytesWritten
      took?.(written)
    }
  }
}

/**
 * The clock of an earlier process may have been ahead: newer files must sort after its files, because the oldest
 * is deleted first.
 */
async function newestFullMs(path: string): Promise<number> {
  const newest = fullFiles(path, await readdir(dirname(path))).at(-1)
  return newest === undefined ? 0 : fullMs(path, newest)
}

/** Returns the file that a symbolic link leads to, also before it is there: a link that was renamed would be lost. */
export async function followed(path: string): Promise<string> {
  const file = await realpath(path).catch(goneOrThrow)
  if (file !== undefined) return file
  const target = await readlink(path).catch(() => undefined)
  return target === undefined ? path : followed(resolve(await realpath(dirname(path)), target))
}

async function usable(handle: FileHandle) {
  const stats = await handle.stat()
  if (!stats.isFile()) throw notFile()
  return stats
}

async function endsWithLine(handle: FileHandle, size: number): Promise<boolean> {
  const { buffer } = await handle.read(Buffer.alloc(1), 0, 1, size - 1)
  return buffer[0] === LINE_FEED
}

async function isTaken(path: string): Promise<boolean> {
  for (const name of [path, `${path}.gz`]) if (await stat(name).catch(goneOrThrow)) return true
  return false
}

async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, 'r').catch(async (error: NodeJS.ErrnoException) => {
    // Where this user may not write either, it made and renamed nothing.
    if (error.code !== 'EACCES' || (await isWritable(path))) throw error
  })
  await folder?.sync().finally(() => folder.close())
}

function isWritable(path: string): Promise<boolean> {
  return access(path, constants.W_OK).then(
    () => true,
    () => false,
  )
}

export type Retry = Extract<Outcome, { kind: 'retry' }>

const CAUSES: Readonly<Record<string, readonly [reason: Reason, cause: string]>> = {
  ENOSPC: ['server-error', 'the disk is full: make room, or lower maxSize and maxFiles'],
  EDQUOT: ['server-error', 'the quota of the disk is used up'],
  EFBIG: ['server-error', 'the file may not grow any more: lower maxSize'],
  EIO: ['server-error', 'the disk reports an error'],
  EMFILE: ['server-error', 'too many files are open'],
  ENFILE: ['server-error', 'too many files are open on this machine'],
  ESTALE: ['network', 'the network file system has lost the file'],
  EACCES: ['auth', 'permission denied: let the user that kubeherald runs as write there'],
  EPERM: ['auth', 'it is not permitted: let the user that kubeherald runs as write there'],
  EROFS: ['config', 'the file system is read-only: mount a volume there that can be written to'],
  ENOTDIR: ['config', 'a part of the path is a file, not a folder'],
  EEXIST: ['config', 'a part of the path is a file, not a folder'],
  EISDIR: ['config', 'it is a folder: name a file in it'],
  ENOENT: ['config', 'its folder is not there and cannot be made'],
  ELOOP: ['config', 'the path goes round in circles: its links lead to each other'],
  ENAMETOOLONG: ['config', 'the path is too long'],
  ENOTFILE: ['config', 'it is not a regular file'],
}

/** Returns why a file cannot be written. The whole sink waits until it can. */
export function faultOf(error: unknown, path: string): Retry {
  const { code = '', message } = error as NodeJS.ErrnoException
  const [reason, cause] = (Object.hasOwn(CAUSES, code) ? CAUSES[code] : undefined) ?? [
    'unknown',
    code || message,
  ]
  const detail = `cannot write ${path}: ${cause}${cause === code ? '' : ` (${code})`}`
  return { kind: 'retry', reason, detail: detail.slice(0, 1_000), scope: 'sink' }
}

export function notFile(): Error {
  return Object.assign(new Error('no regular file'), { code: 'ENOTFILE' })
}

/** Returns undefined for a missing file, and rethrows any other error. */
export function goneOrThrow(error: NodeJS.ErrnoException): undefined {
  if (error.code !== 'ENOENT') throw error
}

/** Size and last write of the current file. */
interface Current {
  bytes: number
  /** When something was last written to it. */
  writtenMs: number
}

/** Returns true if a new file must be begun before `more` bytes are written. */
export function isFull(
  { bytes, writtenMs }: Current,
  more: number,
  limits: { maxSize: number; interval?: number | undefined },
  nowMs: number,
): boolean {
  if (bytes === 0) return false
  if (bytes + more > limits.maxSize) return true
  const { interval } = limits
  return interval !== undefined && Math.floor(nowMs / interval) > Math.floor(writtenMs / interval)
}

/** `events.ndjson` → `events.20261121T091407.312Z.ndjson`: names sort by time. */
export function fullName(path: string, atMs: number): string {
  const stamp = new Date(atMs).toISOString().replaceAll(/[-:]/g, '')
  const ending = extname(path)
  return join(dirname(path), `${basename(path, ending)}.${stamp}${ending}`)
}

/** When a file got its name as a full one. */
export function fullMs(path: string, name: string): number {
  const stem = `${basename(path, extname(path))}.`
  const [, date = '', hour, minute, second] =
    /^(\d{8})T(\d\d)(\d\d)(\d\d\.\d{3}Z)/.exec(name.slice(stem.length)) ?? []
  const day = `${date.slice(0, 4)}-${date.slice(4, 6)}-${date.slice(6)}`
  return Date.parse(`${day}T${hour}:${minute}:${second}`) || 0
}

/** The full files of a path among the names in its folder, the oldest first. */
function fullFiles(path: string, names: readonly string[]): string[] {
  return names.filter((name) => kindOf(path, name) === 'full').toSorted()
}

/** Returns whether a name in the folder is a full file of the path, one that is being compressed, or unrelated. */
export function kindOf(path: string, name: string): 'full' | 'part' | undefined {
  const ending = extname(path)
  const stem = `${basename(path, ending)}.`
  if (!name.startsWith(stem)) return undefined
  const found = /^\d{8}T\d{6}\.\d{3}Z(.*)$/.exec(name.slice(stem.length))
  const rest = found?.[1]
  if (rest === ending || rest === `${ending}.gz`) return 'full'
  return rest?.startsWith(`${ending}.gz.`) && rest.endsWith('.part') ? 'part' : undefined
}

interface FullFilesOptions {
  path: string
  maxFiles: number
  compress: boolean
  log: Logger
}

/** A partial file that is older was left by a process that died. */
const ABANDONED_MS = 3_600_000

/** Keeps `maxFiles` full files and compresses them. Deliveries never wait for it. */
export function keepFullFiles({ path, maxFiles, compress, log }: FullFilesOptions) {
  const ending = new AbortController()
  let working: Promise<void> | undefined
  let again = false

  async function work(): Promise<void> {
    do {
      again = false
      await tidy().catch((error: unknown) => {
        if (!ending.signal.aborted) log.warn({ error, path }, 'full files cannot be tidied up')
      })
    } while (again && !ending.signal.aborted)
    working = undefined
  }

  async function tidy(): Promise<void> {
    const file = await followed(path)
    const folder = dirname(file)
    const names = await namesIn(folder)
    // Another process may tidy up the same folder: what it has deleted or packed is done.
    for (const name of names)
      if (kindOf(file, name) === 'part') await removeAbandoned(join(folder, name)).catch(goneOrThrow)
    const full = fullFiles(file, names)
    const kept = full.slice(-maxFiles)
    for (const name of full.slice(0, -maxFiles)) await unlink(join(folder, name)).catch(goneOrThrow)
    if (!compress) return
    for (const name of kept)
      if (!name.endsWith('.gz')) await pack(join(folder, name), ending.signal).catch(goneOrThrow)
  }

  return {
    /** Starts a run, or requests another one if one is under way. */
    look(): void {
      again = true
      if (!ending.signal.aborted) working ??= work()
    },
    /** Stops compressing. An unfinished file is compressed again next time. */
    async close(): Promise<void> {
      ending.abort()
      await working
    },
  }
}

/** A folder that is not there yet is made by the first event. */
async function namesIn(folder: string): Promise<string[]> {
  return readdir(folder).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return []
    throw error
  })
}

async function removeAbandoned(part: string): Promise<void> {
  const { mtimeMs } = await stat(part)
  if (Date.now() - mtimeMs > ABANDONED_MS) await unlink(part)
}

/**
 * The compressed file gets its name when it is complete and synced; only then the original is deleted. Each run has a part of its own:
 * processes in containers have the same id, and a sink that is replaced may be packing still.
 */
async function pack(file: string, signal: AbortSignal): Promise<void> {
  const part = `${file}.gz.${randomUUID()}.part`
  try {
    const output = createWriteStream(part, { mode: 0o640, flush: true })
    await pipeline(createReadStream(file), createGzip(), output, { signal })
    await rename(part, join(dirname(file), `${basename(file)}.gz`))
  } catch (error) {
    await unlink(part).catch(() => undefined)
    throw error
  }
  await unlink(file)
}
