const SLOTS = 16_384

/** The slot of a key in a Redis Cluster: CRC16 (XMODEM) of its hash tag, or of all of it. */
export function hashSlot(key: string): number {
  const open = key.indexOf('{')
  const close = key.indexOf('}', open + 1)
  const hashed = open !== -1 && close > open + 1 ? key.slice(open + 1, close) : key
  let crc = 0
  for (const byte of Buffer.from(hashed)) {
    crc ^= byte << 8
    for (let bit = 0; bit < 8; bit++) crc = (crc & 0x8000 ? (crc << 1) ^ 0x1021 : crc << 1) & 0xffff
  }
  return crc % SLOTS
}
