import { constants, zstdCompressSync, zstdDecompressSync } from 'node:zlib'
import { DICTIONARY } from './dictionary.ts'

/** First byte of what is stored: its format, and with it the dictionary. */
export const ZSTD_DICTIONARY_1 = 1
/** Not compressed: what is delivered at once is not worth it. */
export const PLAIN = 2

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
  const expected = contentSize(packed) ?? packed.length * 12
  return zstdDecompressSync(packed, {
    dictionary: DICTIONARY,
    chunkSize: chunkSize(expected + 1),
    maxOutputLength: MAX_UNPACKED_BYTES,
  })
}

/**
 * Returns the size of the buffer for output, in bytes. Node's zlib keeps that buffer until the next full collection, because
 * its native handle does; more than one byte too many is wasted for as long.
 */
export function chunkSize(expectedBytes: number): number {
  return Math.min(Math.max(Math.ceil(expectedBytes), 1_024), 128 * 1_024)
}

/** Returns the size of the unpacked content that the header of a zstd frame declares (RFC 8878, 3.1.1.1), in bytes; undefined where there is none. */
function contentSize(frame: Buffer): number | undefined {
  if (frame.length < 18) return undefined
  const descriptor = frame[4] as number
  const isSingleSegment = (descriptor & 0x20) !== 0
  const dictionaryIdBytes = [0, 1, 2, 4][descriptor & 3] as number
  const at = 5 + (isSingleSegment ? 0 : 1) + dictionaryIdBytes
  switch (descriptor >> 6) {
    case 0:
      return isSingleSegment ? frame[at] : undefined
    case 1:
      return frame.readUInt16LE(at) + 256
    case 2:
      return frame.readUInt32LE(at)
    default:
      return Number(frame.readBigUInt64LE(at))
  }
}
