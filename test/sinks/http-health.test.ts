import { expect, test } from 'vitest'
import { createHttpClient, healthOf } from '../../src/sink/index.ts'
import { startReceiver } from '../servers/receiver.ts'

test('a sink can ask its peer with GET whether deliveries could succeed', async () => {
  await using peer = await startReceiver()
  const http = createHttpClient({ connections: 1, secrets: ['t0ken-of-ours'] })
  const headers = { authorization: 'Bearer t0ken-of-ours' }
  const ask = async () => {
    const request = { method: 'GET', url: new URL('/v1/health', peer.url), headers } as const
    return healthOf((await http.request(request, AbortSignal.timeout(5_000))).outcome)
  }
  expect(await ask()).toEqual({ ok: true })
  expect(peer.requests).toMatchObject([{ method: 'GET', path: '/v1/health', headers, body: '' }])
  peer.answer(() => ({ status: 401, body: 'not with t0ken-of-ours' }))
  expect(await ask()).toEqual({ ok: false, reason: 'auth', detail: 'HTTP 401: not with [redacted]' })
  await http.close()
})
