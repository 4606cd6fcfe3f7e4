import { HEAD_BYTES } from './oversized.ts'

/** Splits a byte stream into lines at \n alone: U+2028 or a bare \r is content. */
export interface LineSplitter {
  /** Calls `take` for each line that this chunk completes. */
  push(chunk: Buffer, take: TakeLine): void
  /** Bytes of a line that is not complete yet. */
  readonly pendingBytes: number
}

/** `length` is the line's own; a line longer than the limit comes with its first bytes only. */
export type TakeLine = (line: Buffer, length: number) => void

export interface LineLimit {
  /** A longer line is not held in memory. Default: any length. */
  maxBytes?: number
  /** How much of a longer line is kept. Default: 2 MiB. */
  headBytes?: number
}

const NEWLINE = 10
const NOTHING = Buffer.alloc(0)

export function createLineSplitter({
  maxBytes = Number.POSITIVE_INFINITY,
  headBytes = HEAD_BYTES,
}: LineLimit = {}): LineSplitter {
  const mostOfLong = Math.min(headBytes, maxBytes)
  let length = 0
  let kept: Buffer = NOTHING
  let keptBytes = 0

  /** One growing buffer: a line of megabytes stays linear, and a line in tiny chunks costs no more than its bytes. */
  function keep(part: Buffer): void {
    const isFirst = length === 0
    length += part.length
    const isLong = length > maxBytes
    if (isLong && keptBytes > mostOfLong) {
      kept = Buffer.from(kept.subarray(0, mostOfLong))
      keptBytes = mostOfLong
    }
    const added = isLong ? part.subarray(0, mostOfLong - keptBytes) : part
    if (isFirst) kept = added
    else if (added.length > 0) append(added)
    keptBytes += added.length
  }

  function append(part: Buffer): void {
    const needed = keptBytes + part.length
    if (kept.length < needed) {
      const larger = Buffer.allocUnsafeSlow(Math.max(needed, Math.min(2 * keptBytes, maxBytes)))
      kept.copy(larger, 0, 0, keptBytes)
      kept = larger
    }
    part.copy(kept, keptBytes)
  }

  return {
    get pendingBytes() {
      return length
    },
    push(chunk, take) {
      let start = 0
      for (let end = chunk.indexOf(NEWLINE); end !== -1; end = chunk.indexOf(NEWLINE, start)) {
        const tail = chunk.subarray(start, end)
        start = end + 1
        if (length === 0 && tail.length <= maxBytes) {
          take(tail, tail.length)
          continue
        }
        keep(tail)
        const line = kept.subarray(0, keptBytes)
        const whole = length
        length = 0
        kept = NOTHING
        keptBytes = 0
        take(line, whole)
      }
      if (start < chunk.length) keep(chunk.subarray(start))
    },
  }
}
