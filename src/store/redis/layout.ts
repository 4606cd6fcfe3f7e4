import { createHash, randomBytes } from 'node:crypto'
import type { Redis } from 'ioredis'
import type { Keys } from '../keys.ts'
import { readOrCreate } from './script.ts'

/** Version of the key layout. A version that changes it sets `schema` and deletes `slots` in one transaction, so that older processes stop. */
export const LAYOUT = 2

/** The keys have another layout now. A process that does not know it writes and delivers nothing any more. */
export class LayoutChangedError extends Error {
  override name = 'LayoutChangedError'

  constructor(stored: unknown) {
    super(
      `the keys in Redis have layout ${String(stored)} now, this version of kubeherald knows layout ${LAYOUT}: a newer one took over`,
    )
  }
}

/** Returns why keys with this stored layout cannot be used; undefined for the own one, and if nothing is stored. */
export function foreignLayout(stored: string | null): string | undefined {
  if (!isForeign(stored)) return undefined
  return (
    `the keys in Redis have layout ${stored}, this version of kubeherald knows layout ${LAYOUT}: ` +
    'run the version that wrote them, or use an empty Redis or another "cluster" name'
  )
}

/** Nothing stored means that nothing is there which could be spoilt. */
export function isForeign(stored: unknown): boolean {
  return stored !== null && stored !== undefined && String(stored) !== String(LAYOUT)
}

const LOOK_MS = 2_000

/** Calls `onChanged` once when a newer version has converted the keys. Writes the layout again where Redis lost it. */
export function watchSchema(
  { redis, keys }: { redis: Redis; keys: Keys },
  onChanged: (error: LayoutChangedError) => void,
): { close(): void } {
  async function look(): Promise<void> {
    const stored = await readOrCreate(redis, keys.schema, String(LAYOUT))
    if (!isForeign(stored)) return
    clearInterval(timer)
    onChanged(new LayoutChangedError(stored))
  }
  const timer = setInterval(() => void look().catch(() => {}), LOOK_MS)
  return { close: () => clearInterval(timer) }
}

/** The salt of Secret hashes: made once for an installation, the same in all of its processes. */
export async function readSalt(redis: Redis, keys: Keys): Promise<Buffer> {
  return Buffer.from(await readOrCreate(redis, keys.salt, randomBytes(32).toString('hex')), 'hex')
}

const KEEP_MS = 2_000

/** Stores it again where Redis lost it: what starts later makes none of its own. */
export function keepSalt(redis: Redis, keys: Keys, salt: Buffer): { close(): void } {
  const keep = () => void readOrCreate(redis, keys.salt, salt.toString('hex')).catch(() => {})
  const timer = setInterval(keep, KEEP_MS)
  return { close: () => clearInterval(timer) }
}

/** Returns an id of the data of a cluster in this Redis. It survives a move to another server, and does not reveal the salt. */
export function storeOf(salt: Buffer): string {
  return createHash('sha256').update('store').update(salt).digest('hex').slice(0, 10)
}
