import { createHash } from 'node:crypto'

/** Is this event in the sample? Always the same answer for the same id, and for a smaller part only if for a larger one. */
export function isSampled(id: string, part: number): boolean {
  return createHash('sha256').update(id).digest().readUInt32BE(0) / 2 ** 32 < part
}
