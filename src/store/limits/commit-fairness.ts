import { setTimeout as pause } from 'node:timers/promises'
import type { Redis } from 'ioredis'
import type { Transaction } from '../commit/transaction.ts'
import type { Keys } from '../keys.ts'

/** A transaction that lost this many times asks other processes to wait. */
const MOST_LOSSES = 3
/** Other processes wait at most this long: the asking one may have ended. */
const TURN_MS = 1_000
const POLL_MS = 10

/**
 * If several processes change the same states, the first EXEC succeeds: a long evaluation would always lose to short ones. After some
 * attempts a process asks for its turn. This is only a courtesy; WATCH keeps the states correct.
 */
export class CommitFairness {
  readonly #keys: Keys
  readonly #name: string
  #losses = 0
  #asked = false

  constructor(keys: Keys, name: string) {
    this.#keys = keys
    this.#name = name
  }

  /** Waits while it is another process's turn; `whose` was read together with the states. Then no key is watched any more. */
  async isAnothers(redis: Redis, whose: string | null | undefined, signal: AbortSignal): Promise<boolean> {
    if (!whose || whose === this.#name) return false
    await redis.unwatch()
    const untilMs = performance.now() + TURN_MS
    do await pause(POLL_MS, undefined, { signal })
    while (performance.now() < untilMs && (await redis.get(this.#keys.limitsTurn)) === whose)
    return true
  }

  async lost(redis: Redis): Promise<void> {
    this.#losses++
    if (this.#losses < MOST_LOSSES) return
    this.#asked = true
    await redis.set(this.#keys.limitsTurn, this.#name, 'PX', TURN_MS, 'NX')
  }

  end(transaction: Transaction): void {
    if (this.#asked) transaction.add('UNLINK', this.#keys.limitsTurn)
  }
}
