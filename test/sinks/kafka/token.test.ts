import { expect, test, vi } from 'vitest'
import { createTokens } from '../../../sinks/kafka/security.ts'
import { createAuthority } from '../../servers/certificates.ts'
import { startFakeCluster } from '../../servers/fake-broker.ts'
import { startReceiver } from '../../servers/receiver.ts'
import { startTokenEndpoint } from '../../servers/token-endpoint.ts'
import { DELIVERED, message, never, open } from './bed.ts'

const SECRET = 's3cret-of-mine'

function tokensOf(url: string | URL, ca?: string) {
  const tokens = createTokens({
    tokenUrl: new URL(url),
    clientId: 'me',
    clientSecret: SECRET,
    scope: 'write',
    ca,
    userAgent: 'kubeherald/test',
  })
  return { ...tokens, [Symbol.asyncDispose]: tokens.close }
}

test('many connections ask once, with the credentials', async () => {
  await using endpoint = await startTokenEndpoint()
  await using tokens = tokensOf(endpoint.url)
  expect(await Promise.all([tokens.get(), tokens.get()])).toEqual(['token-1', 'token-1'])
  expect(endpoint.asked).toMatchObject([{ client: 'me', secret: SECRET, scope: 'write' }])
})

test('the connection after one that was refused gets a new token', async () => {
  await using endpoint = await startTokenEndpoint()
  await using tokens = tokensOf(endpoint.url)
  expect(await tokens.get()).toBe('token-1')
  tokens.refused()
  expect(await tokens.get()).toBe('token-2')
  expect(await tokens.get()).toBe('token-2')
})

test('a clock that is put back keeps no token longer than it lives', async () => {
  await using endpoint = await startTokenEndpoint({ lifeS: 100 })
  await using tokens = tokensOf(endpoint.url)
  const startMs = performance.now()
  const age = vi.spyOn(performance, 'now').mockReturnValue(startMs)
  const day = vi.spyOn(Date, 'now').mockReturnValue(1_000_000_000_000)
  try {
    expect(await tokens.get()).toBe('token-1')
    age.mockReturnValue(startMs + 101_000)
    day.mockReturnValue(900_000_000_000)
    expect(await tokens.get()).toBe('token-2')
  } finally {
    age.mockRestore()
    day.mockRestore()
  }
})

test('a server that refuses, and repeats what it got, is told without secrets', async () => {
  await using evil = await startReceiver()
  evil.answer(({ headers }) => ({ status: 401, body: `${SECRET} ${headers.authorization}` }))
  await using tokens = tokensOf(evil.url)
  await expect(tokens.get()).rejects.toThrow(/HTTP 401: \[redacted\] Basic \[redacted\]$/)
})

test.each(['access_token=t0ken-in-a-form', 't0ken-in-a-form', 'null', '""'])(
  'an answer that is not a JSON object (%s) is not repeated',
  async (body) => {
    await using endpoint = await startTokenEndpoint({ answer: { status: 200, body } })
    await using tokens = tokensOf(endpoint.url)
    await expect(tokens.get()).rejects.toThrow(/has no access_token of type Bearer$/)
  },
)

test('a metadata address is not asked for tokens', async () => {
  await using tokens = tokensOf('http://169.254.169.254/token')
  await expect(tokens.get()).rejects.toThrow(/link-local/)
})

test('when brokers refuse a token that is still young, the next connection brings a new one', async () => {
  await using cluster = await startFakeCluster({ events: [0] })
  await using endpoint = await startTokenEndpoint()
  cluster.password = 'token-2'
  await using sink = await open({
    brokers: cluster.brokers,
    topic: 'events',
    sasl: { mechanism: 'oauthbearer', tokenUrl: endpoint.url, clientId: 'me', clientSecret: SECRET },
  })
  expect(await sink.deliver([message()], never)).toMatchObject([{ kind: 'retry', reason: 'auth' }])
  expect(await sink.deliver([message()], never)).toEqual([DELIVERED])
  expect(endpoint.asked).toHaveLength(2)
})

test('a token server of an own authority is believed when tokenCa names it, and only then', async () => {
  const authority = createAuthority('company')
  await using server = await startReceiver(authority.issue('login.example.com'))
  server.answer(() => ({ status: 200, body: '{"access_token":"t"}' }))
  await using trusting = tokensOf(server.url, authority.cert)
  expect(await trusting.get()).toBe('t')
  await using other = tokensOf(server.url)
  await expect(other.get()).rejects.toThrow(/ tokenCa: "\$\{file:/)
})
