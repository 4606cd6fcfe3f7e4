import type { Redis } from 'ioredis'
import type { Delivery } from '../../model/delivery.ts'
import { orderOf } from '../../sink/order.ts'
import { version } from '../../version.ts'
import { isUnreadable, readEntry, readyMs, type Unreadable, UnreadableEntryError } from '../entry.ts'
import type { Attempts } from '../history/history.ts'
import type { Keys } from '../keys.ts'
import { readReports } from '../process-reports.ts'
import { describeFault, isRefusal } from '../redis/redis-fault.ts'
import { valuesOf } from '../redis/script.ts'
import { costOf } from './byte-budget.ts'
import type { LaneWindow } from './lane-window.ts'
import type { LaneServices } from './owned-lanes.ts'
import type { SinkState } from './sink-state.ts'

/** One delivery as it is stored in a lane. */
export interface Item {
  delivery: Delivery
  /** What it is kept in order with: the object by its name, or a group. */
  chain: string
  observedAtMs: number
  entryId: string
  /** Its place in the entry. */
  place: number
  /** How often it was tried before, as far as is known. */
  tries: number
  /** Those of this process, for the history. */
  attempts?: Attempts
  /** What it counts in the byte budget. */
  cost: number
  /** Its container's log is being read: neither it nor later ones of its chain are sent before. */
  awaitsLog?: boolean
}

/** An entry as it was read: what of it waits. */
export interface LaneEntryRead {
  id: string
  /** How many deliveries it has. */
  count: number
  /** Places that are acknowledged. */
  acked: ReadonlySet<number>
  items: readonly Item[]
  /** What cannot be read: to be kept as dead letters. */
  unreadable: readonly UnreadableItem[]
}

/** Deliveries of one entry that cannot be read: one, or all of them. */
export interface UnreadableItem extends Unreadable {
  places: readonly number[]
}

interface LaneRead {
  entries: LaneEntryRead[]
  /** There may be more behind. */
  more: boolean
  /** The next entry is of a newer version, which runs elsewhere and can read it. */
  awaitsNewer: boolean
}

/** How many notes of a lane's progress are read with it: more than one has, as a rule. */
const PROGRESS_PAGE = 1_000

/** Reads entries of a lane from `start` on, as XRANGE has it, up to the one with which they cost more than `most` in the byte budget. */
export async function readLane(
  redis: Redis,
  keys: Keys,
  lane: string,
  start: string,
  count: number,
  most = Number.POSITIVE_INFINITY,
): Promise<LaneRead> {
  const replies = await redis
    .pipeline()
    .xrangeBuffer(keys.lane(lane), start, '+', 'COUNT', count)
    .hscan(keys.progress(lane), 0, 'COUNT', PROGRESS_PAGE)
    .exec()
  const [rows, notes] = valuesOf(replies) as [[Buffer, Buffer[]][], [string, string[]]]
  const read: (ReadEntry & { id: string })[] = []
  let cost = 0
  for (const [id, fields] of rows) {
    if (cost > most) break
    const entry = readFields(fields)
    read.push({ id: id.toString(), ...entry })
    for (const part of entry.parts ?? []) cost += isUnreadable(part) ? part.payload.length : costOf(part)
  }
  const acked = await readAcked(redis, keys.progress(lane), notes, read)
  const entries: LaneEntryRead[] = []
  for (const entry of read) {
    if (entry.newer && (await runsOtherVersion(redis, keys)))
      return { entries, more: true, awaitsNewer: true }
    entries.push(entryOf(entry, decodePlaces(acked[entry.id], entry.count)))
  }
  return { entries, more: rows.length === count || read.length < rows.length, awaitsNewer: false }
}

/** An item of a delivery that is in memory already. */
function itemOf(delivery: Delivery, entryId: string, place: number): Item {
  return {
    delivery,
    chain: orderOf(delivery),
    observedAtMs: readyMs(delivery),
    entryId,
    place,
    tries: 0,
    cost: costOf(delivery),
  }
}

/** Entries that a commit of this process wrote, as if they were read. */
export function fedEntries(entries: readonly FedEntry[]): LaneEntryRead[] {
  return entries.map(({ id, deliveries }) => {
    const items = deliveries.map((delivery, place) => itemOf(delivery, id, place))
    return { id, count: deliveries.length, acked: new Set(), items, unreadable: [] }
  })
}

