import type { Redis } from 'ioredis'
import type { KeyValueStore } from '../sink/index.ts'
import type { Keys } from './keys.ts'
import { evaluate } from './script.ts'

/** A sink's own state in Redis: values with an end, under its own prefix. */
export function createKeyValueStore(redis: Redis, keys: Keys, sink: string): KeyValueStore {
  const full = (key: string) => keys.sinkState(sink, key)
  return {
    get: async (key) => (await redis.get(full(key))) ?? undefined,
    async set(key, value, { ttlMs }) {
      await redis.set(full(key), value, 'PX', ttlMs)
    },
    add: async (key, value, { ttlMs }) => (await redis.set(full(key), value, 'PX', ttlMs, 'NX')) === 'OK',
    increment: async (key, { ttlMs }) => Number(await evaluate(redis, INCREMENT, [full(key)], [ttlMs])),
    delete: async (key, value) =>
      value === undefined
        ? (await redis.del(full(key))) === 1
        : (await evaluate(redis, DELETE_IF, [full(key)], [value])) === 1,
  }
}

const INCREMENT = `
local now = redis.call('INCR', KEYS[1])
if now == 1 then redis.call('PEXPIRE', KEYS[1], ARGV[1]) end
return now
`

const DELETE_IF = `
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
return redis.call('DEL', KEYS[1])
`
