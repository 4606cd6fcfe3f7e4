import type { HistoryRecord } from '../../model/history-record.ts'
import { REASONS } from '../../sink/sink.ts'
import type { HistoryEntry } from '../history/history.ts'
import { baseOf, type Keys, sinkOf, slotOf } from '../keys.ts'
import { script } from '../redis/script.ts'

/**
 * Why a delivery was given up: what the sink answered, that what Redis has cannot be read, or that more waits for the sink than
 * its bound in bytes allows.
 */
export const DEAD_REASONS = [...REASONS, 'unreadable', 'queue-full'] as const
export type DeadReason = (typeof DEAD_REASONS)[number]

export interface DeadLetter {
  rule: string
  reason: DeadReason
  /** At most 2 KiB, no secrets. */
  detail: string
  atMs: number
  /** A lane entry with this one delivery; of one that cannot be read, its bytes as they are. */
  payload: Buffer
  /** Number of deliveries that it counts for: more than one only where nothing of the entry can be read. */
  count: number
}

/** A delivery that moves to the lane of its chain. */
export interface Move {
  to: string
  observedAtMs: number
  payload: Buffer
  note?: FailureNote | undefined
}

/** How often the first delivery of a quarantine lane failed, and since when. */
export interface FailureNote {
  tries: number
  sinceMs: number
}

/** What became of some deliveries of one entry; none where all of it was acknowledged before. */
export interface Acknowledgement {
  entryId: string
  /** How many deliveries the entry has. */
  count: number
  places: readonly number[]
  dead?: DeadLetter
  move?: Move
  /** What the history keeps of it. */
  records?: readonly HistoryRecord[]
}

/** The acknowledgements of one lane that go together. */
export interface LaneAcks {
  lane: string
  /** The token of the lane's slot. */
  token: string
  acks: readonly Acknowledgement[]
  /** For a quarantine lane. */
  note?: FailureNote | undefined
}

/** What one lane's acknowledgements came to. `missing`: entries that Redis does not have any more; it went back to an older state. */
export type AckResult =
  | { kind: 'done'; missing: number }
  | { kind: 'fenced' }
  | { kind: 'foreign'; fault: string }

export function ackArguments(
  keys: Keys,
  lanes: readonly LaneAcks[],
  history?: HistoryEntry | undefined,
): { names: string[]; args: (string | number | Buffer)[] } {
  const names = [keys.slots, keys.pending, keys.deadLetters, keys.history]
  const args: (string | number | Buffer)[] = [lanes.length, history?.oldestId ?? '', history?.payload ?? '']
  for (const it of lanes) {
    const { lane, token, acks, note } = it
    names.push(keys.lane(lane), keys.progress(lane), keys.sinkLedger(sinkOf(lane)))
    args.push(slotOf(lane), token, lane, acks.length)
    if (isPlain(it)) {
      args.push('plain')
      for (const { entryId } of acks) args.push(entryId)
      continue
    }
    args.push('mixed', baseOf(lane), sinkOf(lane), note?.tries ?? 0, note?.sinceMs ?? 0)
    for (const { entryId, count, places, dead, move } of acks) {
      args.push(entryId, count, places.join(','), dead ? 'dead' : move ? 'move' : 'delivered')
      if (dead) args.push(dead.rule, dead.reason, dead.detail, dead.atMs, dead.payload, dead.count)
      else if (move) {
        names.push(keys.lane(move.to), keys.progress(move.to))
        args.push(move.to, move.observedAtMs, move.payload, move.note?.tries ?? 0, move.note?.sinceMs ?? 0)
      }
    }
  }
  return { names, args }
}

/** Only entries of one delivery, all of them delivered: the usual ones. */
function isPlain({ lane, acks, note }: LaneAcks): boolean {
  if (note || baseOf(lane) !== lane) return false
  return acks.every(({ count, places, dead, move }) => count === 1 && places.length === 1 && !dead && !move)
}

export function ackResults(reply: unknown): AckResult[] {
  return (reply as string[]).map((text): AckResult => {
    if (text === 'fenced') return { kind: 'fenced' }
    if (text.startsWith('done ')) return { kind: 'done', missing: Number(text.slice(5)) }
    return { kind: 'foreign', fault: text }
  })
}

/**
 * Acknowledges lane by lane. What counts is what is still there: a place that is acknowledged already, or an entry that is
 * gone, counts nothing, so the script may be sent again after a lost reply. Counters go first and entries last; where Redis
 * refuses a command in between (a missing permission, a key of another type), what was written is undone. The first write
 * changes nothing: it shows that XDEL is allowed, and a script that has written may go on while Redis is full, since
 * acknowledgements make room. The history is appended last: it fails nothing, and lacks the lanes (field `x`) of which nothing counted.
 */
