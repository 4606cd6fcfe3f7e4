import type { Redis } from 'ioredis'
import { type Comparison, FencedError } from '../../model/change.ts'
import { evalScript } from '../redis/script.ts'
import type { CommitConnection } from './commit-connection.ts'
import { decodeIndexEntry, nameOf } from './index-entries.ts'

/** The field that marks a complete copy; no name is empty. Without it no object may be considered deleted. */
export const COMPLETE = ''

/** An aborted relist leaves its names in Redis; they expire after this time without a write. */
export const UNLISTED_TTL_MS = 86_400_000

/** The number of names that one step reads. */
const STEP = 1_000

/** A list that is compared with the index. */
export interface ComparedList {
  comparison: Comparison
  /** What it is newer than, unless etcd was restored. */
  position: string
  /** Previous objects may be stored in another version of their API. */
  otherVersion: boolean
}

/** The copy of the names expired during a relist, which must start again. */
export class RelistDiffLostError extends Error {
  override name = 'RelistDiffLostError'

  constructor() {
    super('the list took too long: the names to compare it with have expired')
  }
}

/**
 * Copies name → uid of all objects in the index, in steps, so that memory does not grow with the cluster. A list removes the names
 * that it finds; those left at its end were deleted in the cluster. After a reconnect the copy starts again, because another
 * or a restarted server may order hashes differently, and may lack names.
 */
export async function copyNames(
  commitConnection: CommitConnection,
  keys: CopyKeys,
  checkpoint: string,
  signal: AbortSignal,
): Promise<void> {
  while (!(await copyOnce(commitConnection, keys, checkpoint, signal)));
}

/** Returns false if the connection changed before the end. */
async function copyOnce(
  commitConnection: CommitConnection,
  keys: CopyKeys,
  checkpoint: string,
  signal: AbortSignal,
): Promise<boolean> {
  let first: Redis['stream'] | undefined
  const onFirst = <T>(work: (redis: Redis) => Promise<T>) =>
    commitConnection.commit(async (redis) => {
      first ??= redis.stream
      return redis.stream === first ? work(redis) : undefined
    }, signal)
  let cursor: string | undefined = '0'
  do {
    const from: string = cursor
    cursor = await onFirst((redis) => copyStep(redis, keys, checkpoint, from))
    if (cursor === undefined) return false
  } while (cursor !== '0')
  return (await onFirst((redis) => put(redis, keys, checkpoint, [COMPLETE, '']))) === true
}

interface CopyKeys {
  checkpoint: string
  index: string
  unlisted: string
}

/** Returns some of the names that the list has not found; undefined if there are none. */
export async function someUnlisted(
  commitConnection: CommitConnection,
  unlisted: string,
  most: number,
  signal: AbortSignal,
): Promise<{ names: string[]; uids: string[] } | undefined> {
  const pairs = await commitConnection.run(
    (redis) => redis.hrandfield(unlisted, most, 'WITHVALUES') as Promise<string[]>,
    signal,
  )
  if (pairs.length === 0) throw new RelistDiffLostError()
  const names: string[] = []
  const uids: string[] = []
  for (let i = 0; i < pairs.length; i += 2) {
    if (pairs[i] === COMPLETE) continue
    names.push(pairs[i] as string)
    uids.push(pairs[i + 1] as string)
  }
  return names.length === 0 ? undefined : { names, uids }
}

async function copyStep(redis: Redis, keys: CopyKeys, checkpoint: string, cursor: string): Promise<string> {
  const [next, fields] = await redis.hscan(keys.index, cursor, 'COUNT', STEP)
  const names: string[] = []
  for (let i = 0; i < fields.length; i += 2) {
    names.push(nameOf(decodeIndexEntry(fields[i + 1] as string)), fields[i] as string)
  }
  if (names.length > 0) await put(redis, keys, checkpoint, names)
  return next
}

/**
 * Only while the checkpoint is the one that the copy began with: what was sent on a connection that broke may arrive
 * later, when the list has taken names out already, and would make their objects deleted ones.
 */
async function put(redis: Redis, keys: CopyKeys, checkpoint: string, names: string[]): Promise<true> {
  const done = await evalScript(
    redis,
    PUT,
    [keys.checkpoint, keys.unlisted],
    [checkpoint, UNLISTED_TTL_MS, ...names],
  )
  if (done !== 1) throw new FencedError('another process moved the position while the names were copied')
  return true
}

const PUT = `
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
for i = 3, #ARGV, 2 do redis.call('HSET', KEYS[2], ARGV[i], ARGV[i + 1]) end
redis.call('PEXPIRE', KEYS[2], ARGV[2])
return 1
`
