import { expect, test } from 'vitest'
import webhook from '../../../sinks/webhook/index.ts'
import { startReceiver } from '../../servers/receiver.ts'
import { startTokenEndpoint } from '../../servers/token-endpoint.ts'
import { messageOf, openSink } from '../bed.ts'

const never = new AbortController().signal
const CLIENT = { clientId: 'kube:herald', clientSecret: 's3cret/of client', scopes: ['hooks.write', 'x'] }

test.each<[string, object, string]>([
  [
    'basic',
    { basic: { username: 'ünï', password: 'p:w' } },
    `Basic ${Buffer.from('ünï:p:w').toString('base64')}`,
  ],
  ['bearer', { bearer: 'T0KEN' }, 'Bearer T0KEN'],
])('%s is sent, and not told when an answer repeats it', async (_name, auth, authorization) => {
  await using hook = await startReceiver()
  hook.answer(({ headers }) => ({ status: 400, body: `wrong: ${headers.authorization}` }))
  await using sink = await openSink(webhook, { url: hook.url, auth })
  const outcomes = await sink.deliver([messageOf()], never)
  expect(hook.requests[0]!.headers.authorization).toBe(authorization)
  expect(outcomes).toMatchObject([{ kind: 'rejected', detail: expect.stringContaining('[redacted]') }])
  expect(JSON.stringify(outcomes)).not.toContain(authorization.split(' ')[1])
})

test.each(['basic', 'body'] as const)(
  'oauth2: a token is fetched once and used for all, with %s',
  async (how) => {
    await using hook = await startReceiver()
    await using tokens = await startTokenEndpoint()
    const oauth2 = { ...CLIENT, tokenUrl: tokens.url, audience: 'hooks', clientAuthentication: how }
    await using sink = await openSink(webhook, { url: hook.url, auth: { oauth2 } })
    const batch = Array.from({ length: 20 }, (_, i) => messageOf({ name: `o${i}` }))
    expect(await sink.deliver(batch, never)).toEqual(Array(20).fill({ kind: 'delivered' }))
    expect(new Set(hook.requests.map(({ headers }) => headers.authorization))).toEqual(
      new Set(['Bearer token-1']),
    )
    expect(tokens.asked).toEqual([
      {
        client: 'kube:herald',
        secret: 's3cret/of client',
        grant: 'client_credentials',
        scope: 'hooks.write x',
        audience: 'hooks',
      },
    ])
  },
)

test.each(['basic', 'body'] as const)(
  'oauth2: a token server that repeats what it got gives no secret away, with %s',
  async (how) => {
    await using hook = await startReceiver()
    await using evil = await startReceiver()
    evil.answer(({ headers, body }) => ({ status: 400, body: `${headers.authorization} ${body}` }))
    const oauth2 = {
      ...CLIENT,
      clientSecret: "s3cret/of (client's)",
      tokenUrl: evil.url,
      clientAuthentication: how,
    }
    await using sink = await openSink(webhook, { url: hook.url, auth: { oauth2 } })
    const [outcome] = await sink.deliver([messageOf()], never)
    const { headers, body } = evil.requests[0]!
    const sent =
      how === 'basic' ? headers.authorization?.split(' ')[1] : /client_secret=([^&]+)/.exec(`${body}`)?.[1]
    expect(outcome).toMatchObject({ kind: 'retry', detail: expect.stringContaining('[redacted]') })
    expect(JSON.stringify(outcome)).not.toContain(sent)
  },
)

test('oauth2: a 401 gets one try with a new token, and no more', async () => {
  await using hook = await startReceiver()
  await using tokens = await startTokenEndpoint()
  hook.answer(({ headers }) => ({ status: headers.authorization === 'Bearer token-1' ? 401 : 200 }))
  await using sink = await openSink(webhook, {
    url: hook.url,
    auth: { oauth2: { ...CLIENT, tokenUrl: tokens.url } },
  })
  expect(await sink.deliver([messageOf()], never)).toEqual([{ kind: 'delivered' }])
  expect(tokens.asked).toHaveLength(2)
  hook.answer(() => ({ status: 401 }))
  expect(await sink.deliver([messageOf()], never)).toMatchObject([
    { kind: 'retry', reason: 'auth', scope: 'sink' },
  ])
  expect(tokens.asked).toHaveLength(3)
  expect(hook.requests).toHaveLength(4)
})

test.each<[string, { status: number; body: string }]>([
  ['refuses', { status: 401, body: '{"error":"invalid_client","client":"s3cret/of client"}' }],
  ['answers nonsense', { status: 200, body: '<html>' }],
  ['gives no token', { status: 200, body: '{"token_type":"bearer"}' }],
  ['gives a token that is not a header', { status: 200, body: '{"access_token":"a\\r\\nx: y"}' }],
  ['gives a token of another type', { status: 200, body: '{"access_token":"x","token_type":"mac"}' }],
  ['is ill', { status: 503, body: '' }],
])('oauth2: when the token endpoint %s, the whole sink waits and nothing is sent', async (_name, answer) => {
  await using hook = await startReceiver()
  await using tokens = await startTokenEndpoint({ answer })
  const auth = { oauth2: { ...CLIENT, tokenUrl: tokens.url } }
  await using sink = await openSink(webhook, { url: hook.url, auth })
  const outcomes = await sink.deliver([messageOf()], never)
  expect(outcomes).toMatchObject([
    {
      kind: 'retry',
      reason: 'auth',
      scope: 'sink',
      detail: expect.stringContaining('no token from 127.0.0.1'),
    },
  ])
  expect(JSON.stringify(outcomes)).not.toContain('s3cret')
  expect(hook.requests).toEqual([])
  expect(await sink.health!(never)).toMatchObject({ ok: false, reason: 'auth' })
})

test('oauth2: who waits for a token stops at once, and so does the request for it when the sink is closed', async () => {
  await using hook = await startReceiver()
  await using tokens = await startTokenEndpoint()
  const stop = new AbortController()
  tokens.answer('hang', () => stop.abort())
  await using sink = await openSink(webhook, {
    url: hook.url,
    auth: { oauth2: { ...CLIENT, tokenUrl: tokens.url } },
  })
  expect(await sink.deliver([messageOf()], stop.signal)).toMatchObject([{ kind: 'retry', scope: 'sink' }])
  expect(hook.requests).toEqual([])
})
