import { BoundedBytes, type BytesLimit } from './bounded-bytes.ts'

/** Splits a byte stream into lines at \n alone: U+2028 or a bare \r is content. */
export interface LineSplitter {
  /** Calls `take` for each line that this chunk completes. */
  push(chunk: Buffer, take: TakeBytes): void
  /** Bytes of a line that is not complete yet. */
  readonly pendingBytes: number
}

/** `length` is the whole length; where there is more than the limit, `bytes` is only the beginning. */
export type TakeBytes = (bytes: Buffer, length: number) => void

const NEWLINE = 10

export function createLineSplitter(limit: BytesLimit = {}): LineSplitter {
  const { maxBytes = Number.POSITIVE_INFINITY } = limit
  const pending = new BoundedBytes(limit)
  return {
    get pendingBytes() {
      return pending.length
    },
    push(chunk, take) {
      let start = 0
      for (let end = chunk.indexOf(NEWLINE); end !== -1; end = chunk.indexOf(NEWLINE, start)) {
        const tail = chunk.subarray(start, end)
        start = end + 1
        if (pending.length === 0 && tail.length <= maxBytes) {
          take(tail, tail.length)
          continue
        }
        pending.add(tail)
        const { length } = pending
        take(pending.take(), length)
      }
      if (start < chunk.length) pending.add(chunk.subarray(start))
    },
  }
}
