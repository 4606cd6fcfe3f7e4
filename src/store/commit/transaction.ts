import type { Redis } from 'ioredis'
import { ForeignKeyError } from '../redis/redis-fault.ts'
import { lists, runScript, script, valuesOf } from '../redis/script.ts'

/** Lua: appends to the journal, and trims it. A commit must not fail for the journal, whatever another program wrote there. */
const APPEND_JOURNAL = `
local function appendJournal(journal, counter, max, since, keep, each, most, ...)
  max, since, each, most = tonumber(max), tonumber(since), tonumber(each), tonumber(most)
  local length = redis.pcall('XLEN', journal)
  if type(length) == 'table' then return -1 end
  local stored = redis.pcall('GET', counter)
  local bytes = type(stored) == 'string' and tonumber(stored) or 0
  if length == 0 then bytes = 0 end
  local entries = { ... }
  for _, entry in ipairs(entries) do
    if type(redis.pcall('XADD', journal, '*', 'z', entry)) == 'table' then break end
    bytes = bytes + #entry + each
  end
  for _ = 1, most + #entries do
    local first = redis.pcall('XRANGE', journal, '-', '+', 'COUNT', 1)[1]
    if type(first) ~= 'table' then break end
    local ms = tonumber(string.match(first[1], '^(%d+)'))
    if bytes <= max and ms >= since then break end
    if type(redis.pcall('XDEL', journal, first[1])) == 'table' then break end
    bytes = bytes - #first[2][2] - each
  end
  redis.pcall('SET', counter, string.format('%d', bytes), 'PX', keep)
  redis.pcall('PEXPIRE', journal, keep)
  return bytes
end
`

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

/** Commands whose values and members may be very many. */
const MANY = new Set(['HSET', 'HDEL', 'ZADD', 'ZREM'])

const DESCRIBED: Readonly<Record<string, string>> = {
  XADD: 'a stream',
  HSET: 'a hash',
  HDEL: 'a hash',
  ZADD: 'a sorted set',
  ZREM: 'a sorted set',
  ZRANGE: 'a sorted set',
  HINCRBY: 'a hash of whole numbers',
  INCR: 'a whole number',
}

/** Lua unpacks a few thousand values at most. */
const MOST_ARGUMENTS = 2_000

/**
 * Commands that Redis executes all or not at all, in one script, only while some keys have the values that were read before.
 * Redis itself would continue after a failed command (a key of another type, a missing permission): the index would then contain a
 * change whose delivery is lost. So the script undoes its commands when one fails. It runs them in this order: first those whose
 * inverse is the same command (SET, HINCRBY), which Redis refuses while it is full; then commands without effect, which prove
 * that the user may run the inverse of the others; then the others; and last those without an inverse, which can no longer fail.
 * INCR is not undone: its counter only shows that something changed, and commits that watch it are evaluated again.
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
    if (MANY.has(name))
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
        .eval(TRANSACTION.text, keys.length, ...lists(keys, args))
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
    const ranks = this.#ranked()
    const steps = ranks.flat()
    const names = new Set(this.#commands.map(({ name }) => name))
    const needed = PROBED.filter(([probed, by]) => names.has(probed) && names.has(by)).map(([name]) => name)
    const probes = needed.flatMap((name) => steps.find(({ it }) => it.name === name) ?? [])
    args.push(probes.length)
    for (const { place, it } of probes) args.push(place, it.name, placeOf(it.key))
    args.push(ranks[0]?.length ?? 0, steps.length)
    for (const { place, it } of steps) {
      const { name, key, args: some } = it
      args.push(place, name, placeOf(key), some.length)
      if (name === 'JOURNAL') placeOf(String(some[0]))
      for (const value of some) args.push(value)
    }
    return { keys: [...places.keys()], args }
  }

  /** The commands, each with its place, in the order of their execution. Those of a key that is freed stay behind that. */
  #ranked(): { place: number; it: Command }[][] {
    const freed = new Set<string>()
    const ranks: { place: number; it: Command }[][] = [[], [], [], [], []]
    for (const [place, it] of this.#commands.entries()) {
      if (it.name === 'UNLINK') freed.add(it.key)
      ranks[freed.has(it.key) ? FREES : this.#rank(it)]?.push({ place, it })
    }
    return ranks
  }

  #rank({ name, key }: Command): number {
    if (name === 'SET') return this.#expected.has(key) ? 0 : 2
    return RANKS[name] ?? 1
  }
}

const FREES = 3

/** The order of execution; a command without a rank has 1. Journal and history fail nothing. */
const RANKS: Readonly<Record<string, number>> = {
  HINCRBY: 0,
  INCR: 0,
  UNLINK: FREES,
  JOURNAL: 4,
  HISTORY: 4,
}