/** An entry as it was read. */
interface ReadEntry {
  count: number
  /** One of each delivery; undefined when nothing can be read. */
  parts?: (Delivery | Unreadable)[]
  whole?: Unreadable
  newer?: boolean
}

/** What the fields of a lane's entry hold. Never throws for what they hold. */
export function readFields(fields: readonly Buffer[]): ReadEntry {
  const counted = countIn(fields)
  const payload = findField(fields, 'z')
  if (!payload) {
    const kept = JSON.stringify(fields.map((field) => field.toString('base64')))
    return { count: counted ?? 1, whole: { detail: 'the entry has no field z', payload: Buffer.from(kept) } }
  }
  try {
    const parts = readEntry(payload)
    if (counted === undefined || parts.length === counted) return { count: parts.length, parts }
    const detail = `the entry holds ${parts.length} deliveries instead of ${counted}`
    return { count: counted, whole: { detail, payload } }
  } catch (error) {
    if (!(error instanceof UnreadableEntryError)) throw error
    return { count: counted ?? 1, whole: { detail: error.message, payload }, newer: error.newer }
  }
}

/** The number of deliveries in the field `n` of an entry; undefined when it is missing or no number. */
export function countIn(fields: readonly Buffer[]): number | undefined {
  const text = findField(fields, 'n')?.toString() ?? ''
  return /^[1-9]\d{0,3}$/.test(text) ? Number(text) : undefined
}

/** While an update is under way; the others would keep as a dead letter what it could deliver. */
async function runsOtherVersion(redis: Redis, keys: Keys): Promise<boolean> {
  const reports = await readReports(redis, keys)
  return reports.some((it) => it.version !== version)
}

/** Entry id → acknowledged places. The whole hash where it is small; of a large one, which others wrote, what these entries need. */
async function readAcked(
  redis: Redis,
  key: string,
  [cursor, flat]: [string, string[]],
  entries: readonly { id: string }[],
): Promise<Record<string, string>> {
  const acked: Record<string, string> = {}
  if (String(cursor) === '0' || entries.length === 0) {
    for (let i = 0; i < flat.length; i += 2) acked[flat[i] as string] = flat[i + 1] as string
    return acked
  }
  const values = await redis.hmget(key, ...entries.map(({ id }) => id))
  for (const [i, { id }] of entries.entries()) {
    const value = values[i]
    if (value != null) acked[id] = value
  }
  return acked
}

function entryOf({ id, count, parts, whole }: ReadEntry & { id: string }, acked: Set<number>): LaneEntryRead {
  const open = Array.from({ length: count }, (_, place) => place).filter((place) => !acked.has(place))
  const unreadable: UnreadableItem[] = whole && open.length > 0 ? [{ ...whole, places: open }] : []
  const items: Item[] = []
  for (const place of parts ? open : []) {
    const part = parts?.[place]
    if (!part) continue
    if (isUnreadable(part)) unreadable.push({ ...part, places: [place] })
    else items.push(itemOf(part, id, place))
  }
  return { id, count, acked, items, unreadable }
}

/** The value of a field of a stream entry. */
export function findField(fields: readonly Buffer[], name: string): Buffer | undefined {
  for (let i = 0; i < fields.length; i += 2) if (fields[i]?.toString() === name) return fields[i + 1]
  return undefined
}

/** The acknowledged places of an entry with so many deliveries; what is no place of it is ignored. */
export function decodePlaces(text: string | null | undefined, count: number): Set<number> {
  const places = text ? text.split(',').map(Number) : []
  return new Set(places.filter((place) => Number.isInteger(place) && place >= 0 && place < count))
}

/** What a commit of this process has written. */
export interface FedEntry {
  id: string
  deliveries: readonly Delivery[]
}

const ENOUGH = 256
const ENOUGH_TO_PROBE = 32
/** Entries that are kept while the lane is read. */
const MOST_FED = 64
/** What one read takes of the budget, about: in bytes, and of the share of its sink. */
const READ_BYTES = 1024 * 1024
const READ_PART = 1 / 4
const MOST_ENTRIES = 16
/** Entries may be larger than those before. Beyond so many times what was reserved, the rest is left for the next read. */
const MOST_OF_RESERVED = 4
/** What an entry is taken for before the first was read. */
const UNKNOWN_BYTES = 512 * 1024
/** A sink of which a read waits longer for room in the byte budget is held up by what it has in memory. */
const HELD_UP_MS = 1_000
const READ_AGAIN_MS = 500
const NEWER_MS = 15_000

