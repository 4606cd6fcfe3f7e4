/** A read that would wait longer for its turn is refused; so is one that has waited somewhat longer, because others had their turns. */
const MAX_QUEUE_MS = 2_000
const MAX_WAITED_MS = 2_500

interface Waiter {
  sinceMs: number
  /** With true when its turn has come, false when it is refused. */
  end(isTurn: boolean): void
}

/**
 * Gives turns at a steady pace, without bursts. Namespaces take turns, and where there is no more room, the namespace of which most
 * wait gives way: one with many crashes does not keep the logs of others from being read.
 */
export class LogTurns {
  readonly #intervalMs: number
  /** The namespace whose turn is next comes first. None is empty. */
  readonly #waiting = new Map<string, Waiter[]>()
  #count = 0
  #nextMs = 0
  #timer: NodeJS.Timeout | undefined

  /** `rate` is per second. */
  constructor(rate: number) {
    this.#intervalMs = 1_000 / rate
  }

  /** Resolves to true when it is the turn of a read in this namespace, to false where it is refused. Throws what `signal` is aborted with. */
  async take(namespace: string, signal: AbortSignal): Promise<boolean> {
    signal.throwIfAborted()
    const nowMs = performance.now()
    if (this.#count === 0 && nowMs >= this.#nextMs) {
      this.#nextMs = nowMs + this.#intervalMs
      return true
    }
    if (!this.#hasRoom(nowMs) && !this.#makeRoom(namespace)) return false
    const { promise, resolve, reject } = Promise.withResolvers<boolean>()
    const waiter: Waiter = { sinceMs: nowMs, end: resolve }
    const leave = () => {
      if (this.#remove(namespace, waiter)) reject(signal.reason)
    }
    this.#waiting.set(namespace, [...(this.#waiting.get(namespace) ?? []), waiter])
    this.#count++
    signal.addEventListener('abort', leave, { once: true })
    this.#arm(nowMs)
    try {
      return await promise
    } finally {
      signal.removeEventListener('abort', leave)
    }
  }

  #hasRoom(nowMs: number): boolean {
    return Math.max(this.#nextMs, nowMs) - nowMs + this.#count * this.#intervalMs <= MAX_QUEUE_MS
  }

  /** Refuses the last one of the namespace of which most wait; false where this one would have as many. */
  #makeRoom(namespace: string): boolean {
    const [[largest, queue] = ['', []]] = [...this.#waiting].toSorted(([, a], [, b]) => b.length - a.length)
    const own = this.#waiting.get(namespace)?.length ?? 0
    const last = queue.at(-1)
    if (!last || queue.length <= own + 1) return false
    this.#remove(largest, last)
    last.end(false)
    return true
  }

  #remove(namespace: string, waiter: Waiter): boolean {
    const queue = this.#waiting.get(namespace)
    if (!queue?.includes(waiter)) return false
    const rest = queue.filter((it) => it !== waiter)
    if (rest.length > 0) this.#waiting.set(namespace, rest)
    else this.#waiting.delete(namespace)
    this.#count--
    if (this.#count === 0) this.#disarm()
    return true
  }

  #arm(nowMs: number): void {
    this.#timer ??= setTimeout(
      () => {
        this.#timer = undefined
        this.#next()
      },
      Math.max(0, this.#nextMs - nowMs),
    )
  }

  #disarm(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
  }

  /** Gives the next turn. */
  #next(): void {
    const nowMs = performance.now()
    while (nowMs >= this.#nextMs) {
      const [first] = this.#waiting
      if (!first) return
      const [namespace, [waiter, ...others]] = first as [string, [Waiter, ...Waiter[]]]
      // Its next one waits for those of the others.
      this.#waiting.delete(namespace)
      if (others.length > 0) this.#waiting.set(namespace, others)
      this.#count--
      const isTurn = nowMs - waiter.sinceMs <= MAX_WAITED_MS
      if (isTurn) this.#nextMs = nowMs + this.#intervalMs
      waiter.end(isTurn)
    }
    if (this.#count > 0) this.#arm(nowMs)
  }
}
