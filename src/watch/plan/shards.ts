import type { Shard } from '../../model/change.ts'

/**
 * A shard as the API server's `shardSelector` asks for it (KEP-5866): a part of the 64-bit FNV-1a hashes of uids. An object
 * keeps its uid, so it is in one shard for as long as it is there.
 */
export function shardSelectorOf({ index, of }: Shard): string {
  return rangeSelector(boundOf(index, of), boundOf(index + 1, of))
}

/** Selects next to nothing: whatever is sent all the same shows that the server does not look. */
export const NEARLY_NOTHING = rangeSelector(0n, 1n)

/** Returns true if the object of this uid is in the shard. Each object that arrives is tested: a server may have ignored the selector. */
export function isInShard(uid: string, { index, of }: Shard): boolean {
  const hash = hashOf(uid)
  return hash >= boundOf(index, of) && hash < boundOf(index + 1, of)
}

/** `2/4`. */
export function shardTitle({ index, of }: Shard): string {
  return `${index + 1}/${of}`
}

function rangeSelector(start: bigint, end: bigint): string {
  return `shardRange(object.metadata.uid, '${hex(start)}', '${hex(end)}')`
}

/** Where a shard begins, and the one before it ends. */
function boundOf(index: number, of: number): bigint {
  return (BigInt(index) << 64n) / BigInt(of)
}

function hex(value: bigint): string {
  return `0x${value.toString(16).padStart(16, '0')}`
}

/** FNV-1a, 64 bits, in two halves: a product of big integers for each byte would cost more than the scan of the object. */
export function hashOf(text: string): bigint {
  let high = 0xcbf29ce4
  let low = 0x84222325
  for (const byte of Buffer.from(text)) {
    low = (low ^ byte) >>> 0
    // Times 2^40 + 0x1b3.
    const product = low * 0x1b3
    high = (high * 0x1b3 + Math.floor(product / 0x1_0000_0000) + low * 0x100) >>> 0
    low = product >>> 0
  }
  return (BigInt(high) << 32n) | BigInt(low)
}