export const ACKNOWLEDGE = script(`
local at, keyAt = 4, 5
local function arg()
  at = at + 1
  return ARGV[at - 1]
end
local function key()
  keyAt = keyAt + 1
  return KEYS[keyAt - 1]
end
local function isError(reply) return type(reply) == 'table' and reply.err end

local function readLane()
  local it = { stream = key(), progress = key(), ledger = key(), slot = arg(), token = arg(), lane = arg(),
    count = tonumber(arg()), isPlain = arg() == 'plain', acks = {} }
  if it.isPlain then
    for i = 1, it.count do it.acks[i] = arg() end
    return it
  end
  it.base, it.sink, it.tries, it.since = arg(), arg(), arg(), arg()
  for i = 1, it.count do
    local ack = { id = arg(), count = tonumber(arg()), places = arg(), kind = arg() }
    if ack.kind == 'dead' then
      ack.letter = { arg(), arg(), arg(), arg(), arg(), arg() }
    elseif ack.kind == 'move' then
      ack.target, ack.targetProgress = key(), key()
      ack.to, ack.time, ack.payload, ack.tries, ack.since = arg(), arg(), arg(), arg(), arg()
    end
    it.acks[i] = ack
  end
  return it
end

local function count(it, delivered)
  local reply = redis.pcall('HINCRBY', it.ledger, 'delivered', delivered)
  if isError(reply) then return reply.err, it.ledger end
  reply = redis.pcall('HINCRBY', KEYS[2], it.lane, -delivered)
  if not isError(reply) then return end
  redis.pcall('HINCRBY', it.ledger, 'delivered', -delivered)
  return reply.err, KEYS[2]
end

local function acknowledgePlain(it)
  local fault, about = count(it, it.count)
  if fault and string.find(fault, 'OOM', 1, true) then
    local probe = redis.pcall('XDEL', it.stream, '0-0')
    if isError(probe) then return probe.err, it.stream end
    fault, about = count(it, it.count)
  end
  if fault then return fault, about end
  local removed = 0
  for from = 1, it.count, 1000 do
    local reply = redis.pcall('XDEL', it.stream, unpack(it.acks, from, math.min(from + 999, it.count)))
    if isError(reply) then
      count(it, removed - it.count)
      return reply.err, it.stream
    end
    removed = removed + reply
  end
  if removed < it.count then count(it, removed - it.count) end
  return nil, it.count - removed, removed
end

local function acknowledge(it)
  local probe = redis.pcall('XDEL', it.stream, '0-0')
  if isError(probe) then return probe.err, it.stream end
  local entries, order, missing = {}, {}, 0
  local delivered, dead, moved, movedTo = 0, 0, 0, {}
  local writes, undo = {}, {}
  for _, ack in ipairs(it.acks) do
    local entry = entries[ack.id]
    if not entry then
      local rows = redis.pcall('XRANGE', it.stream, ack.id, ack.id)
      if isError(rows) then return rows.err, it.stream end
      entry = { id = ack.id, exists = #rows > 0, count = ack.count, done = 0, places = {} }
      if ack.count > 1 or ack.places == '' then
        local before = redis.pcall('HGET', it.progress, ack.id)
        if isError(before) then return before.err, it.progress end
        entry.before = before
        for place in string.gmatch(before or '', '%d+') do
          if tonumber(place) < entry.count and not entry.places[place] then
            entry.places[place] = true
            entry.done = entry.done + 1
          end
        end
      end
      if not entry.exists then missing = missing + 1 end
      entries[ack.id] = entry
      order[#order + 1] = entry
    end
    local fresh = 0
    if entry.exists then
      for place in string.gmatch(ack.places, '%d+') do
        if not entry.places[place] then
          entry.places[place] = true
          entry.done = entry.done + 1
          fresh = fresh + 1
        end
      end
    end
    if fresh > 0 then
      if ack.kind == 'delivered' then
        delivered = delivered + fresh
      elseif ack.kind == 'dead' then
        local l = ack.letter
        dead = dead + fresh
        writes[#writes + 1] = { 'XADD', KEYS[3], '*', 'sink', it.sink, 'lane', it.base, 'rule', l[1], 'reason', l[2],
          'detail', l[3], 'at', l[4], 'z', l[5], 'n', fresh }
      else
        moved = moved + fresh
        movedTo[ack.to] = (movedTo[ack.to] or 0) + fresh
        writes[#writes + 1] = { 'XADD', ack.target, '*', 'n', fresh, 't', ack.time, 'z', ack.payload }
        if ack.since ~= '0' then
          writes[#writes + 1] = { 'HSET', ack.targetProgress, 'tries', ack.tries, 'since', ack.since }
        end
      end
    end
  end
  local counts = {}
  if delivered > 0 then counts[#counts + 1] = { 'HINCRBY', it.ledger, 'delivered', delivered } end
  if dead > 0 then counts[#counts + 1] = { 'HINCRBY', it.ledger, 'dead', dead } end
  for to, n in pairs(movedTo) do counts[#counts + 1] = { 'HINCRBY', KEYS[2], to, n } end
  local gone = delivered + dead + moved
  if gone > 0 then counts[#counts + 1] = { 'HINCRBY', KEYS[2], it.lane, -gone } end
  local left = #counts
  for _, write in ipairs(writes) do counts[#counts + 1] = write end
  local finished = {}
  for _, entry in ipairs(order) do
    if entry.exists and entry.done >= entry.count then
      finished[#finished + 1] = entry.id
      counts[#counts + 1] = { 'XDEL', it.stream, entry.id }
    elseif entry.exists and entry.done > 0 then
      local places = {}
      for place in pairs(entry.places) do places[#places + 1] = place end
      counts[#counts + 1] = { 'HSET', it.progress, entry.id, table.concat(places, ','), before = entry.before }
    end
  end
  if it.since ~= '0' then counts[#counts + 1] = { 'HSET', it.progress, 'tries', it.tries, 'since', it.since } end
  local remaining
  for i, write in ipairs(counts) do
    local reply = redis.pcall(unpack(write))
    if isError(reply) then
      for j = #undo, 1, -1 do redis.pcall(unpack(undo[j])) end
      return reply.err, write[2]
    end
    if write[1] == 'HINCRBY' then
      undo[#undo + 1] = { 'HINCRBY', write[2], write[3], -write[4] }
      if i == left and gone > 0 then remaining = reply end
    elseif write[1] == 'XADD' then
      undo[#undo + 1] = { 'XDEL', write[2], reply }
    elseif write[1] == 'HSET' and write.before then
      undo[#undo + 1] = { 'HSET', write[2], write[3], write.before }
    elseif write[1] == 'HSET' then
      undo[#undo + 1] = { 'HDEL', write[2], write[3] }
    end
  end
  if #finished > 0 and it.base == it.lane then
    for _, id in ipairs(finished) do
      if entries[id].count > 1 then redis.pcall('HDEL', it.progress, id) end
    end
  elseif #finished > 0 and it.since == '0' then
    redis.pcall('HDEL', it.progress, 'tries', 'since')
  end
  if gone == 0 and #finished > 0 then remaining = tonumber(redis.call('HGET', KEYS[2], it.lane) or '0') end
  if (remaining or 1) <= 0 and redis.call('XLEN', it.stream) == 0 then
    redis.pcall('DEL', it.stream, it.progress)
    redis.pcall('HDEL', KEYS[2], it.lane)
    redis.pcall('HINCRBY', KEYS[2], it.sink .. '/*', 0)
  end
  return nil, missing, it.count == 0 and 1 or gone
end

local results, left, isRecorded = {}, {}, false
for i = 1, tonumber(ARGV[1]) do
  local it, fresh = readLane(), 0
  if redis.call('HGET', KEYS[1], it.slot) ~= it.token then
    results[i] = 'fenced'
  else
    local fault, about, done = (it.isPlain and acknowledgePlain or acknowledge)(it)
    fresh = done or 0
    if not fault then results[i] = 'done ' .. about
    elseif string.find(fault, 'WRONGTYPE', 1, true) or string.find(fault, 'not an integer', 1, true) then
      results[i] = 'WRONGTYPE ' .. about
    elseif i == 1 then
      return redis.error_reply(fault)
    else
      results[i] = fault
    end
  end
  if fresh > 0 then isRecorded = true else left[#left + 1] = i - 1 end
end
if isRecorded and ARGV[3] ~= '' then
  local entry = { 'XADD', KEYS[4], 'MINID', '~', ARGV[2], '*', 'z', ARGV[3] }
  if #left > 0 then
    entry[9] = 'x'
    entry[10] = table.concat(left, ',')
  end
  redis.pcall(unpack(entry))
end
return results
`)
