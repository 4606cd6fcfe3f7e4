/** Bounds of what waits for one sink, or of the dead letters. */
export interface QueueBounds {
  maxAgeMs: number
  maxBytes: number
}

/** What waits in one lane, as it was measured. Times are Unix milliseconds. */
export interface LaneExtent {
  lane: string
  bytes: number
  oldestMs: number
  newestMs: number
}

/** A lane that was measured, with the deliveries that wait in it now. */
export interface MeasuredLane extends LaneExtent {
  deliveries: number
  /** Average size of a delivery in bytes. */
  perDelivery: number
}

/** What a lane has to give up: at most `most` deliveries, all of which were observed before `beforeMs`. */
export interface Quota {
  lane: string
  most: number
  /** Unix milliseconds. */
  beforeMs: number
  /** Number of deliveries in the lane when the quota was computed: those that left since count toward it. */
  waiting: number
}

/** Shares of `maxmemory`. The memory gate closes at 80 %: the rest is for the index, buffers, and the error of the estimate. */
const SINKS_SHARE = 0.4
const DEAD_LETTERS_SHARE = 0.1
/** Minimum share of a sink, however much others were given. */
const LEAST_SHARE = 0.01
/** Where Redis has no limit. */
const SINK_BYTES = 256 * 2 ** 20
const DEAD_LETTERS_BYTES = 128 * 2 ** 20

/**
 * Returns the bound in bytes of each sink: its own where it has one; the others share equally what is left of 40 % of `maxmemory`.
 * `removed` sinks get what they would if they were configured still, and take nothing from those of `own`. `maxmemory` is 0 where
 * Redis has no limit, or does not report it.
 */
export function sinkBytes(
  maxmemory: number,
  own: ReadonlyMap<string, number | undefined>,
  removed: ReadonlyMap<string, number | undefined> = new Map(),
): Map<string, number> {
  return new Map([...sharesOf(maxmemory, new Map([...own, ...removed])), ...sharesOf(maxmemory, own)])
}

function sharesOf(maxmemory: number, own: ReadonlyMap<string, number | undefined>): Map<string, number> {
  const given = own.values().reduce<number>((sum, bytes) => sum + (bytes ?? 0), 0)
  const others = own.values().reduce<number>((count, bytes) => count + (bytes === undefined ? 1 : 0), 0)
  const fair = Math.max((maxmemory * SINKS_SHARE - given) / others, maxmemory * LEAST_SHARE)
  const usual = maxmemory === 0 ? SINK_BYTES : Math.floor(fair)
  return new Map([...own].map(([sink, bytes]) => [sink, bytes ?? usual]))
}

/** Returns the bound in bytes of the dead letters: their own, else 10 % of `maxmemory`. */
export function deadLetterBytes(maxmemory: number, own: number | undefined): number {
  return own ?? (maxmemory === 0 ? DEAD_LETTERS_BYTES : Math.floor(maxmemory * DEAD_LETTERS_SHARE))
}

/** What Redis takes for a stream with one small entry: its key, its tree, and a node with room for more. */
const STREAM_BYTES = 4_400

/** Returns the estimated size in bytes of a lane that now holds `now` deliveries, from its last measurement. */
export function bytesNow(measured: { bytes: number; deliveries: number }, now: number): number {
  if (now <= 0) return 0
  const { bytes, deliveries } = measured
  const fixed = fixedOf(bytes)
  return Math.round(fixed + ((bytes - fixed) / Math.max(1, deliveries)) * now)
}

/** Returns the part of a lane's size that does not depend on the number of deliveries. */
export function fixedOf(bytes: number): number {
  return Math.min(STREAM_BYTES, bytes * 0.9)
}

/** Returns the estimated size in bytes of a lane that was never measured. `perDelivery` is the average of other lanes of the sink. */
export function bytesUnmeasured(perDelivery: number, now: number): number {
  return now <= 0 ? 0 : Math.round(STREAM_BYTES + perDelivery * now)
}

/** What Redis adds to the fields of an entry: its header, and what its allocator rounds up. */
const ENTRY_BYTES = 60
const ALLOCATED = 1.1

/** Returns the estimated bytes that an entry with fields of `size` bytes takes in a stream. */
export function bytesOfEntry(size: number): number {
  return Math.round((size + ENTRY_BYTES) * ALLOCATED)
}

/** Part of a bound that is left after deliveries were given up: not each delivery that follows gives up another one. */
const REFILLED = 0.9

/** Returns how many bytes have to be given up; 0 while the bound holds. */
export function excess(bytes: number, maxBytes: number): number {
  return bytes > maxBytes ? bytes - maxBytes * REFILLED : 0
}

/**
 * Returns how many bytes of each lane belong to the oldest `wanted` bytes of all of them, and until when (Unix milliseconds) these were
 * observed. Between the oldest and the newest delivery of a lane its bytes are taken to be spread evenly.
 */
