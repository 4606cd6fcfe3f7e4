import { closeSync, constants, openSync, readSync, type Stats, statSync } from 'node:fs'
import { open, stat } from 'node:fs/promises'
import { FileTooLarge, NoPlainFile } from '../../config/include-files.ts'
import { MAX_FILE_CHARACTERS } from '../../config/yaml/parse.ts'

/** Secrets and ConfigMaps hold no more. */
export const MAX_FILE_BYTES = MAX_FILE_CHARACTERS

const PIECE_BYTES = 65_536
/** Files below /proc have no size, some no end, and some make a reader wait. */
const FLAGS = constants.O_RDONLY | constants.O_NONBLOCK

/** What a shell's `<(…)` stands for: it ends, and can be read once. */
export function isHandedOver(path: string): boolean {
  return /^\/(dev|proc\/self)\/(fd\/|stdin$)/.test(path)
}

/** What a plain file holds; throws as Node does, or `NoPlainFile`, `FileTooLarge`. What has no end, or makes a reader wait, is not read. */
export function readPlainFile(path: string, maxBytes: number): Buffer {
  if (!isHandedOver(path)) requirePlain(path, statSync(path), maxBytes)
  const file = openSync(path, isHandedOver(path) ? constants.O_RDONLY : FLAGS)
  const pieces = new Pieces(maxBytes)
  try {
    while (pieces.take(readSync(file, pieces.next)));
    return pieces.whole()
  } finally {
    closeSync(file)
  }
}

/** The same without making others wait. */
export async function readPlainFileLater(path: string, maxBytes: number): Promise<Buffer> {
  requirePlain(path, await stat(path), maxBytes)
  await using file = await open(path, FLAGS)
  const pieces = new Pieces(maxBytes)
  while (pieces.take((await file.read(pieces.next)).bytesRead));
  return pieces.whole()
}

function requirePlain(path: string, stats: Stats, maxBytes: number): void {
  if (stats.isDirectory()) throw Object.assign(new Error(`${path} is a folder`), { code: 'EISDIR' })
  if (!stats.isFile()) throw new NoPlainFile()
  if (stats.size > maxBytes) throw new FileTooLarge()
}

class Pieces {
  next = Buffer.allocUnsafe(PIECE_BYTES)
  readonly #maxBytes: number
  readonly #pieces: Buffer[] = []
  #bytes = 0

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes
  }

  /** So many bytes of `next` were read; false at the end. */
  take(bytes: number): boolean {
    this.#bytes += bytes
    if (this.#bytes > this.#maxBytes) throw new FileTooLarge()
    this.#pieces.push(this.next.subarray(0, bytes))
    this.next = Buffer.allocUnsafe(PIECE_BYTES)
    return bytes > 0
  }

  whole(): Buffer {
    return Buffer.concat(this.#pieces)
  }
}
