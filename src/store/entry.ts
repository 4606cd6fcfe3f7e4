import type { Delivery } from '../model/delivery.ts'
import { isMap } from '../text/plain-data.ts'
import { compress, decompress, PLAIN, ZSTD_DICTIONARY_1 } from './packing.ts'

/** One entry of a lane's stream: some deliveries, compressed together. Its fields in Redis: `n`, `t`, `z`. */
export interface LaneEntry {
  count: number
  /** When the oldest of them was observed, or let go by limits. */
  observedAtMs: number
  payload: Buffer
  deliveries: readonly Delivery[]
}

/** What a commit has put into one lane. */
export interface Enqueued {
  lane: string
  sink: string
  count: number
  /** Undefined where the reply was lost. */
  stored?: {
    entries: readonly { id: string; deliveries: readonly Delivery[] }[]
    /** The sink's counter `enqueued` after it. */
    total: number
  }
}

interface PackedLane {
  sink: string
  count: number
  entries: LaneEntry[]
}

/** The deliveries of one commit, packed per lane, in order. */
export type PackedLanes = ReadonlyMap<string, PackedLane>

const MAX_DELIVERIES = 60
const MAX_RAW_BYTES = 128 * 1024
/** What is larger is compressed in any case. */
const MAX_PLAIN_BYTES = 8 * 1024

const NEWLINE = Buffer.from('\n')
const LINE_BREAK = 10
const SPACE = 32

/**
 * Packs deliveries of one lane, in order. Two lines each: the header, and the object's own bytes, unparsed. `plain`: small
 * entries are not compressed.
 */
