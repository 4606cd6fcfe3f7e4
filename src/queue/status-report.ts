import type { Redis } from 'ioredis'
import { type InstanceReport, readReportsWithRules } from './instances.ts'
import { journalExtent } from './journal.ts'
import type { Keys } from './keys.ts'
import { type Ledger, readLedger } from './ledger.ts'
import { refusalOfWrites } from './requirements.ts'

/** All that `kubeherald status` shows. */
export interface StatusReport {
  atMs: number
  instances: InstanceReport[]
  ledger: Ledger
  deadLetters: number
  /** Why Redis takes no writes, where it tells. */
  redisRefuses?: string
  /** Where one is kept. */
  journal?: { bytes: number; oldestMs: number }
}

export async function readStatus(
  redis: Redis,
  keys: Keys,
  options: { verify: boolean; now: number },
): Promise<StatusReport> {
  const { bytes, oldestMs } = await journalExtent(redis, keys)
  const redisRefuses = await refusalOfWrites(redis)
  return {
    atMs: options.now,
    instances: await readReportsWithRules(redis, keys),
    ledger: await readLedger(redis, keys, options),
    deadLetters: await redis.xlen(keys.deadLetters),
    ...(redisRefuses !== undefined && { redisRefuses }),
    ...(oldestMs !== undefined && { journal: { bytes, oldestMs } }),
  }
}
