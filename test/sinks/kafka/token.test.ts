import { once } from 'node:events'
import { createServer } from 'node:http'
import { expect, test } from 'vitest'
import { createTokenSource } from '../../../sinks/kafka/token.ts'
import { createMask } from '../../../src/sink/index.ts'

async function startTokenServer(answer: (n: number) => [status: number, body: string]) {
  let asked = 0
  const seen: string[] = []
  const server = createServer((request, response) => {
    seen.push(request.headers.authorization ?? '')
    const [status, body] = answer(++asked)
    response.writeHead(status).end(body)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as { port: number }
  const credentials = {
    tokenUrl: `http://127.0.0.1:${port}/token`,
    clientId: 'me',
    clientSecret: 's3cret-of-mine',
  }
  const clock = { ms: 0, now: () => clock.ms }
  const mask = createMask([credentials.clientSecret])
  return {
    clock,
    seen,
    token: createTokenSource(credentials, { mask, clock, userAgent: 'kubeherald/test' }),
    async [Symbol.asyncDispose]() {
      server.close()
      server.closeAllConnections()
    },
  }
}

test('a token is kept for 80 % of its life, and asked for once by many', async () => {
  await using peer = await startTokenServer((n) => [
    200,
    JSON.stringify({ access_token: `t${n}`, expires_in: 100 }),
  ])
  expect(await Promise.all([peer.token(), peer.token()])).toEqual(['t1', 't1'])
  peer.clock.ms = 79_000
  expect(await peer.token()).toBe('t1')
  peer.clock.ms = 80_000
  expect(await peer.token()).toBe('t2')
  expect(peer.seen[0]).toBe(`Basic ${btoa('me:s3cret-of-mine')}`)
})

test('a server that refuses, and repeats the secret, is told without it', async () => {
  await using peer = await startTokenServer(() => [401, 'wrong: s3cret-of-mine'])
  await expect(peer.token()).rejects.toThrow(/answered 401: wrong: \[redacted\]/)
})

test('a server that repeats the credentials as they were sent is told without them', async () => {
  const basic = btoa('me:s3cret-of-mine')
  await using peer = await startTokenServer(() => [401, `wrong: Basic ${basic}`])
  await expect(peer.token()).rejects.toThrow(/answered 401: wrong: Basic \[redacted\]/)
})

test.each(['access_token=t0ken-in-a-form', 't0ken-in-a-form', 'null', '""'])(
  'an answer that is no JSON object (%s) is not repeated',
  async (body) => {
    await using peer = await startTokenServer(() => [200, body])
    await expect(peer.token()).rejects.toThrow(/sent no access_token$/)
  },
)