/** Where a lane is read from next, and whether there may be entries that were not read. */
export class LaneReading {
  readonly #services: Pick<LaneServices, 'redis' | 'keys' | 'troubles' | 'log' | 'budget'>
  readonly #lane: string
  /** The last entry that this process knows. */
  #lastId = '0-0'
  /** The last one that was read. Others may lie between those that were fed since: no counter shows that a dead letter was retried. */
  #readId = '0-0'
  #isBehind: boolean
  #fromStart: boolean
  #isReading = false
  #againMs = 0
  /** Entries that ended while a read was under way, which may bring them again. */
  readonly #ended = new Set<string>()
  /** What commits wrote while the lane was read. */
  #fed: FedEntry[] = []
  /** Redis refused the last read. */
  #isRefused = false
  /** Reads besides that of the lane. */
  #besides = 0
  /** Counts how often deliveries were let go of: what was being read then is not what follows. */
  #generation = 0

  /** `isEmpty`: the lane is known to be empty in Redis. */
  constructor(services: LaneServices, lane: string, isEmpty: boolean) {
    this.#services = services
    this.#lane = lane
    this.#isBehind = !isEmpty
    this.#fromStart = !isEmpty
  }

  /** Nothing is left to read, as far as this process knows. */
  get isDone(): boolean {
    return !this.#isBehind && !this.#isReading
  }

  /** There are deliveries of which no read has begun, as far as this process knows. */
  get isBehind(): boolean {
    return this.#isBehind
  }

  /** True while `readOutOfOrder` reads. Its caller may still claim entries, so the lane must not count as empty. */
  get isReadOutOfOrder(): boolean {
    return this.#besides > 0
  }

  /** When it is read again after a fault; undefined when it does not wait for that. */
  againMs(nowMs: number): number | undefined {
    return this.#isBehind && this.#againMs > nowMs ? this.#againMs : undefined
  }

  /** Will more come soon? */
  goesOn(nowMs: number): boolean {
    return !this.isDone && this.#againMs <= nowMs
  }

  /** There may be entries that are not read; `anywhere`: also before those that are known. */
  poke(anywhere: boolean): void {
    this.#isBehind = true
    if (anywhere) this.#fromStart = true
  }

  /** Deliveries were let go of: they are read again. */
  restart(): void {
    this.#generation++
    this.poke(true)
  }

  hurry(): void {
    this.#againMs = 0
  }

