import type { Redis } from 'ioredis'
import { APPEND_JOURNAL } from './append-journal.ts'
import { IS_FOREIGN } from './foreign-keys.ts'
import { ForeignKeyError } from './redis-fault.ts'
import { valuesOf } from './replies.ts'
import { runScript, script } from './script.ts'

type Argument = string | number | Buffer

interface Command {
  name: string
  key: string
  args: readonly Argument[]
}

/** `done`: the replies in the order of the commands. `moved`: a key did not have the value that was expected. */
export type TransactionEnd =
  | { kind: 'done'; replies: unknown[] }
  | { kind: 'moved' }
  /** A watched key was touched. */
  | { kind: 'lost' }

/** What a command needs its key to be. */
const KIND_OF: Readonly<Record<string, string>> = { HSET: 'hash', HDEL: 'hash', ZADD: 'zset', ZREM: 'zset' }

const DESCRIBED: Readonly<Record<string, string>> = {
  XADD: 'a stream',
  HSET: 'a hash',
  HDEL: 'a hash',
  ZADD: 'a sorted set',
  ZREM: 'a sorted set',
  HINCRBY: 'a hash of whole numbers',
  INCRBY: 'a whole number',
}

/** Lua unpacks a few thousand values at most. */
const MOST_ARGUMENTS = 2_000

/**
 * Commands that Redis executes all or not at all, in one script, only while some keys have the values that were read before.
 * Redis itself would go on after a command that fails, as with a foreign value at a lane's key: the checkpoint would move, and the
 * delivery be lost. So the script undoes what it did. What it cannot undo it does last, when the types of those keys are known to be right.
 */
export class Transaction {
  readonly #expected = new Map<string, string>()
  readonly #fields: [key: string, fields: ReadonlyMap<string, string | null>][] = []
  readonly #commands: Command[] = []

  /** Nothing is executed while this string has another value; null: while it exists. `orNone`: it may be missing as well. */
  expect(key: string, value: string | null, { orNone = false } = {}): this {
    this.#expected.set(key, value === null ? '' : `${orNone ? '?' : '='}${value}`)
    return this
  }

  /** The same for fields of a hash. */
  expectFields(key: string, fields: ReadonlyMap<string, string | null>): this {
    const all = [...fields]
    for (let start = 0; start < all.length; start += MOST_ARGUMENTS)
      this.#fields.push([key, new Map(all.slice(start, start + MOST_ARGUMENTS))])
    return this
  }

  /** `args` of HSET and ZADD are pairs. Pairs and members of one command may be very many. */
  add(name: string, key: string, ...args: Argument[]): this {
    if (name in KIND_OF)
      for (let start = 0; start < args.length; start += MOST_ARGUMENTS)
        this.#commands.push({ name, key, args: args.slice(start, start + MOST_ARGUMENTS) })
    else this.#commands.push({ name, key, args })
    return this
  }

  /**
   * `watching`: keys are watched on this connection, and the transaction is discarded if one was touched. Throws
   * ForeignKeyError where a key holds what another program wrote; nothing was executed then.
   */
  async run(redis: Redis, { watching }: { watching: boolean }): Promise<TransactionEnd> {
    const { keys, args } = this.#encode()
    let reply: unknown
    if (watching) {
      const replies = await redis
        .multi()
        .eval(TRANSACTION.text, keys.length, ...keys, ...args)
        .exec()
      if (replies === null) return { kind: 'lost' }
      reply = valuesOf(replies)[0]
    } else reply = await runScript(redis, TRANSACTION, keys, args)
    const [kind, ...more] = reply as [string, ...unknown[]]
    if (kind === 'moved') return { kind }
    if (kind === 'done') return { kind, replies: more }
    const { name, key } = this.#commands[Number(more[0])] as Command
    throw new ForeignKeyError(key, DESCRIBED[name])
  }

