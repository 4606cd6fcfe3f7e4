/** A limit ends a wait for what never comes; on a busy machine what comes takes a multiple of the usual time. */
const PATIENCE = 4

export interface WaitOptions {
  /** What it takes at most on a quiet machine. Default 15,000. */
  timeoutMs?: number
  /** What is waited for, for the error. */
  what: string | (() => string)
  /** From the end of one look to the next. Default 10. */
  everyMs?: number
}

/** Polls until the condition gives something true, and gives that. Fails with what it waited for. */
export async function waitFor<T>(
  condition: () => T | Promise<T>,
  options: WaitOptions,
): Promise<NonNullable<T>> {
  const { what, everyMs = 10 } = options
  const timeoutMs = PATIENCE * (options.timeoutMs ?? 15_000)
  const untilMs = Date.now() + timeoutMs
  for (;;) {
    const value = await condition()
    if (value) return value as NonNullable<T>
    if (Date.now() > untilMs) {
      throw new Error(`waited ${timeoutMs} ms for ${typeof what === 'string' ? what : what()}`)
    }
    await new Promise((resolve) => setTimeout(resolve, everyMs))
  }
}
