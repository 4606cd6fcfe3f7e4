import type { ChainableCommander, Redis } from 'ioredis'
import { ForeignKeyError } from './redis-fault.ts'

/** What a command needs its key to be. `counters` are fields of a hash, `counter` is a string, that hold whole numbers. */
type Kind = 'stream' | 'hash' | 'zset' | 'counters' | 'counter'

const KIND_OF: Readonly<Record<string, Kind>> = {
  xadd: 'stream',
  hset: 'hash',
  hdel: 'hash',
  hincrby: 'counters',
  zadd: 'zset',
  zrem: 'zset',
  incr: 'counter',
}

const DESCRIBED: Readonly<Record<Kind, string>> = {
  stream: 'a stream',
  hash: 'a hash',
  zset: 'a sorted set',
  counters: 'a hash of whole numbers',
  counter: 'a whole number',
}

/**
 * Executes transactions only while every key that they change has the type that they need. Redis itself would execute the
 * rest of a transaction after a command that fails with WRONGTYPE: the checkpoint would move, and the delivery be lost.
 */
export class GuardedTransaction {
  /** Queues commands, and notes what their keys must be. */
  readonly multi: ChainableCommander
  readonly #redis: Redis
  readonly #transaction: ChainableCommander
  readonly #keys = new Map<string, [kind: Kind, ...fields: string[]]>()

  constructor(redis: Redis) {
    this.#redis = redis
    this.#transaction = redis.multi()
    const multi: ChainableCommander = new Proxy(this.#transaction, {
      get: (transaction, name) => {
        const method = Reflect.get(transaction, name)
        if (typeof method !== 'function') return method
        return (...args: unknown[]) => {
          this.#note(String(name), args)
          const result = Reflect.apply(method, transaction, args)
          return result === transaction ? multi : result
        }
      },
    })
    this.multi = multi
  }

  #note(command: string, [key, field]: unknown[]): void {
    const kind = KIND_OF[command]
    if (kind === undefined) return
    const name = String(key)
    const noted = this.#keys.get(name)
    if (kind !== 'counters') this.#keys.set(name, noted ?? [kind])
    else if (noted?.[0] === 'counters') noted.push(String(field))
    else this.#keys.set(name, [kind, String(field)])
  }

  /**
   * Returns the replies, or null when a watched key was touched. `watched` is one of the watched keys: the guard, which
   * is sent immediately before the transaction, touches it where a key is foreign, so that Redis discards the transaction.
   * Throws ForeignKeyError then.
   */
  async exec(watched: string): Promise<[error: Error | null, result: unknown][] | null> {
    const names = [...this.#keys.keys()]
    const kinds = [...this.#keys.values()].flatMap(([kind, ...fields]) => [kind, fields.length, ...fields])
    const guard =
      names.length > 0 ? this.#redis.eval(GUARD, names.length + 1, watched, ...names, ...kinds) : undefined
    // Where the guard itself is refused or cut off, so is the transaction.
    const [replies, found] = await Promise.all([this.#transaction.exec(), guard?.catch(() => undefined)])
    const name = typeof found === 'number' ? names[found - 1] : undefined
    if (replies !== null || name === undefined) return replies
    throw new ForeignKeyError(name, DESCRIBED[this.#keys.get(name)?.[0] ?? 'hash'])
  }
}

/**
 * Lua: whether a key cannot be used as this kind. It asks by commands that fail
 * for other types, since TYPE may be forbidden to our user.
 */
export const IS_FOREIGN = `
local READS = { stream = 'XLEN', hash = 'HLEN', zset = 'ZCARD', counters = 'HMGET', counter = 'GET' }
local function isNumber(value)
  return not value or value == '0' or (#value <= 18 and string.find(value, '^%-?[1-9]%d*$') ~= nil)
end
local function isForeign(key, kind, ...)
  local reply = redis.pcall(READS[kind], key, ...)
  if type(reply) == 'table' and reply.err then return string.find(reply.err, 'WRONGTYPE', 1, true) ~= nil end
  if kind == 'counter' then return not isNumber(reply) end
  if kind ~= 'counters' then return false end
  for _, value in ipairs(reply) do if not isNumber(value) then return true end end
  return false
end
`

/** Lua unpacks a few thousand values at most: the fields are asked in steps. */
const GUARD = `
${IS_FOREIGN}
local STEP = 1000
local function hasForeign(key, kind, first, last)
  if last < first then return isForeign(key, kind) end
  for from = first, last, STEP do
    if isForeign(key, kind, unpack(ARGV, from, math.min(from + STEP - 1, last))) then return true end
  end
  return false
end
local at = 1
for i = 2, #KEYS do
  local last = at + tonumber(ARGV[at + 1]) + 1
  if hasForeign(KEYS[i], ARGV[at], at + 2, last) then
    local value = redis.call('GET', KEYS[1])
    redis.call('SET', KEYS[1], value or '', 'KEEPTTL')
    if not value then redis.call('DEL', KEYS[1]) end
    return i - 1
  end
  at = last + 1
end
return 0
`