  /** Does an entry that was not read follow the last one immediately? `held` deliveries are in memory. */
  isFollowedBy(id: string, held: number): boolean {
    return this.isDone && isAfter(id, this.#lastId) && held <= 4 * ENOUGH
  }

  /** Keeps what a commit wrote while the lane is read, for `fedMeanwhile`; false when it is to be read. */
  keep(entries: readonly FedEntry[]): boolean {
    if (!this.#isReading || this.#isBehind || this.#fed.length + entries.length > MOST_FED) return false
    this.#fed.push(...entries)
    return true
  }

  /** What was written after that which the last read has brought, when nothing else is left to read. */
  fedMeanwhile(): FedEntry[] {
    const fed = this.isDone ? this.#fed.filter(({ id }) => isAfter(id, this.#lastId)) : []
    this.#fed = []
    return fed
  }

  /** It knows this entry. */
  reached(id: string): void {
    if (isAfter(id, this.#lastId)) this.#lastId = id
  }

  /** All of these entries was acknowledged. */
  ended(ids: readonly string[]): void {
    if (this.#isReading || this.#besides > 0) for (const id of ids) this.#ended.add(id)
  }

  /** May a read begin? `window` has what is in memory; `isPaused`: no call begins now. */
  wantsMore({ breaker, batchSize }: SinkState, window: LaneWindow, isPaused: boolean): boolean {
    if (!this.#isBehind || this.#isReading || isPaused || performance.now() < this.#againMs) return false
    // What waits for a sink that fails takes no room from others, but for an object that has not failed: it may be well.
    if (window.size > 0 && breaker.isOpen()) return !window.hasUntried() && window.size < ENOUGH_TO_PROBE
    return window.size < mostHeld(batchSize)
  }

  /** Is there more, in this lane or in others of its sink, and no room for it? `held` deliveries are in memory. */
  isHeldUp({ name, batchSize }: SinkState, held: number): boolean {
    return this.lacksMemory(name) || (this.#isBehind && held >= mostHeld(batchSize))
  }

  /** Has a read of the sink, of any of its lanes, waited for room in the byte budget for some time? */
  lacksMemory(sink: string): boolean {
    return this.#services.budget.waitsMs(sink) > HELD_UP_MS
  }

  /** Call before `read`, and `end` after it. Returns how many entries to read, and the bytes to reserve for them. */
  begin({ entryCost = UNKNOWN_BYTES }: SinkState): { count: number; reserved: number } {
    this.#isReading = true
    const bytes = Math.min(READ_BYTES, this.#services.budget.share() * READ_PART)
    const count = Math.min(Math.max(Math.floor(bytes / entryCost), 1), MOST_ENTRIES)
    return { count, reserved: count * entryCost }
  }

  /** Returns the next entries; undefined when deliveries were let go of meanwhile. `count` and `reserved` are those of `begin`. */
  async read(state: SinkState, count: number, reserved: number): Promise<LaneEntryRead[] | undefined> {
    const { redis, keys, troubles, log } = this.#services
    if (this.#fromStart) {
      this.#lastId = '0-0'
      this.#readId = '0-0'
    }
    const start = `(${this.#readId}`
    this.#isBehind = false
    this.#fromStart = false
    const generation = this.#generation
    const { entries, more, awaitsNewer } = await readLane(
      redis,
      keys,
      this.#lane,
      start,
      count,
      MOST_OF_RESERVED * reserved,
    )
    if (generation !== this.#generation) {
      this.poke(true)
      return undefined
    }
    troubles.over(`lane ${this.#lane}`)
    this.#isRefused = false
    this.#readId = entries.at(-1)?.id ?? this.#readId
    if (more) this.#isBehind = true
    if (awaitsNewer) {
      this.#againMs = performance.now() + NEWER_MS
      log.warn({ lane: this.#lane }, 'the next entry is of a newer version, which has to deliver it')
    }
    const fresh = entries.filter(({ id }) => !this.#ended.has(id))
    if (fresh.length > 0) {
      const cost = fresh.reduce((sum, { items }) => sum + costOfAll(items), 0)
      state.entryCost = Math.max(cost / fresh.length, (state.entryCost ?? 0) / 2, 1)
    }
    return fresh
  }

  /** What was read is not known: it is read again. */
  failed(error: unknown): void {
    const { troubles, log } = this.#services
    this.poke(true)
    this.#againMs = performance.now() + READ_AGAIN_MS
    if (isRefusal(error)) {
      this.#isRefused = true
      troubles.note(`lane ${this.#lane}`, describeFault(error))
    } else log.debug({ error, lane: this.#lane }, 'the lane was not read; it is read again')
  }

  /** Another process owns the lane: what could not be read is not the trouble of this one. */
  leave(): void {
    if (this.#isRefused) this.#services.troubles.over(`lane ${this.#lane}`)
    this.#isRefused = false
  }

  end(): void {
    this.#isReading = false
    this.#forgetEnded()
  }

  /** Reads entries out of the usual order; those that ended meanwhile are left out. */
  async readOutOfOrder(read: () => Promise<readonly LaneEntryRead[]>): Promise<LaneEntryRead[]> {
    this.#besides++
    try {
      return (await read()).filter(({ id }) => !this.#ended.has(id))
    } finally {
      this.#besides--
      this.#forgetEnded()
    }
  }

  #forgetEnded(): void {
    if (!this.#isReading && this.#besides === 0) this.#ended.clear()
  }
}

/** How many deliveries in memory are enough to go on with. */
function mostHeld(batchSize: number): number {
  return Math.max(ENOUGH, 2 * batchSize)
}

/** What deliveries count in the byte budget. */
export function costOfAll(items: readonly Item[]): number {
  return items.reduce((sum, { cost }) => sum + cost, 0)
}

/** Ids of stream entries: `<milliseconds>-<number>`. */
function isAfter(id: string, other: string): boolean {
  const [ms = 0, n = 0] = id.split('-').map(Number)
  const [otherMs = 0, otherN = 0] = other.split('-').map(Number)
  return ms > otherMs || (ms === otherMs && n > otherN)
}
