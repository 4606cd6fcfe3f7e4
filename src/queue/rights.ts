import type { Redis } from 'ioredis'
import type { Keys } from './keys.ts'
import { evaluate } from './settle.ts'

/** All commands that kubeherald and BullMQ send, those within their scripts included: the ACL of docs/operating.md. */
export const COMMANDS: readonly string[] = `
ping info client|setname eval evalsha multi exec watch unwatch
get set setnx setrange mget strlen incr exists del unlink persist pexpire pttl
hget hset hmget hmset hgetall hdel hexists hincrby hkeys hvals hscan hrandfield
llen lpos lpush lrange lrem ltrim rpoplpush
sadd scard sismember smembers srem
xadd xdel xlen xrange xrevrange xtrim
zadd zcard zpopmin bzpopmin zrange zrangebyscore zrem zremrangebyrank zremrangebyscore zrevrange zrevrangebyscore zscore`
  .trim()
  .split(/\s+/)

/** What the user of this connection may not do, as rules for ACL SETUSER. Empty where Redis cannot tell (before 7.0). */
export async function missingRights(redis: Redis, keys: Keys): Promise<string[]> {
  try {
    return (await evaluate(redis, CHECK, [keys.schema], [`~${keys.bullmq}*`, ...COMMANDS])) as string[]
  } catch (error) {
    const { message } = error as Error
    if (!message.startsWith('NOPERM')) throw error
    return [/\bkeys?\b/.test(message) ? `~${keys.bullmq}*` : '+eval']
  }
}

const CHECK = `
local missing = {}
if not redis.acl_check_cmd then return missing end
local function may(...)
  local known, allowed = pcall(redis.acl_check_cmd, ...)
  return not known or allowed
end
if may('SET') and not may('SET', KEYS[1], '') then missing[1] = ARGV[1] end
for i = 2, #ARGV do
  local words = {}
  for word in string.gmatch(ARGV[i], '[^|]+') do words[#words + 1] = word end
  if not may(unpack(words)) then missing[#missing + 1] = '+' .. ARGV[i] end
end
return missing
`
