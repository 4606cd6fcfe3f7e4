import { randomBytes } from 'node:crypto'
import { type Checkpoint, FencedError, type FormerSource, type Selection, type Source } from '../change.ts'
import type { CommitLine } from './commit-line.ts'
import { decodeIndexEntry } from './index-entry.ts'
import type { Keys } from './keys.ts'
import { LAYOUT, LayoutChangedError } from './layout.ts'
import { scanStep } from './pending.ts'
import { evaluate } from './script.ts'
import { readCheckpoint } from './stored-json.ts'

export interface Adopter {
  line: CommitLine
  keys: Keys
  clock: { now(): number }
  /** The source that takes over, and its checkpoint: while it is this one, the session owns it. */
  key: string
  checkpoint: string
  keepsOld: boolean
}

/** What a source selects, as it is stored. */
export function selectionOf(source: Source): Selection {
  const { namespace, namespaces, labelSelector, fieldSelector, shard } = source
  return {
    namespace,
    labelSelector,
    fieldSelector,
    ...(namespaces && { namespaces }),
    ...(shard && { shard }),
  }
}

/**
 * What somebody who takes over from a source has to take for watched before. A source whose first list was not complete knows
 * nothing of what it selects.
 */
export function watchedBefore(former: Source, checkpoint: Checkpoint): readonly Selection[] {
  return checkpoint.adopting ?? (checkpoint.phase === 'seeding' ? [] : [selectionOf(former)])
}

/**
 * Moves what a former source knew to the one that replaces it, in steps that are atomic each, and forgets the former source when
 * nothing is left of it. From the first step on the former source has no position: who still works on it is fenced, and should
 * it be wanted again, it adopts in turn. Throws FencedError when the session does not own its source any more.
 */
export async function adoptSource(
  adopter: Adopter,
  { source: former, claims }: FormerSource,
  signal: AbortSignal,
): Promise<void> {
  const retired = await retire(adopter, former, signal)
  if (retired === undefined) return
  const move = (batch: readonly Moved[]) => moveBatch(adopter, former, retired, batch, signal)
  const states = await statesOf(adopter, former, signal)
  const index = adopter.keys.index(former.key)
  for (let cursor: string | undefined; cursor !== '0'; ) {
    const from: string = cursor ?? '0'
    const { next, pairs } = await adopter.line.run((redis) => scanStep(redis, index, from), signal)
    const mine = pairs.filter(([uid, entry]) => claims({ uid, ...decodeIndexEntry(entry) }))
    await move(mine.map(([uid]) => ({ uid, fields: states.get(uid) ?? [] })))
    for (const [uid] of pairs) states.delete(uid)
    cursor = next
  }
  // Of objects that are gone: that it is over may still have to be told.
  await move([...states].map(([uid, fields]) => ({ uid, fields })))
}

interface Moved {
  uid: string
  /** Its states of limits. */
  fields: readonly string[]
}

const BATCH = 200

/** Returns the checkpoint that the former source has from now on; undefined when nothing is stored of it. */
async function retire(
  { line, keys, clock }: Adopter,
  former: Source,
  signal: AbortSignal,
): Promise<string | undefined> {
  const name = keys.checkpoint(former.key)
  for (;;) {
    const text = await line.run((redis) => redis.get(name), signal)
    const before = readCheckpoint(text)
    if (text === null || !before) return undefined
    // Nobody works on it, and others may adopt from it at the same time.
    if (before.released && before.adopting) return text
    const next: Checkpoint = {
      ...{ phase: 'seeding', resourceVersion: '', sequence: before.sequence + 1, atMs: clock.now() },
      ...{ holder: randomBytes(6).toString('hex'), released: true },
      adopting: watchedBefore(former, before),
    }
    const retired = JSON.stringify(next)
    const done = await line.run(
      (redis) => evaluate(redis, RETIRE, [keys.schema, name], [LAYOUT, text, retired]),
      signal,
    )
    if (typeof done === 'string') throw new LayoutChangedError(done)
    if (done === 1) return retired
  }
}

/** Fields of states by the uid of their object. They are few: of objects that are in trouble. */
async function statesOf(
  { line, keys }: Adopter,
  former: Source,
  signal: AbortSignal,
): Promise<Map<string, string[]>> {
  const states = new Map<string, string[]>()
  for (let cursor: string | undefined; cursor !== '0'; ) {
    const from: string = cursor ?? '0'
    const { next, pairs } = await line.run(
      (redis) => scanStep(redis, keys.ownLimits(former.key), from),
      signal,
    )
    for (const [field] of pairs) {
      const uid = field.slice(0, field.indexOf(':'))
      states.set(uid, [...new Set([...(states.get(uid) ?? []), field])])
    }
    cursor = next
  }
  return states
}