  #encode(): { keys: string[]; args: Argument[] } {
    const places = new Map<string, number>()
    const placeOf = (key: string) => {
      const place = places.get(key) ?? places.size + 1
      places.set(key, place)
      return place
    }
    for (const key of this.#expected.keys()) placeOf(key)
    const args: Argument[] = [this.#expected.size, ...this.#expected.values()]
    args.push(this.#fields.length)
    for (const [key, fields] of this.#fields) {
      args.push(placeOf(key), fields.size, ...fields.keys())
      for (const value of fields.values()) args.push(value === null ? '' : `=${value}`)
    }
    const commands = [...this.#commands.entries()]
    const canUndo = ([, { name, key }]: [number, Command]) =>
      UNDONE.has(name) || (name === 'SET' && this.#expected.has(key))
    const last = commands.filter((it) => !canUndo(it))
    const checks = last.slice(1).filter(([, { name }]) => name in KIND_OF)
    const checked = new Map(checks.map(([i, { name, key }]) => [key, [i, KIND_OF[name]] as const]))
    args.push(checked.size)
    for (const [key, [i, kind]] of checked) args.push(i, placeOf(key), kind as string)
    args.push(commands.length)
    for (const [i, { name, key, args: some }] of [...commands.filter(canUndo), ...last]) {
      args.push(i, name, placeOf(key), some.length)
      if (name === 'JOURNAL') placeOf(String(some[0]))
      for (const it of some) args.push(it)
    }
    return { keys: [...places.keys()], args }
  }
}

/** Commands that the script can undo. The journal fails nothing. */
const UNDONE: ReadonlySet<string> = new Set(['XADD', 'HINCRBY', 'INCRBY'])

const TRANSACTION = script(`
${IS_FOREIGN}
${APPEND_JOURNAL}
local at = 0
local function arg()
  at = at + 1
  return ARGV[at]
end
local expected = tonumber(arg())
local before = expected > 0 and redis.call('MGET', unpack(KEYS, 1, expected)) or {}
for i = 1, expected do
  local value, found = arg(), before[i]
  local isMissing = not found and (value == '' or string.sub(value, 1, 1) == '?')
  if not isMissing and not (found and value ~= '' and found == string.sub(value, 2)) then return { 'moved' } end
end
for _ = 1, tonumber(arg()) do
  local key, count = KEYS[tonumber(arg())], tonumber(arg())
  local found = redis.pcall('HMGET', key, unpack(ARGV, at + 1, at + count))
  if found.err then return redis.error_reply(string.find(found.err, 'WRONGTYPE', 1, true) and 'WRONGTYPE ' .. key or found.err) end
  at = at + count
  for i = 1, count do
    if (found[i] and '=' .. found[i] or '') ~= arg() then return { 'moved' } end
  end
end
for _ = 1, tonumber(arg()) do
  local place, key, kind = arg(), KEYS[tonumber(arg())], arg()
  if isForeign(key, kind) then return { 'foreign', place } end
end
local replies, undo = { 'done' }, {}
local function undoAll()
  for j = #undo, 1, -1 do redis.pcall(unpack(undo[j])) end
end
for _ = 1, tonumber(arg()) do
  local place, name, keyAt, count = arg(), arg(), tonumber(arg()), tonumber(arg())
  local key, reply = KEYS[keyAt], nil
  if name == 'JOURNAL' then reply = appendJournal(key, unpack(ARGV, at + 1, at + count))
  else reply = redis.pcall(name, key, unpack(ARGV, at + 1, at + count)) end
  if type(reply) == 'table' and reply.err then
    undoAll()
    for _, said in ipairs({ 'WRONGTYPE', 'not an integer', 'would overflow' }) do
      if string.find(reply.err, said, 1, true) then return { 'foreign', place } end
    end
    return redis.error_reply(reply.err)
  end
  if name == 'XADD' then undo[#undo + 1] = { 'XDEL', key, reply }
  elseif name == 'HINCRBY' then undo[#undo + 1] = { name, key, ARGV[at + 1], -ARGV[at + 2] }
  elseif name == 'INCRBY' then undo[#undo + 1] = { name, key, -ARGV[at + 1] }
  elseif keyAt <= expected then
    undo[#undo + 1] = before[keyAt] and { 'SET', key, before[keyAt] } or { 'DEL', key }
  end
  at = at + count
  replies[place + 2] = reply
end
return replies
`)
