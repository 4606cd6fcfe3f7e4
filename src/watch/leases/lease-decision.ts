import { holderOf, type LeaseObject, leaseId, MEMBER, purposeOf, WATCH, wantsOf } from './lease.ts'

interface Situation {
  board: Board
  me: Member
  durationMs: number
  /** It can write nothing of what it watches: it works on what nobody else can, and on no more. */
  isCutOff?: boolean
}

/** The actions that follow from a list of all leases. */
interface Intentions {
  /** Ids of watches: this process's share of what is free, or its own already according to the lease. */
  claim: string[]
  /** This process's according to the lease, and another's share, or not wanted here any more. */
  giveUp: LeaseObject[]
  /** Left behind by processes that are gone, or for watches that nobody has any more. */
  remove: LeaseObject[]
}

/**
 * After how many durations without a change a lease is removed. That of a process immediately: one that starts later would
 * count on it for as long again. A process that was only slow creates it again.
 */
const MEMBER_AFTER = 1
const WATCH_AFTER = 40

export function decide({ board, me, durationMs, isCutOff = false }: Situation): Intentions {
  const all = [...board.seen.values()]
  const watches = all.filter(({ lease }) => purposeOf(lease) === WATCH)
  const free = (seen: Seen) => isFree(board, seen, durationMs)
  const others = othersOf(all, me, free)
  const able = new Set(others.flatMap(({ wants }) => [...wants]))
  const wants = isCutOff ? new Set([...me.wants].filter((id) => !able.has(id))) : me.wants
  const members = [{ ...me, wants }, ...others]
  const known = new Map(watches.map((seen) => [leaseId(seen.lease.metadata.name), seen]))
  const ids = new Set(members.flatMap(({ wants }) => [...wants]))
  const shares = [...ids].map((id) => {
    const seen = known.get(id)
    // Another one's that is late is free; an own one is as good as held, until another takes it.
    const holder = seen === undefined ? '' : holderOf(seen.lease)
    const isMine = holder === me.identity
    const isKept = isMine ? wants.has(id) : seen && !free(seen)
    return { id, holder: isKept ? holder : undefined }
  })
  const target = shareOut(members, shares)
  const mine = (id: string) => target.get(id) === me.identity
  const onPaper = watches.filter(({ lease }) => holderOf(lease) === me.identity)
  const idle = (seen: Seen, after: number) => unchangedMs(board, seen) >= after * durationMs
  return {
    claim: shares
      .filter(({ id, holder }) => (holder === undefined || holder === me.identity) && mine(id))
      .map(({ id }) => id),
    giveUp: onPaper.map(({ lease }) => lease).filter(({ metadata }) => !mine(leaseId(metadata.name))),
    remove: all
      .filter((seen) =>
        purposeOf(seen.lease) === MEMBER
          ? idle(seen, MEMBER_AFTER)
          : idle(seen, WATCH_AFTER) && !ids.has(leaseId(seen.lease.metadata.name)),
      )
      .map(({ lease }) => lease),
  }
}

/** Those that renew their lease. Who lets a watch's lease expire is about to be found dead: nothing is kept for it. */
function othersOf(all: readonly Seen[], me: Member, free: (seen: Seen) => boolean): Member[] {
  const late = new Set(
    all.filter((seen) => purposeOf(seen.lease) === WATCH && free(seen)).map(({ lease }) => holderOf(lease)),
  )
  return all
    .filter((seen) => purposeOf(seen.lease) === MEMBER && !free(seen))
    .map(({ lease }) => ({ identity: holderOf(lease), wants: wantsOf(lease) }))
    .filter(({ identity }) => identity !== me.identity && !late.has(identity))
}

/** A process that can watch, and what. */
export interface Member {
  identity: string
  /** Ids of watches. */
  wants: ReadonlySet<string>
}

/** A watch, and which member holds it; undefined when it is free. */
interface Share {
  id: string
  holder: string | undefined
}

/**
 * Who should hold which watch: an even share for each, to within one. A holder keeps a watch, as long as no process that
 * could take it has two less. All who see the same come to the same; members with different configurations share what
 * both have.
 */
