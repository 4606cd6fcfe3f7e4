import { setTimeout as pause } from 'node:timers/promises'
import type { PeekedCheckpoint, Source, SourceStore } from '../change.ts'
import { isPositioned } from './position.ts'
import type { SourceReport } from './source-report.ts'
import type { Timing } from './timing.ts'

export interface StandByParts {
  store: Pick<SourceStore, 'peek' | 'owners'>
  clock: { now(): number }
  timing: Timing
  random(): number
}

/**
 * Waits as long as another process works on a source: two that took it from each other would never finish a long list.
 * Resolves when that process is gone or has left the source to others, or gets nowhere for long.
 */
export async function standBy(
  { store, clock, timing, random }: StandByParts,
  source: Source,
  report: SourceReport,
  signal: AbortSignal,
): Promise<void> {
  let seen: PeekedCheckpoint | undefined
  let movedMs = clock.now()
  let wasFree = false
  for (;;) {
    const { changes } = store.owners
    const current = await store.peek(source, signal)
    const patience = patienceMs(current, timing)
    const isFree = patience === 0
    if (current?.holder !== seen?.holder || current?.sequence !== seen?.sequence) movedMs = clock.now()
    else if (isFree ? wasFree : clock.now() - movedMs > patience) return
    seen = current
    wasFree = isFree
    report.standby(isPositioned(current))
    // Of several that stand by, the first one takes it, and the others see that.
    if (isFree) await pause(random() * timing.takeOverSpreadMs, undefined, { signal })
    else await store.owners.wait(changes, timing.fencedPauseMs, signal)
  }
}

/** How long a source may stand still: a quiet one moves with bookmarks alone, about once a minute. */
function patienceMs(checkpoint: PeekedCheckpoint | undefined, timing: Timing): number {
  if (!checkpoint || checkpoint.ownerAlive === false) return 0
  const listing = checkpoint.phase === 'listing' || checkpoint.phase === 'seeding'
  return checkpoint.ownerAlive || listing ? timing.standbyPatienceMs : 0
}
