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
  reads: () => FileReads,
  onChange: () => Promise<void>,
  { everyMs = EVERY_MS, settledMs = SETTLED_MS }: { everyMs?: number; settledMs?: number } = {},
): { close(): void } {
  const closing = new AbortController()
  const { signal } = closing

  async function look(): Promise<void> {
    const state = await reads().changed()
    if (state === undefined) return
    await pause(settledMs, undefined, { signal })
    if ((await reads().changed()) === state) await onChange()
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
