import { setTimeout as pause } from 'node:timers/promises'
import type { Redis } from 'ioredis'
import type { Keys } from './keys.ts'
import type { Transaction } from './transaction.ts'

/** A transaction that lost so often in a row asks the others to wait. */
const PATIENCE = 3
/** The others wait no longer than this: whoever asked may be gone. */
const TURN_MS = 1_000
const LOOK_MS = 10

/**
 * States that several processes change are written by the one whose EXEC comes first; one with much to decide would lose to
 * those with little for as long as these have something. After some tries it says that it is its turn; only politeness:
 * what keeps the states right is WATCH.
 */
export class LimitsTurn {
  readonly #keys: Keys
  readonly #name: string
  #losses = 0
  #asked = false

  constructor(keys: Keys, name: string) {
    this.#keys = keys
    this.#name = name
  }

  /** `whose` was read together with the states. Waits while it is another's turn; nothing is watched any more after that. */
  async isAnothers(redis: Redis, whose: string | null | undefined, signal: AbortSignal): Promise<boolean> {
    if (!whose || whose === this.#name) return false
    await redis.unwatch()
    const untilMs = performance.now() + TURN_MS
    do await pause(LOOK_MS, undefined, { signal })
    while (performance.now() < untilMs && (await redis.get(this.#keys.limitsTurn)) === whose)
    return true
  }

  /** Another one was faster. */
  async lost(redis: Redis): Promise<void> {
    this.#losses++
    if (this.#losses < PATIENCE) return
    this.#asked = true
    await redis.set(this.#keys.limitsTurn, this.#name, 'PX', TURN_MS, 'NX')
  }

  end(transaction: Transaction): void {
    if (this.#asked) transaction.add('UNLINK', this.#keys.limitsTurn)
  }
}
