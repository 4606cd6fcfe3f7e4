/** A limit that several deliveries share: at most `size` pieces of work at once, in the order in which they came. */
export interface Slots {
  /** Waits for a slot, works, and frees it. Rejects when `signal` aborts before there is one. */
  run<T>(work: () => Promise<T>, signal: AbortSignal): Promise<T>
}

export function createSlots(size: number): Slots {
  let free = size
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
    const next = waiting.shift()
    if (next) next()
    else free++
  }

  return {
    async run(work, signal) {
      signal.throwIfAborted()
      if (free > 0) free--
      else await nextFree(signal)
      try {
        return await work()
      } finally {
        release()
      }
    },
  }
}
