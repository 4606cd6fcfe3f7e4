/** Zigzag, as in Protocol Buffers: small numbers are short, negative ones too. */
export function writeVarint(buffer: Buffer, value: number, at: number): number {
  let rest = ((value << 1) ^ (value >> 31)) >>> 0
  for (; rest > 127; rest >>>= 7) buffer[at++] = (rest & 127) | 128
  buffer[at] = rest
  return at + 1
}

/** How many bytes it takes. */
export function varintSize(value: number): number {
  let bytes = 1
  for (let rest = (value << 1) >>> 0; rest > 127; rest >>>= 7) bytes++
  return bytes
}
