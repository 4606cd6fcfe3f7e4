import type { Redis } from 'ioredis'
import type { Keys } from '../../store/keys.ts'
import { comparePlaces, inOrder, type Page, type Placed, type Position, readPage } from './history-tail.ts'
import type { WorkClock } from './work-clock.ts'

/** Pages that are kept of each stream. */
const MOST_PAGES = 4

/** Pages of the history, of which the last ones are kept unpacked: after a restart all clients want the same ones. */
export function createHistoryPages(redis: () => Redis, keys: Keys) {
  /** The last used first. */
  const kept: [Page[], Page[]] = [[], []]

  async function pageOf(stream: 0 | 1, from: string, to: string, clock: WorkClock): Promise<Page> {
    if (from === to) return { from, to, placed: [], isMore: false, isCut: false }
    const pages = kept[stream]
    const found = pages.find((it) => comparePlaces(it.from, from) <= 0 && comparePlaces(from, it.to) < 0)
    const page = found ?? (await readPage(redis(), keys, stream, from, clock))
    // Later more may be behind it, and nothing of it has been missed.
    if (page.placed.length > 0)
      kept[stream] = [{ ...page, isMore: true, isCut: false }, ...pages.filter((it) => it !== found)].slice(
        0,
        MOST_PAGES,
      )
    return between(page, from, to)
  }

  return {
    /** Returns the next records behind a position, up to another one; `isMore` if there may be more up to there. */
    async read(from: Position, to: Position, clock: WorkClock) {
      const pages = [await pageOf(0, from[0], to[0], clock), await pageOf(1, from[1], to[1], clock)] as const
      return { ...inOrder(...pages), isCut: pages.map(({ isCut }) => isCut) }
    },
    clear() {
      kept[0] = []
      kept[1] = []
    },
  }
}

function between(page: Page, from: string, to: string): Page {
  const isAll = comparePlaces(page.to, to) >= 0
  return {
    from,
    // No client goes back.
    to: !isAll ? page.to : comparePlaces(to, from) > 0 ? to : from,
    placed: page.placed.slice(countUpTo(page.placed, from), countUpTo(page.placed, to)),
    isMore: page.isMore && !isAll,
    isCut: page.isCut,
  }
}

/** How many records are at a place, or before it. */
function countUpTo(placed: readonly Placed[], place: string): number {
  let [low, high] = [0, placed.length]
  while (low < high) {
    const middle = (low + high) >>> 1
    if (comparePlaces(placed[middle]?.place ?? '', place) <= 0) low = middle + 1
    else high = middle
  }
  return low
}
