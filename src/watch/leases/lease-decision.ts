import { holderOf, type LeaseObject, MEMBER, purposeOf, WATCH, wantsOf } from './lease.ts'
import { leaseId } from './names.ts'
import { type Board, isFree, type Seen, unchangedMs } from './observe.ts'
import { type Member, shareOut } from './share.ts'

export interface Situation {
  board: Board
  me: Member
  durationMs: number
  /** It can write nothing of what it watches: it works on what nobody else can, and on no more. */
  isCutOff?: boolean
}

/** What to do after a look at all leases. */
export interface Intentions {
  /** Ids of watches: this process's share of what is free, or its own already according to the lease. */
  claim: string[]
  /** This process's according to the lease, and another's share, or not wanted here any more. */
  giveUp: LeaseObject[]
  /** Left behind by processes that are gone, or for watches that nobody has any more. */
  remove: LeaseObject[]
}

/**
 * How many durations nobody touched a lease before it is removed. That of a process at once: one that starts later would
 * count on it for as long again. A process that was only slow makes it anew.
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
