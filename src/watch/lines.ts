/** Splits a byte stream into lines at \n alone: U+2028 or a bare \r is content. */
export interface LineSplitter {
  /** Gives the lines that this chunk completes. */
  push(chunk: Buffer): Buffer[]
  /** Bytes of a line that is not complete yet. */
  readonly pendingBytes: number
}

const NEWLINE = 10

export function createLineSplitter(): LineSplitter {
  let parts: Buffer[] = []
  let pendingBytes = 0
  return {
    get pendingBytes() {
      return pendingBytes
    },
    push(chunk) {
      const lines: Buffer[] = []
      let start = 0
      for (let end = chunk.indexOf(NEWLINE); end !== -1; end = chunk.indexOf(NEWLINE, start)) {
        const tail = chunk.subarray(start, end)
        // Parts are joined once, when the line is whole: a line of megabytes stays linear.
        lines.push(parts.length === 0 ? tail : Buffer.concat([...parts, tail]))
        parts = []
        pendingBytes = 0
        start = end + 1
      }
      if (start < chunk.length) {
        parts.push(chunk.subarray(start))
        pendingBytes += chunk.length - start
      }
      return lines
    },
  }
}
