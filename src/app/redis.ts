import type { Logger } from './log.ts'
import type { Metrics } from './metrics.ts'
import { keepContact } from './queue/contact.ts'
import type { Keys } from './queue/keys.ts'
import { createMemoryGate, type MemoryGate } from './queue/memory-gate.ts'
import { keepSalt, readSalt } from './queue/salt.ts'
import { watchSchema } from './queue/schema-watch.ts'
import type { Troubles } from './queue/troubles.ts'
import type { Connections } from './redis-connections.ts'

export interface RedisUpkeepParts {
  connections: Connections
  keys: Keys
  troubles: Troubles
  metrics: Metrics
  log: Logger
  /** Called once when a newer version converted the keys. */
  onLayoutChanged?: ((error: Error) => void) | undefined
}

/** What a process watches over in Redis, whatever its role. */
export interface RedisUpkeep {
  /** Salts the hashes of Secret values. */
  salt: Buffer
  /** For how long Redis has not answered. */
  silentMs(): number
  gate: MemoryGate
  close(): void
}

/** The layout of the keys, the installation's salt, whether Redis answers, and whether it has room. */
export async function startRedisUpkeep(parts: RedisUpkeepParts): Promise<RedisUpkeep> {
  const { connections, keys, troubles, metrics, log, onLayoutChanged } = parts
  const redis = connections.report
  using started = new DisposableStack()
  const closing = <Part extends { close(): void }>(part: Part) => started.adopt(part, (it) => it.close())
  closing(
    watchSchema({ redis, keys }, (error) => {
      log.error(
        { error: error.message },
        'the keys in Redis are of another version; nothing is written any more',
      )
      onLayoutChanged?.(error)
    }),
  )
  const salt = await readSalt(connections.lanes, keys)
  closing(keepSalt(redis, keys, salt))
  const { silentMs } = closing(keepContact(redis, keys))
  const gate = closing(createMemoryGate({ redis, keys, troubles, metrics, log }))
  // Bounds of queues are parts of its maxmemory.
  await gate.sampled
  const opened = started.move()
  return { salt, silentMs, gate, close: () => opened.dispose() }
}
