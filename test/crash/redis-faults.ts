import type { RedisServer } from '../servers/redis.ts'
import type { Fault } from './faults.ts'

/** Longer than a silence that is taken for a dead Redis. */
const LONG_MS = 17_000

/** Room for the bounds of all sinks: what waits is never beyond them. */
export const MAXMEMORY = 1_000_000_000
/** Redis takes no longer value. */
const FILLER_BYTES = 500_000_000

interface Times {
  pause(ms: number): Promise<unknown>
  between(low: number, high: number): number
  settle(): Promise<unknown>
  /** A full Redis gave up the history. */
  historyBegins(): Promise<void>
}

/** What Redis does besides dying: it answers late or not at all, refuses, or is full. */
export function redisFaults(redis: RedisServer, { pause, between, settle, historyBegins }: Times): Fault[] {
  const set = (name: string, value: string) => redis.command('CONFIG', 'SET', name, value)
  return [
    {
      name: 'cut the connections to Redis, again and again',
      async strike() {
        for (let i = 0; i < 40; i++) {
          await redis.command('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes')
          await pause(between(5, 120))
        }
        await settle()
      },
    },
    {
      name: 'freeze redis-server until nobody waits for its answer any more',
      async strike() {
        process.kill(redis.pid, 'SIGSTOP')
        await pause(between(1_000, LONG_MS))
        process.kill(redis.pid, 'SIGCONT')
        await settle()
      },
    },
    {
      name: 'Redis refuses to write',
      async strike() {
        await set('min-replicas-to-write', '1')
        await pause(between(100, 4_000))
        await set('min-replicas-to-write', '0')
        await settle()
      },
    },
    {
      name: 'Redis is full',
      async strike() {
        const [, used] = /used_memory:(\d+)/.exec(String(await redis.command('INFO', 'memory'))) ?? []
        const fillers: string[] = []
        let bytes = MAXMEMORY * between(0.98, 1.25) - Number(used)
        for (; bytes > 0; bytes -= FILLER_BYTES) {
          const filler = `filler-${fillers.length}`
          fillers.push(filler)
          const end = Math.floor(Math.min(bytes, FILLER_BYTES)) - 1
          // Refused once Redis is full, as it should be.
          await redis.command('SETRANGE', filler, String(Math.max(end, 0)), 'x').catch(() => {})
        }
        await pause(between(500, 5_000))
        await redis.command('DEL', ...fillers)
        await settle()
        await historyBegins()
      },
    },
  ]
}
