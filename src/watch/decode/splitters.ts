import { BrokenStream } from './api-fault.ts'
import { BoundedBytes, type BytesLimit } from './bounded-bytes.ts'
import {
  BACKSLASH,
  CLOSE_BRACE,
  CLOSE_BRACKET,
  COLON,
  COMMA,
  OPEN_BRACE,
  OPEN_BRACKET,
  QUOTE,
} from './json-bytes.ts'
import type { TakeBytes } from './lines.ts'

/** Splits the JSON of a list into its items as it comes: one item at a time is held, whatever the length of the list. */
export interface ItemSplitter {
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
  /** Of the place: `envelope` counts from the list's own brace, `item` from the item's. */
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
    if (envelope.length > MAX_ENVELOPE_BYTES) throw new BrokenStream('an answer is no list')
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
          if (byte !== COMMA && byte > 32) throw new BrokenStream('an item of a list is no object')
          at++
        }
      }
    }
  }

  function end(): { metadata?: { resourceVersion?: string; continue?: string } } {
    const list = place === 'envelope' ? parse(envelope.take()) : undefined
    if (list?.['items'] === undefined) throw new BrokenStream('a list is no JSON, or has no items')
    return list
  }

  return { push, end }
}

function parse(bytes: Buffer): Record<string, unknown> | undefined {
  try {
    const value = JSON.parse(bytes.toString()) as unknown
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : undefined
  } catch {
    return undefined
  }
}
