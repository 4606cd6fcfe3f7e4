export interface WaitOptions {
  /** Default 15,000. */
  timeoutMs?: number
  /** What is waited for, for the error. */
  what: string | (() => string)
}

/** Polls until the condition gives something true, and gives that. Fails with what it waited for. */
export async function waitFor<T>(
  condition: () => T | Promise<T>,
  options: WaitOptions,
): Promise<NonNullable<T>> {
  const { timeoutMs = 15_000, what } = options
  const until = Date.now() + timeoutMs
  for (;;) {
    const value = await condition()
    if (value) return value as NonNullable<T>
    if (Date.now() > until) {
      throw new Error(`waited ${timeoutMs} ms for ${typeof what === 'string' ? what : what()}`)
    }
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
}
