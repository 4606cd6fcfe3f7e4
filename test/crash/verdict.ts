import type { Arrival } from '../cluster/compare.ts'
import type { HistoryEntry } from '../cluster/etcd-history.ts'

/** What the API server forgot: a watch from a position in here had to list. Changes in (after, until] may be one. */
export interface Gap {
  after: bigint
  until: bigint
}

export interface Verdict {
  lost: string[]
  unexpected: string[]
  outOfOrder: string[]
  summary: string
}

/**
 * Follows every object from its creation to its deletion, and says of each change in etcd's history that was not told
 * whether it had to be. Within one gap a synthesized change may stand for all changes since the last that was told, and
 * an object that came and went may stay untold. Whatever happened, what was told last must be the object's last state.
 * Order is compared by name (kind, namespace, name): also over a deletion and a creation of the same name.
 */
export function verdictOf(
  history: readonly HistoryEntry[],
  arrivals: readonly Arrival[],
  gaps: readonly Gap[],
): Verdict {
  const lives = [...Map.groupBy(history, ({ key }) => key).values()].flatMap(livesOf)
  const lifeOf = new Map(lives.flatMap((life) => life.entries.map((entry) => [placeOf(entry), life])))
  /** Object key → the newest of its lives that has arrivals. */
  const newest = new Map<string, Life>()
  const verdict = { lost: [] as string[], unexpected: [] as string[], outOfOrder: [] as string[] }
  const told = new Set<string>()
  let repeated = 0
  for (const arrival of arrivals) {
    const name = nameOf(arrival)
    const life = lifeOf.get(placeOf(arrival))
    if (told.has(name)) repeated++
    else if (!life) verdict.unexpected.push(name)
    else {
      const last = newest.get(arrival.key)
      if (last && life.number < last.number) verdict.outOfOrder.push(name)
      else newest.set(arrival.key, life)
      life.arrivals.push(arrival)
    }
    told.add(name)
  }
  const merged = mergedGaps(gaps)
  let collapsed = 0
  for (const life of lives) collapsed += judge(life, merged, verdict)
  const summary =
    `${history.length} changes happened, ${arrivals.length} deliveries came: lost ${verdict.lost.length}, ` +
    `collapsed by ${gaps.length} gaps ${collapsed}, repeated ${repeated}, ` +
    `out of order ${verdict.outOfOrder.length}, unexpected ${verdict.unexpected.length}`
  return { ...verdict, summary }
}

/** One object from its creation to its deletion: its changes in order, and the first arrival of each. */
interface Life {
  /** Counts the objects of one name; deliveries of an earlier one must not follow those of a later one. */
  number: number
  entries: HistoryEntry[]
  arrivals: Arrival[]
}

/** A name that is used again after a deletion is another object. */
function livesOf(entries: readonly HistoryEntry[]): Life[] {
  const lives: Life[] = []
  for (const entry of entries) {
    const last = lives.at(-1)
    if (!last || last.entries.at(-1)?.type === 'DELETED')
      lives.push({ number: lives.length, entries: [entry], arrivals: [] })
    else last.entries.push(entry)
  }
  return lives
}

/** Gives how many changes were rightly told by a later one, or not at all. */
function judge({ entries, arrivals }: Life, gaps: readonly Gap[], verdict: Omit<Verdict, 'summary'>): number {
  let collapsed = 0
  /** How many entries are told, directly or by one that stands for them. */
  let next = 0
  const skip = (until: number, permitted: boolean) => {
    const skipped = entries.slice(next, until)
    const excused = permitted && gaps.some((gap) => skipped.every((entry) => isIn(entry, gap)))
    if (excused) collapsed += skipped.length
    else verdict.lost.push(...skipped.map(nameOf))
  }
  for (const arrival of arrivals) {
    const at = toldBy(arrival, entries, next)
    if (at === 'unexpected' || at === 'outOfOrder') {
      verdict[at].push(nameOf(arrival))
      continue
    }
    // A synthesized deletion has the version that was told last: the real one was not told.
    const stands = arrival.synthesized && arrival.type === 'DELETED' ? at + 1 : at
    if (stands > next) skip(stands, arrival.synthesized)
    next = at + 1
  }
  if (next < entries.length) skip(entries.length, next === 0 && entries.at(-1)?.type === 'DELETED')
  return collapsed
}

/** Which entry an arrival tells, or why it should not have come. */
function toldBy(
  { type, resourceVersion, synthesized }: Arrival,
  entries: readonly HistoryEntry[],
  next: number,
): number | 'unexpected' | 'outOfOrder' {
  const at = entries.findIndex((entry) => entry.resourceVersion === resourceVersion)
  if (synthesized && type === 'DELETED') {
    const end = entries.length - 1
    if (entries[end]?.type !== 'DELETED' || at !== next - 1) return 'unexpected'
    return next > end ? 'outOfOrder' : end
  }
  const expected = synthesized ? (next === 0 ? 'ADDED' : 'MODIFIED') : entries[at]?.type
  if (at < next) return 'outOfOrder'
  return type === expected && !(synthesized && entries[at]?.type === 'DELETED') ? at : 'unexpected'
}

function isIn({ resourceVersion }: HistoryEntry, { after, until }: Gap): boolean {
  const position = BigInt(resourceVersion)
  return position > after && position <= until
}

/** Gaps that overlap are one: the second server died before the first gap was listed. */
function mergedGaps(gaps: readonly Gap[]): Gap[] {
  const merged: Gap[] = []
  for (const gap of gaps.toSorted((a, b) => Number(a.after - b.after))) {
    const last = merged.at(-1)
    if (last && gap.after <= last.until) last.until = gap.until > last.until ? gap.until : last.until
    else merged.push({ ...gap })
  }
  return merged
}

function placeOf({ key, resourceVersion }: { key: string; resourceVersion: string }): string {
  return `${key}@${resourceVersion}`
}

function nameOf(it: { key: string; type: string; resourceVersion: string }): string {
  return `${it.type} ${placeOf(it)}`
}
