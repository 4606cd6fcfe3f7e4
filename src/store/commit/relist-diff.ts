import type { Redis } from 'ioredis'
import { FencedError } from '../change.ts'
import type { CommitLine } from './commit-line.ts'
import { decodeIndexEntry, nameOf } from './index-entry.ts'
import { evaluate } from './script.ts'

/** Field that says that all names are there; no name is empty. Without it nothing may be taken for unseen. */
export const COMPLETE = ''

/** A relist that was given up leaves its names behind; they go when nobody touched them for this long. */
export const UNSEEN_TTL_MS = 86_400_000

/** How many names one step reads. */
const STEP = 1_000

/** The names that a relist did not find can no longer be told: it has to begin anew. */
export class UnseenLostError extends Error {
  override name = 'UnseenLostError'

  constructor() {
    super('the list took too long: what it had not seen yet is forgotten')
  }
}

/**
 * Copies name → uid of all that the index knows, in steps: the process stays the same size whatever the cluster's. What a
 * list finds is taken out; what is left at its end is gone from the cluster. A connection that came anew may be one to
 * another server, or to one that began anew: its hashes have another order, and it may lack names. So all is copied again.
 */
export async function copyNames(
  line: CommitLine,
  keys: CopyKeys,
  checkpoint: string,
  signal: AbortSignal,
): Promise<void> {
  while (!(await copyOnce(line, keys, checkpoint, signal)));
}

/** False when the connection is another one by the end. */
async function copyOnce(
  line: CommitLine,
  keys: CopyKeys,
  checkpoint: string,
  signal: AbortSignal,
): Promise<boolean> {
  let first: Redis['stream'] | undefined
  const onFirst = <T>(work: (redis: Redis) => Promise<T>) =>
    line.commit(async (redis) => {
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

export interface CopyKeys {
  checkpoint: string
  index: string
  unseen: string
}

/** Some of what is still unseen; undefined when nothing is. */
export async function someUnseen(
  line: CommitLine,
  unseen: string,
  most: number,
  signal: AbortSignal,
): Promise<{ names: string[]; uids: string[] } | undefined> {
  const pairs = await line.run(
    (redis) => redis.hrandfield(unseen, most, 'WITHVALUES') as Promise<string[]>,
    signal,
  )
  if (pairs.length === 0) throw new UnseenLostError()
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
  const done = await evaluate(
    redis,
    PUT,
    [keys.checkpoint, keys.unseen],
    [checkpoint, UNSEEN_TTL_MS, ...names],
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
