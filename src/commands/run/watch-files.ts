import { setTimeout as pause } from 'node:timers/promises'
import type { FileReads } from '../reading/file-reads.ts'

const EVERY_MS = 2_000
const SETTLED_MS = 500

/**
 * Notices when files are no longer as they were read, however they are exchanged: rewritten, renamed over, or by the symbolic
 * links of a Kubernetes volume. What is being written is waited for: a state counts once it has lasted for a moment. `reads` is
 * asked anew for each look; `onChange` is awaited.
 */
export function watchFiles(
  reads: () => Pick<FileReads, 'changed'>,
  onChange: () => Promise<void>,
  { everyMs = EVERY_MS, settledMs = SETTLED_MS }: { everyMs?: number; settledMs?: number } = {},
): { close(): void } {
  const closing = new AbortController()
  const { signal } = closing

  async function look(): Promise<void> {
    const before = reads()
    const state = await before.changed()
    if (state === undefined) return
    await pause(settledMs, undefined, { signal })
    // They are others once somebody else read them anew, also while this look is under way.
    if ((await before.changed()) === state && reads() === before) await onChange()
  }

  async function keepLooking(): Promise<void> {
    for (;;) {
      await pause(everyMs, undefined, { signal })
      await look().catch(() => {})
    }
  }
  void keepLooking().catch(() => {})
  return { close: () => closing.abort() }
}
