/** A process that can watch, and what. */
export interface Member {
  identity: string
  /** Ids of watches. */
  wants: ReadonlySet<string>
}

/** A watch, and which member holds it; undefined when it is free. */
export interface Share {
  id: string
  holder: string | undefined
}

/**
 * Who should hold which watch: an even share for each, to within one. Whoever holds one keeps it, as long as nobody who
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
