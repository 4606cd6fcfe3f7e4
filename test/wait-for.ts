/** A limit ends a wait for what never comes; on a busy machine what comes takes a multiple of the usual time. */
const PATIENCE = 4

export interface WaitOptions {
  /** What it takes at most on a quiet machine. Default 15,000. */
  timeoutMs?: number
  /** What is waited for, for the error. */
  what: string | (() => string)
  /** The least time from the end of one look to the next. Default 10. */
  everyMs?: number
}

/** A look takes at most a fifth of the time, so that those who wait leave the processor to what they wait for. */
const LOOKS_SHARE = 1 / 5
/** The longer the wait, the rarer the looks: a twentieth of what was waited for so far, at most this. */
const LONG_WAIT_SHARE = 1 / 20
const LONGEST_PAUSE_MS = 100
/** Behind a look that takes longer than that, as long as the look, at most this. */
const LONGEST_PAUSE_OF_LOOKS_MS = 1_000

/** Polls until the condition gives something true, and gives that. Fails with what it waited for. */
export async function waitFor<T>(
  condition: () => T | Promise<T>,
  options: WaitOptions,
): Promise<NonNullable<T>> {
  const { what, everyMs = 10 } = options
  const timeoutMs = PATIENCE * (options.timeoutMs ?? 15_000)
  const startedMs = performance.now()
  for (;;) {
    const lookedMs = performance.now()
    const value = await condition()
    if (value) return value as NonNullable<T>
    const nowMs = performance.now()
    if (nowMs - startedMs > timeoutMs) {
      throw new Error(`waited ${timeoutMs} ms for ${typeof what === 'string' ? what : what()}`)
    }
    const lookMs = nowMs - lookedMs
    const asLooksTakeMs = lookMs * (1 / LOOKS_SHARE - 1)
    const asLongWaitsMayMs = (nowMs - startedMs) * LONG_WAIT_SHARE
    const pauseMs = Math.max(
      everyMs,
      Math.min(LONGEST_PAUSE_MS, Math.max(asLooksTakeMs, asLongWaitsMayMs)),
      Math.min(LONGEST_PAUSE_OF_LOOKS_MS, lookMs),
    )
    await new Promise((resolve) => setTimeout(resolve, pauseMs))
  }
}