export function oldestOf(
  extents: readonly LaneExtent[],
  wanted: number,
): { bytes: Map<string, number>; untilMs: number } {
  const all = extents.reduce((sum, { bytes }) => sum + bytes, 0)
  if (wanted <= 0 || all === 0) return { bytes: new Map(), untilMs: 0 }
  const share = ({ bytes, oldestMs, newestMs }: LaneExtent, untilMs: number) => {
    if (untilMs < oldestMs) return 0
    return newestMs <= oldestMs ? bytes : bytes * Math.min(1, (untilMs - oldestMs) / (newestMs - oldestMs))
  }
  const upTo = (untilMs: number) => extents.reduce((sum, it) => sum + share(it, untilMs), 0)
  let low = extents.reduce((least, { oldestMs }) => Math.min(least, oldestMs), Number.POSITIVE_INFINITY)
  let high = extents.reduce((most, { newestMs }) => Math.max(most, newestMs), low)
  while (high - low > 1) {
    const middle = (low + high) / 2
    if (upTo(middle) < wanted) low = middle
    else high = middle
  }
  const found = upTo(high)
  const part = Math.min(1, wanted / found)
  const quotas = extents.map((it): [string, number] => [it.lane, share(it, high) * part])
  return { bytes: new Map(quotas.filter(([, bytes]) => bytes > 0)), untilMs: high }
}

/** Returns the quotas of deliveries observed before a time. */
export function tooOldOf(lanes: readonly MeasuredLane[], beforeMs: number): Quota[] {
  const most = Number.POSITIVE_INFINITY
  return lanes
    .filter(({ oldestMs }) => oldestMs < beforeMs)
    .map(({ lane, deliveries }) => ({ lane, most, beforeMs, waiting: deliveries }))
}

/**
 * Returns the quotas of the oldest deliveries beyond `maxBytes`. `unmeasuredBytes` is the estimated size of the sink's other lanes, which
 * give up their part when they are measured: it is not taken from newer deliveries of these lanes.
 */
export function tooManyOf(
  lanes: readonly MeasuredLane[],
  unmeasuredBytes: number,
  maxBytes: number,
): Quota[] {
  const bytes = lanes.reduce((sum, it) => sum + it.bytes, 0)
  const part = bytes / Math.max(1, bytes + unmeasuredBytes)
  const oldest = oldestOf(lanes, excess(bytes + unmeasuredBytes, maxBytes) * part)
  return lanes.flatMap(({ lane, deliveries, perDelivery, newestMs }) => {
    const own = oldest.bytes.get(lane)
    if (own === undefined) return []
    // The newest may be smaller than the average of its lane: it stays if it is newer than what goes.
    const limit = newestMs > oldest.untilMs ? deliveries - 1 : Number.POSITIVE_INFINITY
    const most = Math.min(Math.ceil(own / perDelivery), limit)
    return [{ lane, most, beforeMs: Number.POSITIVE_INFINITY, waiting: deliveries }]
  })
}

/** How much was measured at some time. */
export interface Measured {
  atMs: number
  bytes: number
}

const TREND_MS = 15 * 60_000
const SAMPLE_MS = 15_000
const LEAST_MS = 60_000

/** Returns the measurements of the last 15 minutes with one more, at most one for each 15 s. */
export function withMeasured(trend: readonly Measured[], measured: Measured): Measured[] {
  const last = trend.at(-1)
  const isEarly = last !== undefined && measured.atMs >= last.atMs && measured.atMs - last.atMs < SAMPLE_MS
  if (isEarly) return [...trend]
  return [...trend.filter(({ atMs }) => measured.atMs - atMs <= TREND_MS && atMs <= measured.atMs), measured]
}

/**
 * Returns in how many milliseconds the bytes reach `maxBytes` when they go on to grow as they did, by least squares; undefined
 * while they do not grow, or are known for less than a minute.
 */
export function reachedInMs(trend: readonly Measured[], maxBytes: number): number | undefined {
  const [first, last] = [trend[0], trend.at(-1)]
  if (!first || !last || last.atMs - first.atMs < LEAST_MS) return undefined
  if (last.bytes >= maxBytes) return 0
  const mean = (of: (it: Measured) => number) => trend.reduce((sum, it) => sum + of(it), 0) / trend.length
  const [atMs, bytes] = [mean((it) => it.atMs), mean((it) => it.bytes)]
  const perMs =
    mean((it) => (it.atMs - atMs) * (it.bytes - bytes)) / mean((it) => (it.atMs - atMs) * (it.atMs - atMs))
  return perMs > 0 ? Math.round((maxBytes - last.bytes) / perMs) : undefined
}

/** A bound that is reached later than this is no news. */
const SOON_MS = 4 * 3_600_000
/** Less than this part of a bound is a moment's backlog, whatever its growth. */
const SMALL = 0.1

/** Returns true if the bound is reached within 4 hours, and at least a tenth of it is used. */
export function isSoon(bytes: number, maxBytes: number, reachedMs: number | undefined): boolean {
  return bytes >= maxBytes * SMALL && reachedMs !== undefined && reachedMs <= SOON_MS
}
