import { setTimeout as sleep } from 'node:timers/promises'

/** A token bucket: at most `burst` immediately, then `perSecond`. */
export interface Bucket {
  /** How many could be taken now. */
  free(): number
  /** Takes a token and returns 0, or returns the milliseconds until one is free. */
  take(): number
  /** Takes one that may not be there yet. */
  owe(): void
  /** Blocks the bucket for `ms`, because the peer asked for it. */
  pause(ms: number): void
}

interface Rate {
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
      // After a request to slow down there is no burst.
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

/** One call of deliver: how long it may take before the rest is left for later. */
export interface RateSlots {
  readonly signal: AbortSignal
  /** Takes a token, waiting for it within the time limit. Returns 0, or the milliseconds until one is free. */
  slot(bucket: Bucket): Promise<number>
  /** How much of its time is left, in milliseconds. */
  leftMs(): number
}

/** The core reduces the batch size after slower batches, and digests need large ones. */
const LONGEST_MS = 700
const IMMEDIATELY_MS = 1

export function createRateSlots(signal: AbortSignal): RateSlots {
  const untilMs = performance.now() + LONGEST_MS
  const leftMs = () => untilMs - performance.now()
  return {
    signal,
    leftMs,
    async slot(bucket) {
      for (;;) {
        signal.throwIfAborted()
        if (leftMs() <= 0) return IMMEDIATELY_MS
        const waitMs = bucket.take()
        if (waitMs === 0) return 0
        if (waitMs > leftMs()) return waitMs
        await sleep(waitMs, undefined, { signal })
      }
    },
  }
}
