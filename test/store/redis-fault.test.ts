import { expect, test } from 'vitest'
import { silentLog } from '../../src/observe/log.ts'
import { openRedis } from '../../src/store/redis/connection.ts'
import { isOutOfMemory, isTransient, rootOf } from '../../src/store/redis/redis-fault.ts'

const named = (name: string, message: string, rest: object = {}) =>
  Object.assign(new Error(message), { name, ...rest })
const reply = (message: string) => named('ReplyError', message)
const discarded = (...previousErrors: Error[]) =>
  named('ReplyError', 'EXECABORT Transaction discarded because of previous errors.', { previousErrors })

test.each([
  reply('LOADING Redis is loading the dataset in memory'),
  reply("READONLY You can't write against a read only replica."),
  reply("OOM command not allowed when used memory > 'maxmemory'."),
  reply('MISCONF Redis is configured to save RDB snapshots'),
  reply('CLUSTERDOWN The cluster is down'),
  discarded(reply('NOREPLICAS Not enough good replicas to write.')),
  named('MaxRetriesPerRequestError', 'Reached the max retries per request limit'),
  named('AbortError', 'Command aborted due to connection close'),
  new Error('Connection is closed.'),
  new Error("Stream isn't writeable and enableOfflineQueue options is false"),
  named('Error', 'connect ECONNREFUSED 127.0.0.1:1', { code: 'ECONNREFUSED', syscall: 'connect' }),
])('is waited for: $message', (error) => {
  expect(isTransient(error)).toBe(true)
})

test.each([
  named('FencedError', 'another process moved the position'),
  named('AbortError', 'The operation was aborted', { code: 'ABORT_ERR' }),
  named('TypeError', 'must be a string', { code: 'ERR_INVALID_ARG_TYPE' }),
  reply('WRONGTYPE Operation against a key holding the wrong kind of value'),
  reply("NOPERM this user has no permissions to run the 'xadd' command"),
  discarded(reply("NOPERM this user has no permissions to run the 'xadd' command")),
])('is thrown: $message', (error) => {
  expect(isTransient(error)).toBe(false)
})

/** What Redis 6.2 answers where a script passes on what it was refused with, or ends with it. */
const IN_SCRIPTS = [
  (said: string) => `@user_script: 81: -${said}`,
  (said: string) => `@user_script: 81: ${said}`,
  (said: string) =>
    `ERR Error running script (call to f_0123456789abcdef): @user_script:81: @user_script: 81: -${said}`,
  (said: string) => `ERR Error running script (call to f_0123456789abcdef): @user_script:81: -${said}`,
]

test.each(IN_SCRIPTS)('a refusal within a script of Redis 6.2 is waited for', (inScript) => {
  const full = reply(inScript("OOM command not allowed when used memory > 'maxmemory'."))
  expect([isTransient(full), isOutOfMemory(full)]).toEqual([true, true])
  const replica = reply(inScript("READONLY You can't write against a read only replica."))
  expect([isTransient(replica), isOutOfMemory(replica)]).toEqual([true, false])
  expect(isTransient(reply(inScript('WRONGTYPE Operation against a key')))).toBe(false)
})

test.each([(said: string) => said, ...IN_SCRIPTS])(
  'a connection leaves a server that refuses as a replica or without the slot',
  (refusal) => {
    const redis = openRedis('redis://127.0.0.1:1', 'work', silentLog)
    const leavesAfter = (message: string) => redis.options.reconnectOnError?.(reply(refusal(message)))
    expect(leavesAfter("READONLY You can't write against a read only replica.")).toBe(true)
    expect(leavesAfter('MOVED 3999 127.0.0.1:6381')).toBe(true)
    expect(leavesAfter("OOM command not allowed when used memory > 'maxmemory'.")).toBe(false)
    redis.disconnect()
  },
)

test('a discarded transaction tells which of its commands was refused, and why', () => {
  expect(rootOf(discarded(reply('OOM command not allowed'), reply('OOM again'))).message).toBe(
    'OOM command not allowed',
  )
})
