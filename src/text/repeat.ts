/** Does something again and again, once at a time; `close` waits for what runs, whose signal has ended then. */
export function repeat(
  everyMs: number,
  work: (signal: AbortSignal) => Promise<void>,
  onFault: (error: unknown) => void,
): { close(): Promise<void> } {
  const stop = new AbortController()
  let running: Promise<void> | undefined
  const once = async () => {
    try {
      await work(stop.signal)
    } catch (error) {
      if (!stop.signal.aborted) onFault(error)
    }
  }
  const timer = setInterval(() => {
    running ??= once().finally(() => {
      running = undefined
    })
  }, everyMs)
  return {
    async close() {
      clearInterval(timer)
      stop.abort()
      await running
    },
  }
}