async function moveBatch(
  { line, keys, key, checkpoint, keepsOld }: Adopter,
  former: Source,
  retired: string,
  moved: readonly Moved[],
  signal: AbortSignal,
): Promise<void> {
  const of = (source: string) => [
    ...[keys.checkpoint(source), keys.index(source), keys.old(source), keys.ownLimits(source)],
    ...[keys.ownLimitTimers(source), keys.watchLedger(source)],
  ]
  const names = [keys.schema, keys.sources, ...of(key), ...of(former.key)]
  // The last one, which may be empty, forgets the source that has nothing left.
  for (let start = 0; start <= moved.length; start += BATCH) {
    const some = moved.slice(start, start + BATCH)
    const args = some.flatMap(({ uid, fields }) => [uid, fields.length, ...fields])
    const done = await line.run(
      (redis) =>
        evaluate(redis, MOVE, names, [
          ...[LAYOUT, checkpoint, retired, keepsOld ? 1 : 0, former.key, keys.ruleLedger('')],
          ...args,
        ]),
      signal,
    )
    if (typeof done === 'string' && done !== 'fenced') throw new LayoutChangedError(done)
    if (done === 'fenced') throw new FencedError(`another process works on ${key} or ${former.key}`)
  }
}

const RETIRE = `
local layout = redis.call('GET', KEYS[1])
if layout and layout ~= ARGV[1] then return layout end
if redis.call('GET', KEYS[2]) ~= ARGV[2] then return 0 end
redis.call('SET', KEYS[2], ARGV[3])
return 1
`

/**
 * What the new source knows already is newer; what waits in a state that it has as well is counted as gone, as the four bytes
 * behind format and times say. A repeat finds nothing to move, and counts nothing twice. */
const MOVE = `
local layout = redis.call('GET', KEYS[1])
if layout and layout ~= ARGV[1] then return layout end
local sources = KEYS[2]
local checkpoint, index, old, limits, timers, ledger = unpack(KEYS, 3, 8)
local fromCheckpoint, fromIndex, fromOld, fromLimits, fromTimers, fromLedger = unpack(KEYS, 9, 14)
if redis.call('GET', checkpoint) ~= ARGV[2] then return 'fenced' end
local current = redis.call('GET', fromCheckpoint)
if not current then return 0 end
if current ~= ARGV[3] then return 'fenced' end
local function moveField(from, to, field)
  local value = redis.call('HGET', from, field)
  if not value then return end
  local isMoved = redis.call('HSETNX', to, field, value) == 1
  redis.call('HDEL', from, field)
  return not isMoved and value
end
local function countGone(field, state)
  if #state < 17 then return end
  local a, b, c, d = string.byte(state, 14, 17)
  local waiting = ((a * 256 + b) * 256 + c) * 256 + d
  if waiting == 0 then return end
  local ledger = ARGV[6] .. string.match(field, '[^:]*$')
  redis.call('HINCRBY', ledger, 'waiting', -waiting)
  redis.call('HINCRBY', ledger, 'suppressed:gone', waiting)
end
local at = 7
while at <= #ARGV do
  local uid, count = ARGV[at], tonumber(ARGV[at + 1])
  moveField(fromIndex, index, uid)
  if ARGV[4] == '1' then moveField(fromOld, old, uid) end
  for i = at + 2, at + 1 + count do
    local field = ARGV[i]
    local left = moveField(fromLimits, limits, field)
    if left then countGone(field, left) end
    local due = redis.call('ZSCORE', fromTimers, field)
    if due then
      redis.call('ZADD', timers, 'NX', due, field)
      redis.call('ZREM', fromTimers, field)
    end
  end
  at = at + 2 + count
end
if redis.call('HLEN', fromIndex) == 0 and redis.call('HLEN', fromLimits) == 0 then
  local counts = redis.call('HGETALL', fromLedger)
  for i = 1, #counts, 2 do redis.call('HINCRBY', ledger, counts[i], counts[i + 1]) end
  redis.call('UNLINK', fromCheckpoint, fromIndex, fromOld, fromLimits, fromTimers, fromLedger)
  redis.call('HDEL', sources, ARGV[5])
end
return 1
`
