import { randomBytes } from 'node:crypto'
import type { Redis } from 'ioredis'
import {
  type Checkpoint,
  FencedError,
  type FormerSource,
  type Selection,
  type Source,
} from '../../model/change.ts'
import type { Keys } from '../keys.ts'
import { LAYOUT, LayoutChangedError } from '../redis/layout.ts'
import { scanStep } from '../redis/scan.ts'
import { evalScript } from '../redis/script.ts'
import type { CommitConnection } from './commit-connection.ts'
import { decodeIndexEntry } from './index-entries.ts'
import { readCheckpoint } from './stored-json.ts'

interface Adopter {
  commitConnection: Pick<CommitConnection, 'run'>
  keys: Keys
  /** The source that takes over, and its checkpoint: while it is this one, the session owns it. */
  key: string
  checkpoint: string
  keepsPrevious: boolean
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
 * Returns the selections that were watched before a source takes over the state of `former`. None if the first list of `former`
 * was not complete, because then its index lacks objects. All objects in its namespaces if all of them are still to be emitted.
 */
export function watchedBefore(former: Source, checkpoint: Checkpoint): readonly Selection[] {
  const { adopting, phase, resourceVersion } = checkpoint
  if (adopting) return adopting
  if (phase === 'seeding') return []
  const selection = selectionOf(former)
  return [resourceVersion === '' ? { ...selection, labelSelector: '', fieldSelector: '' } : selection]
}

/**
 * Moves the stored state of a former source to the source that replaces it, in atomic steps, and deletes the former source when
 * nothing is left of it. From the first step on the former source has no position: a process that still reads it is fenced. If
 * it is configured again later, it adopts the state back. Throws FencedError when the session no longer owns its source.
 */
export async function adoptSource(
  adopter: Adopter,
  former: FormerSource,
  signal: AbortSignal,
): Promise<void> {
  const retired = await retire(adopter, former.source, signal)
  if (retired === undefined) return
  for (;;) {
    const commitConnection = onOneConnection(adopter.commitConnection)
    try {
      return await moveAll({ ...adopter, commitConnection }, former, retired, signal)
    } catch (error) {
      if (!(error instanceof ConnectionChangedError)) throw error
    }
  }
}

class ConnectionChangedError extends Error {
  override name = 'ConnectionChangedError'
}

/**
 * Throws ConnectionChangedError after a reconnect: another or a restarted server may order hashes differently, so that a cursor
 * skips fields, and may lack what was moved.
 */
function onOneConnection({ run }: Adopter['commitConnection']): Adopter['commitConnection'] {
  let first: Redis['stream'] | undefined
  return {
    run: (work, signal) =>
      run(async (redis) => {
        first ??= redis.stream
        if (redis.stream !== first) throw new ConnectionChangedError()
        return work(redis)
      }, signal),
  }
}

/** Can be repeated: only what is left in the former source moves. */
async function moveAll(
  adopter: Adopter,
  { source: former, claims }: FormerSource,
  retired: string,
  signal: AbortSignal,
): Promise<void> {
  const move = (batch: readonly Moved[]) => moveBatch(adopter, former, retired, batch, signal)
  const states = await statesOf(adopter, former, signal)
  const index = adopter.keys.index(former.key)
  for (let cursor: string | undefined; cursor !== '0'; ) {
    const from: string = cursor ?? '0'
    const { next, pairs } = await adopter.commitConnection.run(
      (redis) => scanStep(redis, index, from),
      signal,
    )
    const mine = pairs.filter(([uid, entry]) => claims({ uid, ...decodeIndexEntry(entry) }))
    await move(mine.map(([uid]) => ({ uid, fields: states.get(uid) ?? [] })))
    for (const [uid] of pairs) states.delete(uid)
    cursor = next
  }
  // Limit states of objects that are no longer in the index: they may still have to send a resolve notification.
  await move([...states].map(([uid, fields]) => ({ uid, fields })))
}

interface Moved {
  uid: string
  /** The fields of its limit states. */
  fields: readonly string[]
}

const BATCH = 200

/** Replaces the checkpoint of the former source and returns the new one; undefined when nothing is stored of the source. */
async function retire(
  { commitConnection, keys }: Adopter,
  former: Source,
  signal: AbortSignal,
): Promise<string | undefined> {
  const name = keys.checkpoint(former.key)
  for (;;) {
    const text = await commitConnection.run((redis) => redis.get(name), signal)
    const before = readCheckpoint(text)
    if (text === null || !before) return undefined
    // No process works on it, and several may adopt from it at the same time.
    if (before.released && before.adopting) return text
    const next: Checkpoint = {
      phase: 'seeding',
      resourceVersion: '',
      sequence: before.sequence + 1,
      // Others that adopt from it compare its age with that of other sources.
      atMs: before.atMs,
      holder: randomBytes(6).toString('hex'),
      released: true,
      adopting: watchedBefore(former, before),
    }
    const retired = JSON.stringify(next)
    const done = await commitConnection.run(
      (redis) => evalScript(redis, RETIRE, [keys.schema, name], [LAYOUT, text, retired]),
      signal,
    )
    if (typeof done === 'string') throw new LayoutChangedError(done)
    if (done === 1) return retired
  }
}

/** Returns the fields of limit states by the uid of their object; few, because only objects with open incidents have them. */
async function statesOf(
  { commitConnection, keys }: Adopter,
  former: Source,
  signal: AbortSignal,
): Promise<Map<string, string[]>> {
  const states = new Map<string, string[]>()
  for (let cursor: string | undefined; cursor !== '0'; ) {
    const from: string = cursor ?? '0'
    const { next, pairs } = await commitConnection.run(
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
  { commitConnection, keys, key, checkpoint, keepsPrevious }: Adopter,
  former: Source,
  retired: string,
  moved: readonly Moved[],
  signal: AbortSignal,
): Promise<void> {
  const of = (source: string) => [
    keys.checkpoint(source),
    keys.index(source),
    keys.old(source),
    keys.ownLimits(source),
    keys.ownLimitTimers(source),
    keys.watchLedger(source),
  ]
  const names = [keys.schema, keys.sources, ...of(key), ...of(former.key)]
  const fixed = [LAYOUT, checkpoint, retired, keepsPrevious ? 1 : 0, former.key, keys.ruleLedger('')]
  // The last batch, which may be empty, deletes the source when nothing is left of it.
  for (let start = 0; start <= moved.length; start += BATCH) {
    const some = moved.slice(start, start + BATCH)
    const args = some.flatMap(({ uid, fields }) => [uid, fields.length, ...fields])
    const done = await commitConnection.run(
      (redis) => evalScript(redis, MOVE, names, [...fixed, ...args]),
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
 * Entries of the new source are newer and stay. If both sources have a state, the events that wait in the old one are counted as
 * gone; their number is in the four bytes after format and times. A repeat finds nothing to move, and counts nothing twice. */
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
