/** Returns a function whose answer is used again for a while: many who ask cost as much as one. Failures are not kept. */
export function kept<Args extends readonly unknown[], Value>(
  make: (...args: Args) => Promise<Value>,
  { forMs, most = 200 }: { forMs: number; most?: number },
): (...args: Args) => Promise<Value> {
  const known = new Map<string, { untilMs: number; value: Promise<Value> }>()
  return (...args) => {
    const key = JSON.stringify(args)
    const nowMs = performance.now()
    const found = known.get(key)
    if (found && found.untilMs > nowMs) return found.value
    const value = make(...args)
    const entry = { untilMs: Number.POSITIVE_INFINITY, value }
    known.delete(key)
    known.set(key, entry)
    value.then(
      () => {
        // The time counts from when it is there: one that takes long would be made again and again.
        entry.untilMs = performance.now() + forMs
      },
      () => {
        if (known.get(key) === entry) known.delete(key)
      },
    )
    for (const [oldest, it] of known) {
      if (known.size <= most && it.untilMs > nowMs) break
      known.delete(oldest)
    }
    return value
  }
}
