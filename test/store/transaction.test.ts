import { expect, test } from 'vitest'
import { Transaction } from '../../src/store/commit/transaction.ts'
import { keysOf } from '../../src/store/keys.ts'
import { ForeignKeyError } from '../../src/store/redis/redis-fault.ts'
import { runScript, script } from '../../src/store/redis/script.ts'
import { startStoreBed } from './store-bed.ts'

type Bed = Awaited<ReturnType<typeof startStoreBed>>

const keys = keysOf('test')
const source = 'w1'
const [checkpoint, index, timers] = [
  keys.checkpoint(source),
  keys.index(source),
  keys.ownLimitTimers(source),
] as const
const limits = keys.ownLimits(source)

/** All kinds of commands that a commit may have. */
function everything(): Transaction {
  return new Transaction()
    .expect(checkpoint, 'one')
    .add('XADD', keys.lane('hook/0'), '*', 'n', 1)
    .add('HINCRBY', keys.pending, 'hook/0', 1)
    .add('HSET', index, 'known', 'newer', 'new', 'entry')
    .add('HDEL', index, 'gone', 'never')
    .add('INCR', keys.limitsMoved)
    .add('UNLINK', keys.limit('old'))
    .add('SET', keys.limit('shared'), 'newer')
    .add('HSET', limits, 'own', 'state')
    .add('ZADD', timers, 7, 'own', 8, 'again')
    .add('ZREM', timers, 'gone')
    .add('PEXPIRE', index, 600_000)
    .add('SET', checkpoint, 'two')
    .add('ZRANGE', timers, '0', '0', 'WITHSCORES')
}

async function write({ reader }: Bed): Promise<void> {
  await reader.set(checkpoint, 'one')
  await reader.hset(index, 'known', 'entry', 'gone', 'entry')
  await reader.zadd(timers, 3, 'again', 4, 'gone')
  await reader.set(keys.limit('old'), 'state')
  await reader.set(keys.limit('shared'), 'state')
}

async function content({ reader }: Bed) {
  const [some, old, shared] = await reader.mget(checkpoint, keys.limit('old'), keys.limit('shared'))
  return {
    ...{ checkpoint: some, old, shared, entries: await reader.xlen(keys.lane('hook/0')) },
    index: await reader.hgetall(index),
    limits: await reader.hgetall(limits),
    timers: await reader.zrange(timers, '0', '-1', 'WITHSCORES').catch(() => 'foreign'),
    // What was undone leaves a zero.
    pending: Number((await reader.hget(keys.pending, 'hook/0')) ?? 0),
  }
}

const COMMANDS = 'xadd hincrby incr hset hdel unlink set zadd zrem pexpire zrange hmget zscore'.split(' ')

for (const command of COMMANDS)
  test(`without permission for ${command} a transaction changes nothing, and is done when it is back`, async () => {
    await using it = await startStoreBed()
    await write(it)
    const before = await content(it)
    await it.server.command('ACL', 'SETUSER', 'default', `-${command}`)
    await expect(everything().run(it.reader, { watching: false })).rejects.toThrow(/NOPERM|can't run/)
    await it.server.command('ACL', 'SETUSER', 'default', `+${command}`)
    expect(await content(it)).toEqual(before)
    expect(await everything().run(it.reader, { watching: false })).toMatchObject({ kind: 'done' })
    expect(await content(it)).toEqual({
      ...{ checkpoint: 'two', old: null, shared: 'newer', entries: 1, pending: 1 },
      index: { known: 'newer', new: 'entry' },
      limits: { own: 'state' },
      timers: ['own', '7', 'again', '8'],
    })
  })

test('a foreign key that is only read is named, and nothing is changed', async () => {
  await using it = await startStoreBed()
  await it.reader.set(checkpoint, 'one')
  await it.reader.set(timers, 'foreign')
  const before = await content(it)
  const transaction = new Transaction()
    .expect(checkpoint, 'one')
    .add('HSET', index, 'new', 'entry')
    .add('SET', checkpoint, 'two')
    .add('ZRANGE', timers, '0', '0', 'WITHSCORES')
  await expect(transaction.run(it.reader, { watching: false })).rejects.toThrow(
    new ForeignKeyError(timers, 'a sorted set'),
  )
  expect(await content(it)).toEqual(before)
})

test('a right that only the journal needs fails no commit', async () => {
  await using it = await startStoreBed()
  await it.server.command('ACL', 'SETUSER', 'default', '-xadd', '-xrange', '-xdel')
  const transaction = new Transaction()
    .add('HSET', index, 'new', 'entry')
    .add('JOURNAL', keys.journal, keys.journalBytes, 100, 0, 1_000, 10, 5, 'entry')
  expect(await transaction.run(it.reader, { watching: false })).toMatchObject({ kind: 'done' })
  expect(await it.reader.hgetall(index)).toEqual({ new: 'entry' })
})

test('a script and a transaction may have hundreds of thousands of arguments', async () => {
  await using it = await startStoreBed()
  const many = Array.from({ length: 200_000 }, (_, i) => `m${i}`)
  const count = script("return tonumber(#ARGV) .. ' ' .. #KEYS")
  expect(await runScript(it.reader, count, [checkpoint], many)).toBe('200000 1')
  for (const watching of [false, true]) {
    const transaction = new Transaction()
    for (const lane of many.slice(0, 50_000)) transaction.add('HINCRBY', keys.pending, lane, 1)
    expect(await transaction.run(it.reader, { watching })).toMatchObject({ kind: 'done' })
  }
  expect(await it.reader.hget(keys.pending, 'm49999')).toBe('2')
})