export function shareOut(members: readonly Member[], shares: readonly Share[]): Map<string, string> {
  const sorted = members.toSorted((a, b) => compare(a.identity, b.identity))
  const held = new Map<string, Set<string>>(sorted.map(({ identity }) => [identity, new Set()]))
  const free: string[] = []
  for (const { id, holder } of shares) {
    const own = holder === undefined ? undefined : held.get(holder)
    if (own) own.add(id)
    else if (holder === undefined) free.push(id)
  }
  for (const id of free.sort(compare)) {
    const taker = byLoad(
      sorted.filter(({ wants }) => wants.has(id)),
      held,
    )[0]
    if (taker) held.get(taker.identity)?.add(id)
  }
  let uneven = true
  while (uneven) uneven = moveOne(sorted, held)
  return new Map([...held].flatMap(([identity, ids]) => [...ids].map((id) => [id, identity] as const)))
}

/** Moves one watch from a member to one that has at least two less; false when there is nothing to move. */
function moveOne(members: readonly Member[], held: ReadonlyMap<string, Set<string>>): boolean {
  const takers = byLoad(members, held)
  for (const giver of takers.toReversed()) {
    const own = held.get(giver.identity) as Set<string>
    for (const taker of takers) {
      const others = held.get(taker.identity) as Set<string>
      if (own.size < others.size + 2) break
      const id = [...own].filter((it) => taker.wants.has(it)).sort(compare)[0]
      if (id === undefined) continue
      own.delete(id)
      others.add(id)
      return true
    }
  }
  return false
}

/** The least loaded first; of equals the order stays. */
function byLoad(members: readonly Member[], held: ReadonlyMap<string, Set<string>>): Member[] {
  const load = ({ identity }: Member) => held.get(identity)?.size ?? 0
  return members.toSorted((a, b) => load(a) - load(b))
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}

/**
 * Since when leases were seen unchanged, by this process's monotonic clock: the clocks of others, which wrote the times
 * inside, may be hours away. `sentMs` and `receivedMs` are of the list before.
 */
export interface Board {
  sentMs: number
  receivedMs: number
  seen: ReadonlyMap<string, Seen>
}

/** A lease, and when this version of it was seen first. */
export interface Seen {
  lease: LeaseObject
  sinceMs: number
}

export const NOTHING_SEEN: Board = { sentMs: 0, receivedMs: 0, seen: new Map() }

/**
 * A new list after an old one. Only time in which somebody looked counts: while the API server is away nobody can renew,
 * and a process that was frozen knows nothing of what it slept through. `maxGapMs` is how much one gap between lists counts.
 */
export function observe(
  board: Board,
  leases: readonly LeaseObject[],
  { sentMs, receivedMs, maxGapMs }: { sentMs: number; receivedMs: number; maxGapMs: number },
): Board {
  const uncounted = Math.max(0, sentMs - board.receivedMs - maxGapMs)
  const seen = new Map<string, Seen>()
  for (const lease of leases) {
    const { name } = lease.metadata
    const before = board.seen.get(name)
    const unchanged = before !== undefined && versionOf(before.lease) === versionOf(lease)
    seen.set(name, { lease, sinceMs: unchanged ? before.sinceMs + uncounted : receivedMs })
  }
  return { sentMs, receivedMs, seen }
}

function versionOf({ metadata }: LeaseObject): string {
  return `${metadata.uid} ${metadata.resourceVersion}`
}

/** How long this version has been seen, at least. */
function unchangedMs(board: Board, { sinceMs }: Seen): number {
  return board.sentMs - sinceMs
}

/** More than a configuration may ask for was written by hand, and must not keep a watch from everybody for years. */
const LONGEST_SECONDS = 3_600

/** Nobody holds it, or its holder did not renew it for as long as it promised to. */
export function isFree(board: Board, seen: Seen, defaultDurationMs: number): boolean {
  const seconds = seen.lease.spec?.leaseDurationSeconds
  const durationMs = seconds === undefined ? defaultDurationMs : Math.min(seconds, LONGEST_SECONDS) * 1_000
  return holderOf(seen.lease) === '' || unchangedMs(board, seen) >= durationMs
}
