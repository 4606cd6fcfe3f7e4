import { setTimeout as pause } from 'node:timers/promises'
import type { PeekedCheckpoint, Source, SourceStore } from '../change.ts'
import { isPositioned } from './position.ts'
import type { SourceReport } from './source-report.ts'
import type { Timing } from './timing.ts'

/**
 * Waits as long as another process works on a source: two that took it from each other would never finish a long list.
 * Resolves when that process is gone, or gets nowhere for long.
 */
export async function standBy(
  { store, clock, timing }: { store: SourceStore; clock: { now(): number }; timing: Timing },
  source: Source,
  report: SourceReport,
  signal: AbortSignal,
): Promise<void> {
  let seen = await store.peek(source, signal)
  let movedMs = clock.now()
  for (;;) {
    await pause(timing.fencedPauseMs, undefined, { signal })
    const current = await store.peek(source, signal)
    if (current?.holder !== seen?.holder || current?.sequence !== seen?.sequence) {
      seen = current
      movedMs = clock.now()
    } else if (clock.now() - movedMs > patienceMs(current, timing)) return
    report.standby(isPositioned(current))
  }
}

/** How long a source may stand still: a quiet one moves with bookmarks alone, about once a minute. */
function patienceMs(checkpoint: PeekedCheckpoint | undefined, timing: Timing): number {
  if (!checkpoint || checkpoint.ownerAlive === false) return 0
  const listing = checkpoint.phase === 'listing' || checkpoint.phase === 'seeding'
  return checkpoint.ownerAlive || listing ? timing.standbyPatienceMs : 0
}
