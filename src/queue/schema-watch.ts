import type { Redis } from 'ioredis'
import type { Keys } from './keys.ts'
import { isForeign, LAYOUT, LayoutChangedError } from './layout.ts'
import { readOrCreate } from './read-or-create.ts'

const LOOK_MS = 2_000

/** Tells once that a newer version converted the keys. Marks the layout again where Redis lost it. */
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
