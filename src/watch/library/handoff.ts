interface Offer<T> {
  items: Iterator<T, void>
  /** The next item. */
  ready: T
  resolve(): void
  reject(error: unknown): void
  isWithdrawn: boolean
}

/**
 * Hands items of several producers to one consumer, one from each producer after the other. A producer waits until its items are processed, so nothing
 * is buffered here. An item is processed when the consumer requests the next one: then its producer's iterator continues.
 */
export class Handoff<T> {
  readonly #offers: Offer<T>[] = []
  #taken: Offer<T> | undefined
  #end: { error?: unknown } | undefined
  #wake = () => {}

  /** Resolves when all items are processed. Rejects when `signal` is aborted, or when the iterator throws. */
  async offer(items: Iterator<T, void>, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted()
    const first = items.next()
    if (first.done) return
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const offer: Offer<T> = { items, ready: first.value, resolve, reject, isWithdrawn: false }
    const withdraw = () => {
      offer.isWithdrawn = true
      const at = this.#offers.indexOf(offer)
      if (at !== -1) this.#offers.splice(at, 1)
      reject(signal.reason)
    }
    signal.addEventListener('abort', withdraw, { once: true })
    this.#offers.push(offer)
    this.#wake()
    try {
      await promise
    } finally {
      signal.removeEventListener('abort', withdraw)
    }
  }

  /** Confirms the last item, and waits for the next one. Returns undefined after `end`; throws its error. */
  async next(): Promise<T | undefined> {
    this.#confirm()
    for (;;) {
      if (this.#end) {
        if (this.#end.error !== undefined) throw this.#end.error
        return undefined
      }
      const offer = this.#offers.shift()
      if (offer) {
        this.#taken = offer
        return offer.ready
      }
      await new Promise<void>((resolve) => {
        this.#wake = resolve
      })
    }
  }

  /** Ends the consumer's iteration; the first call decides how. */
  end(error?: unknown): void {
    this.#end ??= error === undefined ? {} : { error }
    this.#wake()
  }

  #confirm(): void {
    const offer = this.#taken
    this.#taken = undefined
    if (!offer) return
    try {
      const { done, value } = offer.items.next()
      if (done) return offer.resolve()
      offer.ready = value
      if (!offer.isWithdrawn) this.#offers.push(offer)
    } catch (error) {
      offer.reject(error)
    }
  }
}
