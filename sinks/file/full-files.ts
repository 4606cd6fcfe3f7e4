import { createReadStream, createWriteStream } from 'node:fs'
import { readdir, rename, stat, unlink } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { createGzip } from 'node:zlib'
import type { Logger } from '../../src/sink/index.ts'
import { fullFiles, kindOf } from './rotation.ts'

export interface FullFilesOptions {
  path: string
  maxFiles: number
  compress: boolean
  log: Logger
}

/** What a process that was packing left behind is older than that. */
const ABANDONED_MS = 3_600_000

/** Keeps as many full files as wanted, packed if wanted; beside the deliveries, which never wait for it. */
export function keepFullFiles({ path, maxFiles, compress, log }: FullFilesOptions) {
  const folder = dirname(path)
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
    const names = await namesIn(folder)
    for (const name of names) if (kindOf(path, name) === 'part') await removeAbandoned(join(folder, name))
    const full = fullFiles(path, names)
    const kept = full.slice(-maxFiles)
    for (const name of full.slice(0, -maxFiles)) await unlink(join(folder, name))
    if (!compress) return
    for (const name of kept) if (!name.endsWith('.gz')) await pack(join(folder, name), ending.signal)
  }

  return {
    /** Begins to look, or looks once more when it is under way. */
    look(): void {
      again = true
      if (!ending.signal.aborted) working ??= work()
    },
    /** Stops packing: what is half done is begun anew next time. */
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

/** The packed file appears under its name when it is whole and on the disk; only then the other one goes. */
async function pack(file: string, signal: AbortSignal): Promise<void> {
  const part = `${file}.gz.${process.pid}.part`
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
