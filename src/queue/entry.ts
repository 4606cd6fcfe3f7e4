import { constants, zstdCompressSync, zstdDecompressSync } from 'node:zlib'
import type { Delivery } from '../delivery.ts'
import { DICTIONARY } from './dictionary.ts'

/** One entry of a lane's stream: some deliveries, compressed together. Its fields in Redis: `n`, `t`, `z`. */
export interface LaneEntry {
  count: number
  /** When the oldest of them was observed. */
  observedAtMs: number
  payload: Buffer
}

const MAX_DELIVERIES = 60
const MAX_RAW_BYTES = 128 * 1024

/** First byte of a payload: the format, and with it the dictionary. */
const ZSTD_DICTIONARY_1 = 1

/** What is small is packed tightly: it lies there alone, and little input costs little time. Up to three pods of usual size. */
const SMALL_BYTES = 16 * 1024
const TIGHT = optionsOf(6)
const QUICK = optionsOf(1)

function optionsOf(level: number) {
  return { params: { [constants.ZSTD_c_compressionLevel]: level }, dictionary: DICTIONARY }
}

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
    bytes += (deliveries[end] as Delivery).objectJson.length + 512
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
    observedAtMs = Math.min(observedAtMs, Date.parse(header.event.time))
  }
  const packed = compress(Buffer.concat(lines))
  return {
    count: deliveries.length,
    observedAtMs,
    payload: Buffer.concat([Buffer.of(ZSTD_DICTIONARY_1), packed]),
  }
}

/** The output comes in chunks that stay in memory until the next collection: they are as large as what goes in needs. */
function compress(raw: Buffer): Buffer {
  const options = raw.length <= SMALL_BYTES ? TIGHT : QUICK
  return zstdCompressSync(raw, { ...options, chunkSize: chunkSize(raw.length / 4) })
}

function decompress(packed: Buffer): Buffer {
  return zstdDecompressSync(packed, { dictionary: DICTIONARY, chunkSize: chunkSize(packed.length * 12) })
}

function chunkSize(expectedBytes: number): number {
  return Math.min(Math.max(Math.ceil(expectedBytes), 1_024), 128 * 1_024)
}

/** An exotic server may pretty-print; raw line breaks stand only between the tokens of JSON, where a space does as well. */
function oneLine(json: Buffer): Buffer {
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
