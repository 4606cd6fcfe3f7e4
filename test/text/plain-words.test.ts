import { createServer } from 'node:net'
import { request } from 'undici'
import { expect, test } from 'vitest'
import { silentLog } from '../../src/observe/log.ts'
import { openRedis } from '../../src/store/redis/connection.ts'
import { describeFault } from '../../src/store/redis/redis-fault.ts'
import { friendlyError } from '../../src/text/friendly-errors.ts'
import { freePort } from '../servers/ports.ts'

test.each([
  [
    'Redis does not answer (Reached the max retries per request limit (which is 0). Refer to "maxRetriesPerRequest" option for details.)',
    'Redis does not answer (no connection)',
  ],
  [
    "Redis does not answer (Socket timeout. Expecting data, but didn't receive any in 15000ms.)",
    'Redis does not answer (no answer in time)',
  ],
  ["Redis does not answer (Stream isn't writeable and enableOfflineQueue options is false)", 'no connection'],
  ["OOM command not allowed when used memory > 'maxmemory'.", 'Redis is full (OOM)'],
  ['NOAUTH Authentication required.', 'Redis requires a password and was given none'],
  [
    'WRONGPASS invalid username-password pair or user is disabled.',
    'Redis does not accept the user and password of the configuration',
  ],
  ['Redis does not answer (getaddrinfo ENOTFOUND redis.shop)', 'the name redis.shop cannot be resolved'],
  ['connect ETIMEDOUT 10.0.0.1:443', 'no connection to 10.0.0.1:443 in time'],
  [
    'Connect Timeout Error (attempted address: api.example.com:443, timeout: 10000ms)',
    'no connection to api.example.com:443 in time',
  ],
  ['network: UND_ERR_SOCKET', 'network: the connection broke'],
  ['', 'the connection failed'],
])('%j is told as %j', (said, told) => {
  expect(friendlyError(said)).toContain(told)
  expect(friendlyError(said)).not.toMatch(
    /enableOfflineQueue|maxRetries|Socket|UND_ERR|ECONN|ENOTFOUND|ETIMEDOUT/,
  )
})

test('what the API server or a receiver says stays as it is', () => {
  const forbidden = '403 Forbidden: pods is forbidden: User "plain" cannot list resource "pods"'
  expect(friendlyError(forbidden)).toBe(forbidden)
  expect(friendlyError('rejected: HTTP 422: no such field')).toBe('rejected: HTTP 422: no such field')
})

test('a Redis that is away is told in words, whichever moment a command hits', async () => {
  const redis = openRedis(`redis://127.0.0.1:${await freePort()}`, 'commit', silentLog)
  const told = await redis.get('x').catch((error: unknown) => describeFault(error))
  redis.disconnect()
  expect(told).toMatch(/^Redis does not answer: (no connection|nobody listens at 127\.0\.0\.1:\d+)$/)
})

test('an API server that is away, or hangs up, is told in words', async () => {
  const asked = (port: number) =>
    request(`http://127.0.0.1:${port}`).then(
      () => 'answered',
      (error: Error) => friendlyError(error.message),
    )
  const port = await freePort()
  expect(await asked(port)).toBe(`nobody listens at 127.0.0.1:${port}`)
  const rude = createServer((socket) => void socket.on('data', () => socket.end()))
  await new Promise<void>((resolve) => rude.listen(port, '127.0.0.1', resolve))
  expect(await asked(port)).toBe('the connection broke')
  rude.close()
})
