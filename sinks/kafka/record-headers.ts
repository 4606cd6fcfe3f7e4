import { writeVarint } from './varint.ts'

/** Headers as they stand at the end of a record. */
export function encodeHeaders(headers: Readonly<Record<string, string>>): Buffer {
  const entries = Object.entries(headers)
  const buffer = Buffer.allocUnsafe(
    entries.reduce((sum, [name, text]) => sum + 10 + 3 * (name.length + text.length), 5),
  )
  let at = writeVarint(buffer, entries.length, 0)
  for (const text of entries.flat()) {
    at = writeVarint(buffer, Buffer.byteLength(text), at)
    at += buffer.write(text, at)
  }
  return buffer.subarray(0, at)
}
