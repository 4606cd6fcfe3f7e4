/** Slots that refill: at most `burst` at once, then `perSecond`. */
export interface Bucket {
  /** How many could be taken now. */
  free(): number
  /** Takes one and gives 0, or gives the milliseconds until there is one. */
  take(): number
  /** Takes one that may not be there yet. */
  owe(): void
  /** Nothing for so long: the peer asked for it. */
  pause(ms: number): void
}

export interface Rate {
  perSecond: number
  burst: number
}

export function createBucket(
  { perSecond, burst }: Rate,
  now: () => number = () => performance.now(),
): Bucket {
  let tokens = burst
  let atMs = now()
  let closedUntilMs = Number.NEGATIVE_INFINITY

  function refill(): void {
    const nowMs = now()
    tokens = Math.min(burst, tokens + (Math.max(0, nowMs - atMs) * perSecond) / 1_000)
    atMs = nowMs
  }

  return {
    free() {
      refill()
      return closedUntilMs > atMs ? 0 : Math.max(0, Math.floor(tokens + EPSILON))
    },
    take() {
      refill()
      if (closedUntilMs > atMs) return Math.ceil(closedUntilMs - atMs)
      if (tokens + EPSILON < 1) return Math.max(1, Math.ceil(((1 - tokens) * 1_000) / perSecond))
      tokens -= 1
      return 0
    },
    owe() {
      refill()
      tokens -= 1
    },
    pause(ms) {
      closedUntilMs = Math.max(closedUntilMs, now() + ms)
      // Whoever is told to slow down has no burst left.
      refill()
      tokens = Math.min(tokens, 1)
    },
  }
}

const EPSILON = 1e-6

/** One bucket for each channel; those that are full again are forgotten when there are many. */
export function createBuckets(rate: Rate, now?: () => number): { of(channel: string): Bucket } {
  const buckets = new Map<string, Bucket>()
  return {
    of(channel) {
      const known = buckets.get(channel)
      if (known) return known
      if (buckets.size >= MANY)
        for (const [name, bucket] of buckets) if (bucket.free() >= rate.burst) buckets.delete(name)
      const bucket = createBucket(rate, now)
      buckets.set(channel, bucket)
      return bucket
    },
  }
}

const MANY = 1_000
