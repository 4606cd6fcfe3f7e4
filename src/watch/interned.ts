const SLOTS = 1_024
const LONGEST = 40
const table: string[] = new Array<string>(SLOTS).fill('')

/**
 * The text between two offsets, quotes not included; undefined unless it is short, plain ASCII. Texts that come again and again
 * (namespaces, reasons, kinds) are found in a table of fixed size, which takes a fraction of decoding them.
 */
export function internedText(bytes: Buffer, start: number, end: number): string | undefined {
  const length = end - start
  if (length > LONGEST || length <= 0) return undefined
  let hash = length
  for (let at = start; at < end; at++) {
    const byte = bytes[at] as number
    if (byte > 126 || byte === BACKSLASH) return undefined
    hash = (Math.imul(hash, 31) + byte) | 0
  }
  const slot = (hash ^ (hash >>> 15)) & (SLOTS - 1)
  const known = table[slot] as string
  if (known.length === length && isText(bytes, start, known)) return known
  const text = bytes.toString('latin1', start, end)
  table[slot] = text
  return text
}

const BACKSLASH = 92

function isText(bytes: Buffer, start: number, text: string): boolean {
  for (let i = 0; i < text.length; i++) if (bytes[start + i] !== text.charCodeAt(i)) return false
  return true
}
