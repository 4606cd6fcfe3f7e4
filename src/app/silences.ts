import { setTimeout as pause } from 'node:timers/promises'
import type { Redis } from 'ioredis'
import { type Silence, type Silences, silenceStateAt } from '../model/control.ts'
import type { Logger } from '../observe/log.ts'
import type { Metrics } from '../observe/metrics.ts'
import { createSilences } from '../rules/silences/silences.ts'
import { readSilences } from '../store/control/silences.ts'
import type { Keys } from '../store/keys.ts'
import { isConnected } from '../store/redis/connection.ts'
import { repeat } from '../text/repeat.ts'

interface FollowParts {
  redis: Redis
  keys: Keys
  metrics: Metrics
  log: Logger
  clock: { now(): number }
  /** Ends a start that waits for Redis. */
  signal?: AbortSignal | undefined
  pollMs?: number
}

/** The silences that this process applies. */
export interface FollowedSilences {
  /** Compiled; undefined without any. */
  current(): Silences | undefined
  close(): Promise<void>
}

/** A new silence is applied after this time at the latest. */
const POLL_MS = 2_000

/**
 * Follows the stored silences. Resolves when they were read once, so that no commit comes before. While Redis is not available, those that
 * were read last stay in force until they end.
 */
export async function followSilences(parts: FollowParts): Promise<FollowedSilences> {
  const { redis, keys, metrics, log, clock, signal, pollMs = POLL_MS } = parts
  let version: string | undefined
  let stored: readonly Silence[] = []
  let compiled: Silences | undefined

  async function look(): Promise<void> {
    const read = await readSilences(redis, keys, version)
    if (read) {
      ;({ version, silences: stored } = read)
      compiled = createSilences(stored, (silence, fault) =>
        log.warn({ silence: silence.id, fault }, 'a silence of another version cannot be applied'),
      )
    }
    const nowMs = clock.now()
    metrics.silences.set(stored.filter((it) => silenceStateAt(it, nowMs) === 'active').length)
  }

  for (;;) {
    await isConnected(redis, pollMs, signal)
    signal?.throwIfAborted()
    try {
      await look()
      break
    } catch (error) {
      log.warn({ error }, 'the silences cannot be read; the start goes on when they can')
      if (redis.status === 'ready') await pause(pollMs, undefined, { signal })
    }
  }
  const poll = repeat(pollMs, look, (error) => log.debug({ error }, 'cannot read the silences'))
  return { current: () => compiled, close: poll.close }
}
