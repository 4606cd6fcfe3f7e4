import { createHash } from 'node:crypto'
import type { Redis } from 'ioredis'

type Argument = string | number | Buffer

/** A Lua script that is sent by its digest, and as text where Redis does not know it (yet, or after SCRIPT FLUSH). */
interface Script {
  readonly text: string
  readonly sha: string
}

export function script(text: string): Script {
  return { text, sha: createHash('sha1').update(text).digest('hex') }
}

export async function runScript(
  redis: Redis,
  { text, sha }: Script,
  keys: readonly string[],
  args: readonly Argument[],
): Promise<unknown> {
  try {
    return await redis.evalsha(sha, keys.length, ...lists(keys, args))
  } catch (error) {
    if (!(error as Error).message.startsWith('NOSCRIPT')) throw error
    return evalScript(redis, text, keys, args)
  }
}

/** Sends the text of a script that runs rarely. */
export function evalScript(
  redis: Redis,
  text: string,
  keys: readonly string[],
  args: readonly Argument[],
): Promise<unknown> {
  return redis.eval(text, keys.length, ...lists(keys, args))
}

/** Keys and arguments as the library flattens them: hundreds of thousands are too many for a call with each of its own. */
export function lists(keys: readonly string[], args: readonly Argument[]): Argument[] {
  return [keys, args] as unknown as Argument[]
}

/** The replies of a pipeline or transaction; the first error among them is thrown. */
export function valuesOf(replies: [error: Error | null, result: unknown][] | null): unknown[] {
  return (replies ?? []).map(([error, result]) => {
    if (error) throw error
    return result
  })
}

/** What is stored, or `initial` from now on. Reads first: a full Redis refuses writes, and must not stop a restart. */
export async function readOrCreate(redis: Redis, key: string, initial: string): Promise<string> {
  const stored = await redis.get(key)
  if (stored !== null) return stored
  await redis.setnx(key, initial)
  return (await redis.get(key)) ?? initial
}
