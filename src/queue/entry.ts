import type { Delivery } from '../delivery.ts'
import { compress, decompress, ZSTD_DICTIONARY_1 } from './packing.ts'

/** One entry of a lane's stream: some deliveries, compressed together. Its fields in Redis: `n`, `t`, `z`. */
export interface LaneEntry {
  count: number
  /** When the oldest of them was observed, or let go by limits. */
  observedAtMs: number
  payload: Buffer
}

const MAX_DELIVERIES = 60
const MAX_RAW_BYTES = 128 * 1024

const NEWLINE = Buffer.from('\n')
const LINE_BREAK = 10
const SPACE = 32

/** Packs deliveries of one lane, in order. Two lines each: the header, and the object's own bytes, unparsed. */
export function encodeEntries(deliveries: readonly Delivery[]): LaneEntry[] {
  const entries: LaneEntry[] = []
  for (let start = 0; start < deliveries.length; ) {
    const end = endOfEntry(deliveries, start)
    entries.push(encodeEntry(deliveries.slice(start, end)))
    start = end
  }
  return entries
}

function endOfEntry(deliveries: readonly Delivery[], start: number): number {
  let bytes = 0
  let end = start
  while (end < deliveries.length && end - start < MAX_DELIVERIES) {
    const { objectJson, event, notice } = deliveries[end] as Delivery
    const items = notice?.kind === 'digest' ? notice.items.length : 0
    bytes += objectJson.length + 512 + 256 * (event.changes?.length ?? 0) + 512 * items
    if (end > start && bytes > MAX_RAW_BYTES) break
    end++
  }
  return end
}

function encodeEntry(deliveries: readonly Delivery[]): LaneEntry {
  const lines: Buffer[] = []
  let observedAtMs = Number.POSITIVE_INFINITY
  for (const { objectJson, ...header } of deliveries) {
    lines.push(Buffer.from(JSON.stringify(header)), NEWLINE, oneLine(objectJson), NEWLINE)
    observedAtMs = Math.min(observedAtMs, readyMs(header))
  }
  const packed = compress(Buffer.concat(lines))
  return {
    count: deliveries.length,
    observedAtMs,
    payload: Buffer.concat([Buffer.of(ZSTD_DICTIONARY_1), packed]),
  }
}

/** Since when a delivery could be made. */
export function readyMs({ releasedAt, event }: Pick<Delivery, 'releasedAt' | 'event'>): number {
  return Date.parse(releasedAt ?? event.time)
}

/** JSON without line breaks. An exotic server may pretty-print; raw line breaks stand only between the tokens of JSON, where a space does as well. */
export function oneLine(json: Buffer): Buffer {
  if (!json.includes(LINE_BREAK)) return json
  const line = Buffer.from(json)
  for (let at = line.indexOf(LINE_BREAK); at !== -1; at = line.indexOf(LINE_BREAK, at)) line[at] = SPACE
  return line
}

/** Unpacks what `encodeEntries` packed; throws when the payload is of another format. */
export function decodeEntry(payload: Buffer): Delivery[] {
  if (payload[0] !== ZSTD_DICTIONARY_1) throw new Error(`lane entry of unknown format ${payload[0]}`)
  const raw = decompress(payload.subarray(1))
  const deliveries: Delivery[] = []
  for (let start = 0; start < raw.length; ) {
    const middle = raw.indexOf(LINE_BREAK, start)
    const end = raw.indexOf(LINE_BREAK, middle + 1)
    const header = JSON.parse(raw.toString('utf8', start, middle)) as Omit<Delivery, 'objectJson'>
    deliveries.push({ ...header, objectJson: raw.subarray(middle + 1, end) })
    start = end + 1
  }
  return deliveries
}
