import { constants } from 'node:fs'
import { type FileHandle, mkdir, open, readdir, rename, stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import { goneOrThrow, notFile } from './fault.ts'
import { type Current, fullFiles, fullMs, fullName } from './rotation.ts'

const { O_APPEND, O_CREAT, O_NONBLOCK, O_RDWR } = constants
const MODE = 0o640
const LINE_FEED = 0x0a

/** The file that lines are appended to. After a call that throws it is opened anew, and a torn end is closed off. */
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

  /** Opens what lies at the path now: others may have moved it away, as logrotate does. */
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

  /** Appends the whole of it, however little the system takes at once; `took` hears how much it has so far. */
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
      if (this.#folderIsNew) await syncFolder(dirname(this.#path))
      this.#folderIsNew = false
    } catch (error) {
      // What could not be synced may be lost from memory too: nothing is to be built on it.
      await this.close()
      throw error
    }
  }

  /** Gives the file the name of a full one; what comes next begins another. */
  async moveAway(nowMs: number): Promise<string> {
    await this.close()
    // Names sort in the order of the files, also when several are full within a millisecond or the clock goes back.
    this.#movedMs ||= await this.#newestFullMs()
    let atMs = Math.max(nowMs, this.#movedMs + 1)
    while (await isTaken(fullName(this.#path, atMs))) atMs++
    const full = fullName(this.#path, atMs)
    await rename(this.#path, full)
    this.#movedMs = atMs
    this.#folderIsNew = true
    return full
  }

  /** An earlier process may have had a clock that was ahead: what is newer must not pass for the oldest, which goes first. */
  async #newestFullMs(): Promise<number> {
    const newest = fullFiles(this.#path, await readdir(dirname(this.#path))).at(-1)
    return newest === undefined ? 0 : fullMs(this.#path, newest)
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

  /** A system that runs out of room takes a part, and says no only to the next. */
  async #writeAll(handle: FileHandle, bytes: Buffer, took?: (written: number) => void): Promise<void> {
    for (let written = 0; written < bytes.length; ) {
      const { bytesWritten } = await handle.write(bytes, written)
      written += bytesWritten
      this.#current.bytes += bytesWritten
      took?.(written)
    }
  }
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
  const folder = await open(path, 'r')
  try {
    await folder.sync()
  } finally {
    await folder.close()
  }
}
