import { expect, test } from 'vitest'
import { createHttpClient, createTokenSource } from '../../src/sink/index.ts'
import { startTokenEndpoint } from '../servers/token-endpoint.ts'

const never = new AbortController().signal

/** A source whose tokens live for 100 s, and how to ask it at a time. */
async function startSource(clock?: { now(): number }) {
  const endpoint = await startTokenEndpoint({ lifeS: 100 })
  const credentials = { tokenUrl: new URL(endpoint.url), clientId: 'me', clientSecret: 's3cret' }
  const http = createHttpClient({ connections: 1 })
  let ms = 0
  const source = createTokenSource(credentials, http, 'kubeherald/test', clock ?? { now: () => ms })
  return {
    endpoint,
    source,
    at(seconds: number) {
      ms = seconds * 1_000
      return source.get(never)
    },
    async [Symbol.asyncDispose]() {
      source.close()
      await http.close()
      await endpoint[Symbol.asyncDispose]()
    },
  }
}

test('at 80 % of its life a token is renewed while it is still used, after its end nobody uses it', async () => {
  await using it = await startSource()
  expect(await Promise.all([it.at(0), it.at(0)])).toEqual([{ token: 'token-1' }, { token: 'token-1' }])
  expect(await it.at(79)).toEqual({ token: 'token-1' })
  expect(it.endpoint.asked).toHaveLength(1)
  expect(await it.at(81)).toEqual({ token: 'token-1' })
  await it.endpoint.issued(2)
  await expect.poll(() => it.at(82)).toEqual({ token: 'token-2' })
  expect(await it.at(500)).toEqual({ token: 'token-3' })
})

test('a renewal that fails does not hurt while the token is good', async () => {
  await using it = await startSource()
  await it.at(0)
  it.endpoint.answer({ status: 500, body: '' })
  for (const seconds of [81, 85, 95]) expect(await it.at(seconds)).toEqual({ token: 'token-1' })
  expect(await it.at(101)).toMatchObject({ fault: { kind: 'retry', reason: 'auth', scope: 'sink' } })
})

test('a refused token is not given again', async () => {
  await using it = await startSource()
  await it.at(0)
  expect(await it.source.get(never, 'token-1')).toEqual({ token: 'token-2' })
  expect(await it.at(1)).toEqual({ token: 'token-2' })
})
