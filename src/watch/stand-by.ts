import { setTimeout as pause } from 'node:timers/promises'
import type { Source, SourceStore } from '../change.ts'
import type { SourceReport } from './source-report.ts'
import type { Timing } from './timing.ts'

/**
 * Waits as long as another process gets on with a source: two that took it from each other would never finish a long
 * list. Resolves when its checkpoint stands still.
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
      report.standby()
      continue
    }
    const listing = current?.phase === 'listing' || current?.phase === 'seeding'
    if (!listing || clock.now() - movedMs > timing.listPatienceMs) return
  }
}
