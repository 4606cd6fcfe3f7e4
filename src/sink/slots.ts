/** A limit that several deliveries share: at most `size` pieces of work at the same time, in the order in which they came. */
export interface Slots {
  /** Waits for a slot, works, and frees it. Rejects when `signal` aborts before there is one. */
  run<T>(work: () => Promise<T>, signal: AbortSignal): Promise<T>
}

/** A `size` that is a function may change: it counts when work begins, and work that is under way goes on. */
export function createSlots(size: number | (() => number)): Slots {
  let running = 0
  const most = () => (typeof size === 'number' ? size : size())
  const waiting: (() => void)[] = []

  function nextFree(signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const go = () => {
        signal.removeEventListener('abort', giveUp)
        resolve()
      }
      const giveUp = () => {
        waiting.splice(waiting.indexOf(go), 1)
        reject(signal.reason)
      }
      waiting.push(go)
      signal.addEventListener('abort', giveUp, { once: true })
    })
  }

  function release(): void {
    running--
    while (waiting.length > 0 && running < most()) {
      running++
      waiting.shift()?.()
    }
  }

  return {
    async run(work, signal) {
      signal.throwIfAborted()
      if (waiting.length === 0 && running < most()) running++
      else await nextFree(signal)
      try {
        return await work()
      } finally {
        release()
      }
    },
  }
}
