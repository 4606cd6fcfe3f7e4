import type { LimitState } from '../limit.ts'
import { compress, decompress, ZSTD_DICTIONARY_1 } from './packing.ts'

/** First byte of a state that is too small to be worth packing. */
const PLAIN = 2

const PLAIN_BYTES = 256
/** Format, when it is due, when it is of no use any more, how many events wait. */
const HEAD_BYTES = 1 + 6 + 6 + 4
const MAX_TIME_MS = 2 ** 48 - 1

/** A state as it is stored. What stands before its text is the same in all formats. */
export interface StoredState {
  dueMs: number | undefined
  waiting: number
  /** Unpacks it; of one that cannot be unpacked no more than how many wait in it. */
  text(): string
}

/** Packs a state: it may hold whole deliveries. */
export function encodeState({ text, expiresAfterMs, dueMs, waiting = 0 }: LimitState, nowMs: number): Buffer {
  const raw = Buffer.from(text)
  const plain = raw.length <= PLAIN_BYTES
  const head = Buffer.alloc(HEAD_BYTES)
  head.writeUInt8(plain ? PLAIN : ZSTD_DICTIONARY_1, 0)
  head.writeUIntBE(dueMs === undefined ? 0 : timeOf(dueMs), 1, 6)
  head.writeUIntBE(timeOf(nowMs + expiresAfterMs), 7, 6)
  head.writeUInt32BE(waiting, 13)
  return Buffer.concat([head, plain ? raw : compress(raw)])
}

/** Undefined for what is over. What waits is never over by itself. */
export function decodeState(value: Buffer | null | undefined, nowMs: number): StoredState | undefined {
  if (!value || value.length < HEAD_BYTES) return undefined
  const dueMs = value.readUIntBE(1, 6) || undefined
  const waiting = value.readUInt32BE(13)
  if (dueMs === undefined && waiting === 0 && value.readUIntBE(7, 6) <= nowMs) return undefined
  return { dueMs, waiting, text: () => unpacked(value) ?? JSON.stringify({ waiting }) }
}

/** Undefined when it is of another format, or damaged: a commit must not fail for that. */
function unpacked(value: Buffer): string | undefined {
  const body = value.subarray(HEAD_BYTES)
  if (value[0] === PLAIN) return body.toString()
  if (value[0] !== ZSTD_DICTIONARY_1) return undefined
  try {
    return decompress(body).toString()
  } catch {
    return undefined
  }
}

function timeOf(ms: number): number {
  return Math.min(Math.max(Math.ceil(ms), 1), MAX_TIME_MS)
}

/** Names of rules have no colon; whatever else is in a key may have some. */
export const ruleOfShared = (key: string): string => key.slice(0, key.indexOf(':'))
export const ruleOfOwn = (key: string): string => key.slice(key.lastIndexOf(':') + 1)
