/**
 * Returns who owns each slot of one sink: fair, since numbers differ by one at most, and sticky, since an owner keeps what it
 * has up to its share. Every process computes the same from the same input. `workers` are those alive that have the sink,
 * `owners` the live owner of each slot; `rank` orders workers of equal claims.
 */
export function planSlots(
  workers: readonly string[],
  owners: readonly (string | undefined)[],
  rank: (worker: string) => number = () => 0,
): (string | undefined)[] {
  if (workers.length === 0) return owners.map(() => undefined)
  const owned = new Map(workers.map((worker) => [worker, 0]))
  for (const owner of owners) if (owner !== undefined && owned.has(owner)) add(owned, owner)
  const byClaim = workers.toSorted(
    (a, b) => (owned.get(b) ?? 0) - (owned.get(a) ?? 0) || rank(a) - rank(b) || (a < b ? -1 : 1),
  )
  const base = Math.floor(owners.length / workers.length)
  const extra = owners.length % workers.length
  const share = new Map(byClaim.map((worker, i) => [worker, i < extra ? base + 1 : base]))
  const given = new Map<string, number>()
  const hasRoom = (worker: string) => (given.get(worker) ?? 0) < (share.get(worker) ?? 0)
  const plan: (string | undefined)[] = owners.map(() => undefined)
  // Slots that lie side by side may be of one target: what an owner gives away is spread over its slots.
  const spread = owners.map((_, slot) => slot).toSorted((a, b) => reversed(a) - reversed(b))
  for (const slot of spread) {
    const owner = owners[slot]
    if (owner === undefined || !hasRoom(owner)) continue
    add(given, owner)
    plan[slot] = owner
  }
  for (const slot of spread) {
    const next = plan[slot] === undefined ? byClaim.find(hasRoom) : undefined
    if (next === undefined) continue
    add(given, next)
    plan[slot] = next
  }
  return plan
}

/** The bits of a slot's number in reverse: 0, 8, 4, 12 and so on come first. */
function reversed(slot: number): number {
  return Number.parseInt([...slot.toString(2).padStart(4, '0')].toReversed().join(''), 2)
}

function add(counts: Map<string, number>, worker: string): void {
  counts.set(worker, (counts.get(worker) ?? 0) + 1)
}

/** What a worker writes of itself with every heartbeat. */
export interface Heartbeat {
  id: string
  /** The host's name. */
  host: string
  /** Boot, process namespace: pids of equal places can be compared. */
  place: string
  pid: number
  /** When the process started, in clock ticks since boot: a later process with its pid is another one. Absent where that is unknown. */
  start?: string | undefined
  /** Boot, network namespace: in equal ones its socket can be asked for. Absent where it has none, and in older versions. */
  network?: string | undefined
  /** The sinks that it delivers to. */
  sinks: readonly string[]
  /** Counts up. */
  beat: number
  /** How often it left a source to others; absent in heartbeats of older versions. */
  released?: number
}

/** A worker is dead when its heartbeat did not change for this long while we looked. */
export const DEAD_AFTER_MS = 4_000
/** Looking less often than this is not looking: Redis was away, for the others as well. */
const LOOK_GAP_MS = 2_500

/** Tells who is alive by heartbeats, without comparing clocks. */
export class Liveness {
  readonly #self: string
  readonly #seen = new Map<string, { beat: number; sinceMs: number }>()
  #lookedMs = Number.NEGATIVE_INFINITY

  constructor(self: string) {
    this.#self = self
  }

  /**
   * Returns the live ones. `nowMs` is of a clock that never jumps. The processes of those in `ended` have certainly ended: only
   * that makes a worker dead before its lease is over.
   */
  look(
    beats: readonly Heartbeat[],
    nowMs: number,
    ended: { has(id: string): boolean } = new Set(),
  ): Heartbeat[] {
    const isGap = nowMs - this.#lookedMs > LOOK_GAP_MS
    this.#lookedMs = nowMs
    const ids = new Set(beats.map(({ id }) => id))
    for (const id of this.#seen.keys()) if (!ids.has(id)) this.#seen.delete(id)
    return beats.filter(({ id, beat }) => {
      const before = this.#seen.get(id)
      const isNew = isGap || before === undefined || before.beat !== beat
      const sinceMs = isNew ? nowMs : before.sinceMs
      this.#seen.set(id, { beat, sinceMs })
      return id === this.#self || (nowMs - sinceMs < DEAD_AFTER_MS && !ended.has(id))
    })
  }
}