/** What is shown to be allowed before the second one is executed, which it undoes. */
const PROBED: readonly [name: string, by: string][] = [
  ['HDEL', 'HSET'],
  ['ZREM', 'ZADD'],
  ['UNLINK', 'UNLINK'],
]

const TRANSACTION = script(`
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
local was = {}
for _ = 1, tonumber(arg()) do
  local key, count = KEYS[tonumber(arg())], tonumber(arg())
  local known = was[key] or {}
  was[key] = known
  local found = redis.pcall('HMGET', key, unpack(ARGV, at + 1, at + count))
  if found.err then return redis.error_reply(string.find(found.err, 'WRONGTYPE', 1, true) and 'WRONGTYPE ' .. key or found.err) end
  for i = 1, count do known[ARGV[at + i]] = found[i] end
  at = at + count
  for i = 1, count do
    if (found[i] and '=' .. found[i] or '') ~= arg() then return { 'moved' } end
  end
end
local probes = {}
for i = 1, tonumber(arg()) do probes[i] = { arg(), arg(), KEYS[tonumber(arg())] } end
local replies, undo = { 'done' }, {}
local function isError(reply) return type(reply) == 'table' and reply.err end
local function failed(place, fault)
  for j = #undo, 1, -1 do redis.pcall(unpack(undo[j])) end
  for _, said in ipairs({ 'WRONGTYPE', 'not an integer', 'would overflow' }) do
    if string.find(fault, said, 1, true) then return { 'foreign', place } end
  end
  return redis.error_reply(fault)
end
local function note(...) undo[#undo + 1] = { ... } end
local function undoHash(key, from, count, step)
  local fields = {}
  for i = 1, count, step do fields[#fields + 1] = ARGV[from + i - 1] end
  local values, known, isKnown = {}, was[key] or {}, true
  for i, field in ipairs(fields) do
    values[i] = known[field]
    if values[i] == nil then isKnown = false end
  end
  if not isKnown then
    values = redis.pcall('HMGET', key, unpack(fields))
    if values.err then return values.err end
  end
  local set, new = { 'HSET', key }, { 'HDEL', key }
  for i, field in ipairs(fields) do
    if values[i] then
      set[#set + 1] = field
      set[#set + 1] = values[i]
    elseif step == 2 then new[#new + 1] = field end
  end
  if #set > 2 then undo[#undo + 1] = set end
  if #new > 2 then undo[#undo + 1] = new end
end
local function undoZset(key, from, count, step)
  for i = step, count, step do
    local member = ARGV[from + i - 1]
    local score = redis.pcall('ZSCORE', key, member)
    if isError(score) then return score.err end
    if score then note('ZADD', key, score, member)
    elseif step == 2 then note('ZREM', key, member) end
  end
end
local BEFORE = { HSET = undoHash, HDEL = undoHash, ZADD = undoZset, ZREM = undoZset }
local probeAt = tonumber(arg())
for step = 1, tonumber(arg()) do
  if step == probeAt + 1 then
    for _, probe in ipairs(probes) do
      local place, name, key = unpack(probe)
      local none = key .. ':none'
      local reply = name == 'UNLINK' and redis.pcall(name, none) or redis.pcall(name, none, '')
      if isError(reply) then return failed(place, reply.err) end
    end
  end
  local place, name, keyAt, count = arg(), arg(), tonumber(arg()), tonumber(arg())
  local key, reply = KEYS[keyAt], nil
  if BEFORE[name] then
    local fault = BEFORE[name](key, at + 1, count, (name == 'HSET' or name == 'ZADD') and 2 or 1)
    if fault then return failed(place, fault) end
  end
  if name == 'JOURNAL' then reply = appendJournal(key, unpack(ARGV, at + 1, at + count))
  elseif name == 'HISTORY' then
    redis.pcall('XADD', key, 'MINID', '~', ARGV[at + 1], '*', 'z', ARGV[at + 2])
    reply = 0
  else reply = redis.pcall(name, key, unpack(ARGV, at + 1, at + count)) end
  if isError(reply) then return failed(place, reply.err) end
  if name == 'XADD' then note('XDEL', key, reply)
  elseif name == 'HINCRBY' then note(name, key, ARGV[at + 1], -ARGV[at + 2])
  elseif name == 'SET' and keyAt <= expected then
    if before[keyAt] then note('SET', key, before[keyAt]) else note('DEL', key) end
  end
  at = at + count
  replies[place + 2] = reply
end
return replies
`)
