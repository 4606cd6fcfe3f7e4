import { HEAD_BYTES } from './oversized.ts'

export interface BytesLimit {
  /** More bytes than this are not held in memory. Default: any number. */
  maxBytes?: number
  /** How many bytes are kept when there are more. Default: HEAD_BYTES. */
  headBytes?: number
}

const NOTHING: Buffer = Buffer.alloc(0)

/**
 * Collects the bytes of one line or list item that comes in parts. Beyond the limit it keeps the beginning alone. One
 * growing buffer: megabytes stay linear, and tiny parts cost no more than their bytes.
 */
export class BoundedBytes {
  readonly #maxBytes: number
  readonly #headBytes: number
  #length = 0
  #kept = NOTHING
  #keptBytes = 0

  constructor({ maxBytes = Number.POSITIVE_INFINITY, headBytes = HEAD_BYTES }: BytesLimit = {}) {
    this.#maxBytes = maxBytes
    this.#headBytes = Math.min(headBytes, maxBytes)
  }

  /** Bytes that were added, also those that are not kept. */
  get length(): number {
    return this.#length
  }

  /** The part is not copied while it is the only one. */
  add(part: Buffer): void {
    const isFirst = this.#length === 0
    this.#length += part.length
    const isTooLong = this.#length > this.#maxBytes
    if (isTooLong && this.#keptBytes > this.#headBytes) {
      this.#kept = Buffer.from(this.#kept.subarray(0, this.#headBytes))
      this.#keptBytes = this.#headBytes
    }
    const added = isTooLong ? part.subarray(0, this.#headBytes - this.#keptBytes) : part
    if (isFirst) this.#kept = added
    else if (added.length > 0) this.#append(added)
    this.#keptBytes += added.length
  }

  /** Returns what was kept, and begins again. */
  take(): Buffer {
    const bytes = this.#kept.subarray(0, this.#keptBytes)
    this.#kept = NOTHING
    this.#keptBytes = 0
    this.#length = 0
    return bytes
  }

  #append(part: Buffer): void {
    const needed = this.#keptBytes + part.length
    if (this.#kept.length < needed) {
      const size = Math.max(needed, Math.min(2 * this.#keptBytes, this.#maxBytes))
      const larger = Buffer.allocUnsafeSlow(size)
      this.#kept.copy(larger, 0, 0, this.#keptBytes)
      this.#kept = larger
    }
    part.copy(this.#kept, this.#keptBytes)
  }
}
