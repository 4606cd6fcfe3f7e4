import { constants, zstdCompressSync, zstdDecompressSync } from 'node:zlib'
import { DICTIONARY } from './dictionary.ts'

/** First byte of what is stored: its format, and with it the dictionary. */
export const ZSTD_DICTIONARY_1 = 1

/** What is small is packed tightly: it lies there alone, and little input costs little time. Up to three pods of usual size. */
const SMALL_BYTES = 16 * 1024
const TIGHT = optionsOf(6)
const QUICK = optionsOf(1)

function optionsOf(level: number) {
  return { params: { [constants.ZSTD_c_compressionLevel]: level }, dictionary: DICTIONARY }
}

/** Packs with zstd and our dictionary. */
export function compress(raw: Buffer): Buffer {
  const options = raw.length <= SMALL_BYTES ? TIGHT : QUICK
  return zstdCompressSync(raw, { ...options, chunkSize: chunkSize(raw.length / 4) })
}

/** A frame of a watch has at most 64 MiB; what unpacks to more than this is not ours, and would take all memory. */
export const MAX_UNPACKED_BYTES = 80 * 1024 * 1024

/** Undoes `compress`. Throws an error of zlib where it is damaged, or larger than anything that is stored. */
export function decompress(packed: Buffer): Buffer {
  return zstdDecompressSync(packed, {
    dictionary: DICTIONARY,
    chunkSize: chunkSize(packed.length * 12),
    maxOutputLength: MAX_UNPACKED_BYTES,
  })
}

/** The output comes in chunks that stay in memory until the next collection: they are as large as what goes in needs. */
export function chunkSize(expectedBytes: number): number {
  return Math.min(Math.max(Math.ceil(expectedBytes), 1_024), 128 * 1_024)
}
