import { BrokenStream } from '../client/api-fault.ts'
import {
  BACKSLASH,
  CLOSE_BRACE,
  CLOSE_BRACKET,
  COLON,
  COMMA,
  OPEN_BRACE,
  OPEN_BRACKET,
  parseObject,
  QUOTE,
} from './json-bytes.ts'
import { HEAD_BYTES } from './oversized.ts'

/** Splits the JSON of a list into its items as it comes: one item at a time is held, whatever the length of the list. */
interface ItemSplitter {
  /** Calls `take` for each item that this chunk completes. Throws BrokenStream when this cannot be a list. */
  push(chunk: Buffer, take: TakeBytes): void
  /** Returns the list without its items: its `items` are [] or null. Throws BrokenStream when the list is not complete. */
  end(): { metadata?: { resourceVersion?: string; continue?: string } }
}

const ITEMS = '"items"'
/** What a list has besides its items, at most. */
const MAX_ENVELOPE_BYTES = 1024 * 1024

export function createItemSplitter(limit: BytesLimit = {}): ItemSplitter {
  const envelope = new BoundedBytes()
  const item = new BoundedBytes(limit)
  /** Where the next byte is: around the items, between two of them, or in one. */
  let place: 'envelope' | 'between' | 'item' = 'envelope'
  /** Number of open brackets: in `envelope` from the list's own brace, in `item` from the item's. */
  let depth = 0
  let inString = false
  let isEscaped = false
  let key = ''
  let hasKey = false

  /** Returns where the string that this chunk is in ends in it, or the chunk's end. */
  function skipString(chunk: Buffer, from: number): number {
    const { length } = chunk
    let at = from
    if (isEscaped && at < length) {
      isEscaped = false
      at++
    }
    for (; at < length; at++) {
      const byte = chunk[at]
      if (byte === QUOTE) {
        inString = false
        return at + 1
      }
      if (byte === BACKSLASH && ++at === length) isEscaped = true
    }
    return length
  }

  /** Returns where this item ends in the chunk, or the chunk's end. */
  function skipItem(chunk: Buffer, from: number): number {
    const { length } = chunk
    let at = from
    while (at < length) {
      if (inString) {
        at = skipString(chunk, at)
        continue
      }
      const byte = chunk[at++]
      if (byte === QUOTE) inString = true
      else if (byte === OPEN_BRACE || byte === OPEN_BRACKET) depth++
      else if ((byte === CLOSE_BRACE || byte === CLOSE_BRACKET) && --depth === 0) return at
    }
    return length
  }

  /** Returns where the items begin in the chunk, or the chunk's end. */
  function skipEnvelope(chunk: Buffer, from: number): number {
    const { length } = chunk
    let at = from
    while (at < length) {
      if (inString) {
        const end = skipString(chunk, at)
        if (depth === 1 && !hasKey && key.length < ITEMS.length) key += chunk.toString('latin1', at, end)
        at = end
        continue
      }
      const byte = chunk[at++]
      if (byte === QUOTE) {
        inString = true
        if (!hasKey) key = '"'
      } else if (depth === 1 && byte === COLON) hasKey = true
      else if (depth === 1 && byte === COMMA) hasKey = false
      else if (byte === OPEN_BRACKET && depth === 1 && key === ITEMS) {
        place = 'between'
        return at
      } else if (byte === OPEN_BRACE || byte === OPEN_BRACKET) depth++
      else if (byte === CLOSE_BRACE || byte === CLOSE_BRACKET) depth--
    }
    return length
  }

  function addToEnvelope(part: Buffer): void {
    envelope.add(part)
    if (envelope.length > MAX_ENVELOPE_BYTES) throw new BrokenStream('an answer is not a list')
  }

  function push(chunk: Buffer, take: TakeBytes): void {
    let at = 0
    while (at < chunk.length) {
      if (place === 'envelope') {
        const end = skipEnvelope(chunk, at)
        addToEnvelope(chunk.subarray(at, end))
        at = end
        if ((place as string) === 'between') depth = 0
      } else if (place === 'item') {
        const end = skipItem(chunk, at)
        item.add(chunk.subarray(at, end))
        at = end
        if (depth > 0) return
        place = 'between'
        const { length } = item
        take(item.take(), length)
      } else {
        const byte = chunk[at] as number
        if (byte === OPEN_BRACE) place = 'item'
        else if (byte === CLOSE_BRACKET) {
          place = 'envelope'
          depth = 2
          key = ''
        } else {
          if (byte !== COMMA && byte > 32) throw new BrokenStream('an item of a list is not an object')
          at++
        }
      }
    }
  }

  function end(): { metadata?: { resourceVersion?: string; continue?: string } } {
    const list = place === 'envelope' ? parseObject(envelope.take()) : undefined
    if (list?.['items'] === undefined) throw new BrokenStream('a list is not JSON, or has no items')
    return list
  }

  return { push, end }
}

/** Splits a byte stream into lines at \n alone: U+2028 or a bare \r is content. */
interface LineSplitter {
  /** Calls `take` for each line that this chunk completes. */
  push(chunk: Buffer, take: TakeBytes): void
  /** Bytes of a line that is not complete yet. */
  readonly pendingBytes: number
}

/** `length` is the whole length; where there is more than the limit, `bytes` is only the beginning. */
type TakeBytes = (bytes: Buffer, length: number) => void

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

interface BytesLimit {
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
class BoundedBytes {
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
