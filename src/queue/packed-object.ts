import { constants, zstdCompressSync, zstdDecompressSync } from 'node:zlib'
import { OBJECT_DICTIONARY } from './object-dictionary.ts'
import { joinText, splitText } from './object-text.ts'
import { chunkSize, compress, decompress, MAX_UNPACKED_BYTES, ZSTD_DICTIONARY_1 } from './packing.ts'

/** First byte of an object without its hexadecimal digits, packed with the dictionary of objects. */
const ZSTD_OBJECT_2 = 2
const MAX_VERSION_BYTES = 127
/** The length's bit that says: a number follows, and no text. */
const NUMERIC = 0x80
/** Every frame of zstd begins with these. */
const MAGIC = Buffer.of(0x28, 0xb5, 0x2f, 0xfd)
/** Larger ones are packed quickly. */
const TIGHT_BYTES = 16 * 1024

/** What is known of a packed object without unpacking it. */
export interface PackedObject {
  resourceVersion: string
  /** Throws when it cannot be unpacked. */
  json(): Buffer
}

/** An object's JSON as Redis keeps it: format, version, digits with their length, packed text. */
export function packObject(uid: string, resourceVersion: string, json: Buffer): Buffer | undefined {
  const version = versionBytes(resourceVersion)
  if (!version) return undefined
  const split = splitText(json, uid, resourceVersion)
  if (!split)
    return Buffer.concat([Buffer.of(ZSTD_DICTIONARY_1), textVersion(resourceVersion), compress(json)])
  const { text, digits } = split
  const level = text.length <= TIGHT_BYTES ? 6 : 1
  const params = {
    [constants.ZSTD_c_compressionLevel]: level,
    [constants.ZSTD_c_contentSizeFlag]: 0,
    [constants.ZSTD_c_dictIDFlag]: 0,
  }
  const options = { params, dictionary: OBJECT_DICTIONARY, chunkSize: chunkSize(text.length / 4) }
  const packed = zstdCompressSync(text, options).subarray(MAGIC.length)
  return Buffer.concat([Buffer.of(ZSTD_OBJECT_2), version, lengthBytes(digits.length), digits, packed])
}

/** Undefined when it is of another format, or cut off before its version. */
export function unpackObject(value: Buffer, uid: string): PackedObject | undefined {
  const [format, first = 0] = value
  const end = 2 + (first & 0x7f)
  if (format === ZSTD_DICTIONARY_1) {
    const after = 2 + first
    return {
      resourceVersion: value.toString('utf8', 2, after),
      json: () => decompress(value.subarray(after)),
    }
  }
  if (format !== ZSTD_OBJECT_2 || value.length < end || first === NUMERIC) return undefined
  const resourceVersion =
    first & NUMERIC ? BigInt(`0x${value.toString('hex', 2, end)}`).toString() : value.toString('utf8', 2, end)
  return { resourceVersion, json: () => unpackText(value.subarray(end), uid, resourceVersion) }
}

function unpackText(value: Buffer, uid: string, resourceVersion: string): Buffer {
  const [first = 0, second = 0, third = 0] = value
  const size = first < 0xff ? 1 : 3
  const start = size + (size === 1 ? first : second * 256 + third)
  const packed = Buffer.concat([MAGIC, value.subarray(start)])
  const text = zstdDecompressSync(packed, {
    dictionary: OBJECT_DICTIONARY,
    chunkSize: chunkSize(packed.length * 12),
    maxOutputLength: MAX_UNPACKED_BYTES,
  })
  return joinText({ text, digits: value.subarray(size, start) }, uid, resourceVersion)
}

/** Undefined when it is too long to be kept. */
function versionBytes(version: string): Buffer | undefined {
  if (!/^[1-9]\d{0,18}$/.test(version))
    return Buffer.byteLength(version) > MAX_VERSION_BYTES ? undefined : textVersion(version)
  const hex = BigInt(version).toString(16)
  const bytes = Buffer.from(hex.length % 2 ? `0${hex}` : hex, 'hex')
  return Buffer.concat([Buffer.of(NUMERIC | bytes.length), bytes])
}

function textVersion(version: string): Buffer {
  const bytes = Buffer.from(version)
  return Buffer.concat([Buffer.of(bytes.length), bytes])
}

/** One byte, or three. */
function lengthBytes(length: number): Buffer {
  return length < 0xff ? Buffer.of(length) : Buffer.of(0xff, length >> 8, length & 0xff)
}