export function encodeEntries(deliveries: readonly Delivery[], { plain } = { plain: false }): LaneEntry[] {
  const entries: LaneEntry[] = []
  for (let start = 0; start < deliveries.length; ) {
    const end = endOfEntry(deliveries, start)
    entries.push(encodeEntry(deliveries.slice(start, end), plain))
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

function encodeEntry(deliveries: readonly Delivery[], plain: boolean): LaneEntry {
  const lines: Buffer[] = []
  let observedAtMs = Number.POSITIVE_INFINITY
  for (const { objectJson, ...header } of deliveries) {
    lines.push(Buffer.from(JSON.stringify(header)), NEWLINE, oneLine(objectJson), NEWLINE)
    observedAtMs = Math.min(observedAtMs, readyMs(header))
  }
  const raw = Buffer.concat(lines)
  const isPlain = plain && raw.length <= MAX_PLAIN_BYTES
  return {
    count: deliveries.length,
    observedAtMs,
    payload: isPlain
      ? Buffer.concat([Buffer.of(PLAIN), raw])
      : Buffer.concat([Buffer.of(ZSTD_DICTIONARY_1), compress(raw)]),
    deliveries,
  }
}

/** Groups deliveries by lane and packs them; small entries of a lane that keeps up are not compressed. */
export function packLanes(
  deliveries: readonly Delivery[],
  laneOf: (delivery: Delivery) => string,
  keepsUp: (lane: string) => boolean = () => false,
): PackedLanes {
  const packed = new Map<string, PackedLane>()
  for (const [lane, some] of Map.groupBy(deliveries, laneOf)) {
    packed.set(lane, {
      sink: (some[0] as Delivery).sink,
      count: some.length,
      entries: encodeEntries(some, { plain: keepsUp(lane) }),
    })
  }
  return packed
}

/**
 * Returns the written entries with the ids that Redis chose: `replies` are those of a transaction that begins with the lanes
 * (`beginWithLanes`). If they were lost, returns only the lanes.
 */
export function enqueuedOf(lanes: PackedLanes, replies?: readonly unknown[]): Enqueued[] {
  let at = 0
  return [...lanes].map(([lane, { sink, count, entries }]): Enqueued => {
    if (!replies) return { lane, sink, count }
    const stored = entries.map(({ deliveries }) => ({ id: String(replies[at++]), deliveries }))
    at++
    return { lane, sink, count, stored: { entries: stored, total: Number(replies[at++]) } }
  })
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

/** A part of a lane entry that is no delivery: why, and its bytes as an entry of their own. */
export interface Unreadable {
  detail: string
  payload: Buffer
}

/** Nothing of a lane entry can be read. `newer`: a newer version may be able to. */
export class UnreadableEntryError extends Error {
  override name = 'UnreadableEntryError'
  readonly newer: boolean

  constructor(message: string, options: { newer?: boolean; cause?: unknown } = {}) {
    super(message, { cause: options.cause })
    this.newer = options.newer ?? false
  }
}

/** Formats of later versions count on from ours; bytes of text do not begin like that. */
const LAST_FORMAT = 31

/** Unpacks what `encodeEntries` packed. Throws UnreadableEntryError when any of it cannot be read. */
export function decodeEntry(payload: Buffer): Delivery[] {
  return readEntry(payload).map((part) => {
    if (isUnreadable(part)) throw new UnreadableEntryError(part.detail)
    return part
  })
}

export function isUnreadable(part: Delivery | Unreadable): part is Unreadable {
  return !('event' in part)
}

/**
 * Unpacks what `encodeEntries` packed, and replaces each delivery that cannot be read by why. Throws UnreadableEntryError when
 * the entry cannot be taken apart.
 */
export function readEntry(payload: Buffer): (Delivery | Unreadable)[] {
  const [format = 0] = payload
  if (format !== ZSTD_DICTIONARY_1 && format !== PLAIN) {
    const newer = format > PLAIN && format <= LAST_FORMAT
    throw new UnreadableEntryError(`the entry has the unknown format ${format}`, { newer })
  }
  const raw = format === PLAIN ? payload.subarray(1) : unpack(payload.subarray(1))
  const parts: (Delivery | Unreadable)[] = []
  for (let start = 0; start < raw.length; ) {
    const middle = raw.indexOf(LINE_BREAK, start)
    const end = middle === -1 ? -1 : raw.indexOf(LINE_BREAK, middle + 1)
    if (end === -1) throw new UnreadableEntryError('the entry is cut off')
    parts.push(readPart(raw.subarray(start, end + 1), middle - start))
    start = end + 1
  }
  if (parts.length === 0) throw new UnreadableEntryError('the entry is empty')
  return parts
}

function unpack(packed: Buffer): Buffer {
  try {
    return decompress(packed)
  } catch (error) {
    const { code = '', message } = error as NodeJS.ErrnoException
    // Another time there may be enough.
    if (/memory_allocation|MEMORY_ALLOCATION/.test(code)) throw error
    throw new UnreadableEntryError(`the entry cannot be unpacked: ${message}`, { cause: error })
  }
}

function readPart(lines: Buffer, middle: number): Delivery | Unreadable {
  try {
    const header: unknown = JSON.parse(lines.toString('utf8', 0, middle))
    const objectJson = lines.subarray(middle + 1, lines.length - 1)
    const wrong = wrongIn(header, objectJson)
    if (wrong === undefined) return { ...(header as Omit<Delivery, 'objectJson'>), objectJson }
    return unreadable(lines, `its ${wrong} is missing, or of another type`)
  } catch (error) {
    return unreadable(lines, `its header is not JSON: ${(error as Error).message}`)
  }
}

function unreadable(lines: Buffer, detail: string): Unreadable {
  return { detail, payload: Buffer.concat([Buffer.of(ZSTD_DICTIONARY_1), compress(lines)]) }
}

const EVENT_TEXTS = ['id', 'type', 'kind', 'name', 'uid', 'resourceVersion', 'apiVersion', 'path'] as const

/** The first field without which nothing could be delivered. */
function wrongIn(header: unknown, objectJson: Buffer): string | undefined {
  if (!isMap(header)) return 'header'
  for (const field of ['sink', 'rule']) if (typeof header[field] !== 'string') return field
  const { event, notice, suppressed, trace, logs, order, releasedAt } = header
  if (!isMap(event)) return 'event'
  for (const field of EVENT_TEXTS) if (typeof event[field] !== 'string') return `event.${field}`
  if (!isTime(event['time'])) return 'event.time'
  if (!isTextOrNone(event['namespace'])) return 'event.namespace'
  for (const [name, value] of Object.entries({ notice, suppressed, trace, logs }))
    if (value !== undefined && !isMap(value)) return name
  if (isMap(notice) && notice['kind'] === 'digest' && !Array.isArray(notice['items'])) return 'notice.items'
  if (!isTextOrNone(order)) return 'order'
  if (releasedAt !== undefined && !isTime(releasedAt)) return 'releasedAt'
  const isWhole = objectJson[0] === BRACE && objectJson.at(-1) === END_BRACE
  return isWhole ? undefined : 'object'
}

const BRACE = 0x7b
const END_BRACE = 0x7d

function isTextOrNone(value: unknown): boolean {
  return value === undefined || typeof value === 'string'
}

function isTime(value: unknown): boolean {
  return typeof value === 'string' && !Number.isNaN(Date.parse(value))
}
