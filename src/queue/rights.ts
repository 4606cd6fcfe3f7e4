import type { Redis } from 'ioredis'
import type { Keys } from './keys.ts'
import { evaluate } from './script.ts'

/**
 * All commands that kubeherald and BullMQ send, those within their scripts included, each as it may be sent; K stands for a
 * key. Redis 7.0 dies when it is asked for the rights of a command without its arguments, so they are complete.
 */
const EXAMPLES = `
ping
info
client setname x
eval return 1 K
evalsha ffffffffffffffffffffffffffffffffffffffff 1 K
multi
exec
watch K
unwatch
get K
set K x
setnx K x
setrange K 0 x
mget K
strlen K
incr K
exists K
del K
unlink K
persist K
pexpire K 1
pttl K
hget K x
hset K x x
hsetnx K x x
hmget K x
hmset K x x
hgetall K
hdel K x
hexists K x
hincrby K x 1
hkeys K
hlen K
hvals K
hscan K 0
hrandfield K
llen K
lpos K x
lpush K x
lrange K 0 1
lrem K 1 x
ltrim K 0 1
memory usage K SAMPLES 1
rpoplpush K K
rpush K x
sadd K x
scard K
sismember K x
smembers K
srem K x
xadd K * x x
xdel K 0-1
xlen K
xrange K - +
xrevrange K + -
xtrim K MAXLEN 1
zadd K 1 x
zcard K
zpopmin K
bzpopmin K 1
zrange K 0 1
zrangebyscore K 0 1
zrem K x
zremrangebyrank K 0 1
zremrangebyscore K 0 1
zrevrange K 0 1
zrevrangebyscore K 1 0
zscore K x
`
  .trim()
  .split('\n')

/** As ACL SETUSER calls them: the list of docs/operating.md. */
export const COMMANDS: readonly string[] = EXAMPLES.map((example) => {
  const [command = '', sub = ''] = example.split(' ')
  return command === 'client' || command === 'memory' ? `${command}|${sub}` : command
})

/** What the user of this connection may not do, as rules for ACL SETUSER. Empty where Redis cannot tell (before 7.0). */
export async function missingRights(redis: Redis, keys: Keys): Promise<string[]> {
  try {
    const may = (await evaluate(redis, CHECK, [keys.schema], EXAMPLES)) as string
    return COMMANDS.flatMap((command, i) => (may[i] === '0' ? [`+${command}`] : []))
  } catch (error) {
    const { message } = error as Error
    if (!message.startsWith('NOPERM')) throw error
    return [/\bkeys?\b/.test(message) ? `~${keys.bullmq}*` : '+eval']
  }
}

/** One digit for each example: 0 where it is refused. What Redis does not know, as a command or a question, is no refusal. */
const CHECK = `
local may = {}
for i, example in ipairs(ARGV) do
  local words = {}
  for word in string.gmatch(example, '%S+') do words[#words + 1] = word == 'K' and KEYS[1] or word end
  may[i] = '1'
  if redis.acl_check_cmd then
    local known, allowed = pcall(redis.acl_check_cmd, unpack(words))
    if known and not allowed then may[i] = '0' end
  end
end
return table.concat(may)
`
