import type { Redis } from 'ioredis'
import type { Source, Transition } from '../../model/change.ts'
import type {
  JournalBounds,
  JournalContents,
  JournalRecord,
  JournalSource,
} from '../../model/journal-record.ts'
import { oneLine } from '../entry.ts'
import type { Keys } from '../keys.ts'
import { compress, decompress, ZSTD_DICTIONARY_1 } from '../packing.ts'
import type { Transaction } from './transaction.ts'

export interface JournalParts {
  /** How much is kept now; undefined while nothing is. Asked once for each commit. */
  bounds(): JournalBounds | undefined
  /** The object as it may leave (trimmed, Secret values hashed), and what is known around it. */
  contentsOf(source: Source, transition: Transition): JournalContents
}

const MAX_RECORDS = 60
const MAX_RAW_BYTES = 128 * 1024
/** What a stream needs for an entry besides its payload, about. */
const ENTRY_BYTES = 64
/** How many entries one commit trims: some ms, in which Redis does nothing else. */
export const MOST_TRIMMED = 500

const LINE_BREAK = 10
const NEWLINE = Buffer.from('\n')

/** Packs what happened: a line for the watch, then two for each change. An object that cannot be read is left out. */
export function packJournal(
  source: Source,
  transitions: readonly Transition[],
  contentsOf: JournalParts['contentsOf'],
): Buffer[] {
  const { key, title, resource, clusterUid, spelling, custom } = source
  const first = Buffer.from(`${JSON.stringify({ key, title, resource, clusterUid, spelling, custom })}\n`)
  const entries: Buffer[] = []
  let lines: Buffer[] = [first]
  let bytes = 0
  const end = () => {
    if (lines.length > 1) entries.push(packed(lines))
    lines = [first]
    bytes = 0
  }
  for (const transition of transitions) {
    const contents = readable(() => contentsOf(source, transition))
    if (!contents) continue
    const { objectJson, around } = contents
    if (bytes + objectJson.length > MAX_RAW_BYTES || lines.length > 4 * MAX_RECORDS) end()
    const { object: _, old: __, ...record } = { ...transition, ...(around && { around }) }
    lines.push(Buffer.from(JSON.stringify(record)), NEWLINE, oneLine(objectJson), NEWLINE)
    bytes += objectJson.length + 400
  }
  end()
  return entries
}

function packed(lines: readonly Buffer[]): Buffer {
  return Buffer.concat([Buffer.of(ZSTD_DICTIONARY_1), compress(Buffer.concat(lines))])
}

function readable<T>(make: () => T): T | undefined {
  try {
    return make()
  } catch {
    return undefined
  }
}

/**
 * Appends, and trims what is too old or too much: both bounds hold when the transaction is done. Where there is very much of
 * it, after a long pause or under a new bound, the commits that follow trim the rest.
 */
export function writeJournal(
  transaction: Transaction,
  keys: Keys,
  entries: readonly Buffer[],
  { keepMs, maxBytes }: JournalBounds,
  nowMs: number,
): void {
  if (entries.length === 0) return
  const bounds = [maxBytes, nowMs - keepMs, keepMs, ENTRY_BYTES, MOST_TRIMMED]
  transaction.add('JOURNAL', keys.journal, keys.journalBytes, ...bounds, ...entries)
}

const PAGE = 8
/** Clocks differ, and a change is committed after it was observed. */
export const MARGIN_MS = 60_000

/** What happened from a time on, in the order of the commits; ends where the journal ends. Throws when an entry is of another format. */
export async function* readJournal(
  redis: Redis,
  keys: Keys,
  { sinceMs = 0 }: { sinceMs?: number } = {},
): AsyncGenerator<JournalRecord> {
  let from = String(Math.max(0, Math.floor(sinceMs) - MARGIN_MS))
  for (;;) {
    const entries = await redis.xrangeBuffer(keys.journal, from, '+', 'COUNT', PAGE)
    for (const [, [, payload]] of entries)
      for (const record of unpackJournal(payload as Buffer)) if (record.observedAtMs >= sinceMs) yield record
    const last = entries.at(-1)?.[0]
    if (last === undefined) return
    from = `(${last.toString()}`
  }
}

/**
 * Yields the records of one object, the newest first, from about a time back, or from the end: page by page, each with the time when its
 * oldest entry was committed. A page may have none, so that a reader can stop. Throws when an entry is of another format.
 */
export async function* journalOfObject(
  redis: Redis,
  keys: Keys,
  { uid, aboutMs, signal }: { uid: string; aboutMs?: number | undefined; signal: AbortSignal },
): AsyncGenerator<{ records: JournalRecord[]; fromMs: number }> {
  let from = aboutMs === undefined ? '+' : String(Math.floor(aboutMs) + MARGIN_MS)
  for (;;) {
    signal.throwIfAborted()
    const entries = await redis.xrevrangeBuffer(keys.journal, from, '-', 'COUNT', PAGE)
    const last = entries.at(-1)?.[0].toString()
    if (last === undefined) return
    const records = entries.flatMap(([, [, payload]]) => {
      const all = [...unpackJournal(payload as Buffer, uid)]
      return all.filter((it) => it.uid === uid).toReversed()
    })
    yield { records, fromMs: Number.parseInt(last, 10) }
    from = `(${last}`
  }
}

/** How many bytes the journal has, how much it keeps, since when. */
export async function journalExtent(
  redis: Redis,
  keys: Keys,
): Promise<{ bytes: number; entries: number; oldestMs: number | undefined }> {
  const [bytes, entries, first] = await Promise.all([
    redis.get(keys.journalBytes),
    redis.xlen(keys.journal),
    redis.xrange(keys.journal, '-', '+', 'COUNT', 1),
  ])
  const id = first[0]?.[0]
  return {
    bytes: Number(bytes ?? 0),
    entries,
    oldestMs: id === undefined ? undefined : Number.parseInt(id, 10),
  }
}

/** Nothing of an entry that does not have the text. */
function* unpackJournal(payload: Buffer, text = ''): Generator<JournalRecord> {
  if (payload[0] !== ZSTD_DICTIONARY_1) throw new Error(`journal entry of unknown format ${payload[0]}`)
  const raw = decompress(payload.subarray(1))
  if (!raw.includes(text)) return
  let end = raw.indexOf(LINE_BREAK)
  const source = JSON.parse(raw.toString('utf8', 0, end)) as JournalSource
  while (end + 1 < raw.length) {
    const middle = raw.indexOf(LINE_BREAK, end + 1)
    const record = JSON.parse(raw.toString('utf8', end + 1, middle)) as Omit<
      JournalRecord,
      'source' | 'objectJson'
    >
    end = raw.indexOf(LINE_BREAK, middle + 1)
    yield { ...record, source, objectJson: raw.subarray(middle + 1, end) }
  }
}
