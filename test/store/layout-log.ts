import type { Redis } from 'ioredis'

/** A word of a command: text, or bytes as base64. */
type Word = string | { base64: string }

/** All keys as the commands that make them, one JSON array a line: any Redis can read it, whatever wrote it. */
export async function writeLayout(redis: Redis): Promise<string> {
  const lines: string[] = []
  for (const key of (await redis.keys('*')).toSorted()) {
    // Who ran is gone, and so is what lives for seconds; BullMQ's log of events is read by nobody.
    const ttlMs = await redis.pttl(key)
    if (/:(instances|lanes:events)$/.test(key) || (ttlMs > 0 && ttlMs < 60_000)) continue
    for (const command of await commandsFor(redis, key)) lines.push(JSON.stringify(command.map(word)))
    if (ttlMs > 0) lines.push(JSON.stringify(['PEXPIRE', key, String(ttlMs)]))
  }
  return `${lines.join('\n')}\n`
}

export async function readLayout(redis: Redis, text: string): Promise<void> {
  for (const line of text.trim().split('\n')) {
    const [command = '', ...words] = (JSON.parse(line) as Word[]).map((it) =>
      typeof it === 'string' ? it : Buffer.from(it.base64, 'base64'),
    )
    await redis.call(String(command), words)
  }
}

async function commandsFor(redis: Redis, key: string): Promise<(string | Buffer)[][]> {
  const type = await redis.type(key)
  switch (type) {
    case 'string':
      return [['SET', key, (await redis.getBuffer(key)) as Buffer]]
    case 'hash': {
      const pairs = Object.entries(await redis.hgetallBuffer(key))
      return pairs
        .filter(([field]) => field !== 'stacktrace')
        .map(([field, value]) => ['HSET', key, field, value])
    }
    case 'set':
      return [['SADD', key, ...(await redis.smembersBuffer(key))]]
    case 'list':
      return [['RPUSH', key, ...(await redis.lrangeBuffer(key, 0, -1))]]
    case 'zset': {
      const pairs = await redis.zrange(key, '0', '-1', 'WITHSCORES')
      return pairs.flatMap((member, i) =>
        i % 2 === 0 ? [['ZADD', key, pairs[i + 1] as string, member]] : [],
      )
    }
    case 'stream': {
      const entries = await redis.xrangeBuffer(key, '-', '+')
      return entries.map(([id, fields]) => ['XADD', key, id, ...fields])
    }
  }
  throw new Error(`${key} is a ${type}`)
}

function word(it: string | Buffer): Word {
  if (typeof it === 'string') return it
  const text = it.toString()
  return Buffer.from(text).equals(it) ? text : { base64: it.toString('base64') }
}
