export const QUOTE = 34
export const COMMA = 44
export const COLON = 58
export const OPEN_BRACKET = 91
export const BACKSLASH = 92
export const CLOSE_BRACKET = 93
export const OPEN_BRACE = 123
export const CLOSE_BRACE = 125

/** A member of an object with one adjoining comma: cutting the range leaves valid JSON. */
export function memberRange(
  bytes: Buffer,
  key: number,
  end: number,
  commaBefore: number,
): readonly [number, number] {
  const after = skipSpace(bytes, end)
  if (bytes[after] === COMMA) return [key, after + 1]
  return [commaBefore === -1 ? key : commaBefore, end]
}

/**
 * Walks the members of the JSON object that begins at `start`; stops when `visit` gives true. Gives whether it came to
 * the object's end.
 */
export function walkMembers(
  bytes: Buffer,
  start: number,
  visit: (key: string, value: number, end: number, range: readonly [number, number]) => boolean | undefined,
): boolean {
  if (bytes[start] !== OPEN_BRACE) return false
  let comma = -1
  let at = skipSpace(bytes, start + 1)
  while (bytes[at] === QUOTE) {
    const keyEnd = skipString(bytes, at)
    const value = valueAfter(bytes, keyEnd)
    if (value === -1) return false
    const end = skipValue(bytes, value)
    if (end > bytes.length) return false
    if (visit(readString(bytes, at, keyEnd), value, end, memberRange(bytes, at, end, comma))) return false
    comma = skipSpace(bytes, end)
    at = nextKey(bytes, end)
  }
  return bytes[at] === CLOSE_BRACE
}

/** Walks the elements of the JSON array that begins at `start`. Gives whether it came to the array's end. */
export function walkElements(
  bytes: Buffer,
  start: number,
  visit: (value: number, end: number) => void,
): boolean {
  if (bytes[start] !== OPEN_BRACKET) return false
  let at = skipSpace(bytes, start + 1)
  while (at < bytes.length && bytes[at] !== CLOSE_BRACKET) {
    const end = skipValue(bytes, at)
    if (end > bytes.length) return false
    visit(at, end)
    at = nextKey(bytes, end)
  }
  return bytes[at] === CLOSE_BRACKET
}

/** Returns true if the text between the quotes is `key`. */
export function isKey(bytes: Buffer, quote: number, end: number, key: Buffer): boolean {
  if (end - quote - 2 !== key.length) return false
  for (let i = 0; i < key.length; i++) if (bytes[quote + 1 + i] !== key[i]) return false
  return true
}

/** From the end of a key over the colon to its value; -1 when there is no colon. */
export function valueAfter(bytes: Buffer, keyEnd: number): number {
  const colon = skipSpace(bytes, keyEnd)
  return bytes[colon] === COLON ? skipSpace(bytes, colon + 1) : -1
}

/** From the end of a value to the next key's quote, or to whatever ends the object. */
export function nextKey(bytes: Buffer, end: number): number {
  const at = skipSpace(bytes, end)
  return bytes[at] === COMMA ? skipSpace(bytes, at + 1) : at
}

export function skipSpace(bytes: Buffer, at: number): number {
  let byte = bytes[at]
  while (byte === 32 || byte === 10 || byte === 13 || byte === 9) byte = bytes[++at]
  return at
}

/** From the opening quote of a key to behind the closing one; beyond the end when it has escapes, so that nothing is found. */
export function skipKey(bytes: Buffer, quote: number): number {
  const { length } = bytes
  for (let at = quote + 1; at < length; at++) {
    const byte = bytes[at]
    if (byte === QUOTE) return at + 1
    if (byte === BACKSLASH) break
  }
  return length + 1
}

/** From an opening quote to behind the closing one. */
export function skipString(bytes: Buffer, quote: number): number {
  const { length } = bytes
  for (let at = quote + 1; at < length; at++) {
    const byte = bytes[at]
    if (byte === QUOTE) return at + 1
    if (byte === BACKSLASH) at++
  }
  return length + 1
}

/** From the first byte of a value to behind its last. Beyond the end when it is cut off. */
export function skipValue(bytes: Buffer, start: number): number {
  const first = bytes[start]
  if (first === QUOTE) return skipString(bytes, start)
  if (first !== OPEN_BRACE && first !== OPEN_BRACKET) return skipLiteral(bytes, start)
  const { length } = bytes
  let depth = 0
  for (let at = start; at < length; ) {
    const byte = bytes[at]
    if (byte === QUOTE) {
      at = skipString(bytes, at)
      continue
    }
    at++
    if (byte === OPEN_BRACE || byte === OPEN_BRACKET) depth++
    else if ((byte === CLOSE_BRACE || byte === CLOSE_BRACKET) && --depth === 0) return at
  }
  return length + 1
}

function skipLiteral(bytes: Buffer, start: number): number {
  const { length } = bytes
  for (let at = start; at < length; at++) {
    const byte = bytes[at]
    if (byte === COMMA || byte === CLOSE_BRACE || byte === CLOSE_BRACKET || byte === 32 || byte === 10)
      return at
  }
  return length + 1
}

/** The string between two offsets, quotes included; '' for null and other non-strings. */
export function readString(bytes: Buffer, start: number, end: number): string {
  if (bytes[start] !== QUOTE) return ''
  const text = bytes.toString('utf8', start + 1, end - 1)
  return text.includes('\\') ? (JSON.parse(`"${text}"`) as string) : text
}

/** A string that is likely to come again. */
export function readCommon(bytes: Buffer, start: number, end: number): string {
  const isString = bytes[start] === QUOTE
  return (isString ? internedText(bytes, start + 1, end - 1) : undefined) ?? readString(bytes, start, end)
}

/** Any value between two offsets. */
export function readValue(bytes: Buffer, start: number, end: number): unknown {
  if (bytes[start] === QUOTE) return readCommon(bytes, start, end)
  return JSON.parse(bytes.toString('utf8', start, end))
}

/** The object that JSON holds; undefined when it is not JSON, or no object. */
export function parseObject(json: Buffer | string): Record<string, unknown> | undefined {
  try {
    const value = JSON.parse(json.toString()) as unknown
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : undefined
  } catch {
    return undefined
  }
}

/** The value of a key of the object that begins at `start`, undefined when it has none; only that value is read. */
export function readMember(bytes: Buffer, start: number, key: string): unknown {
  let found: readonly [number, number] | undefined
  walkMembers(bytes, start, (name, value, end) => {
    if (name === key) found = [value, end]
    return false
  })
  return found && readValue(bytes, ...found)
}

const SLOTS = 1_024
const LONGEST = 40
const table: string[] = new Array<string>(SLOTS).fill('')

/**
 * The text between two offsets, quotes not included; undefined unless it is short, plain ASCII. Texts that come again and again
 * (namespaces, reasons, kinds) are found in a table of fixed size, which takes a fraction of decoding them.
 */
function internedText(bytes: Buffer, start: number, end: number): string | undefined {
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

function isText(bytes: Buffer, start: number, text: string): boolean {
  for (let i = 0; i < text.length; i++) if (bytes[start + i] !== text.charCodeAt(i)) return false
  return true
}
