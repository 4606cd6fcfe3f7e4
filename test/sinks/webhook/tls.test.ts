import { once } from 'node:events'
import { createServer } from 'node:net'
import { expect, test } from 'vitest'
import webhook from '../../../sinks/webhook/index.ts'
import { createAuthority } from '../../servers/certificates.ts'
import { freePort, UNKNOWN_NAME } from '../../servers/ports.ts'
import { startReceiver } from '../../servers/receiver.ts'
import { messageOf, openSink } from '../bed.ts'

const never = new AbortController().signal
const authority = createAuthority('company')
const stranger = createAuthority('stranger')
const server = authority.issue('hook.example.com')
const client = authority.issue('kubeherald')

async function attempt(options: object) {
  await using sink = await openSink(webhook, { timeout: '20s', ...options })
  const [outcome] = await sink.deliver([messageOf()], never)
  return { outcome, health: await sink.health!(never) }
}

test('a certificate of an own authority is believed when tls.ca names it, and only then', async () => {
  await using hook = await startReceiver(server)
  expect(await attempt({ url: hook.url, tls: { ca: authority.cert } })).toEqual({
    outcome: { kind: 'delivered' },
    health: { ok: true },
  })
  for (const tls of [undefined, { ca: stranger.cert }]) {
    const { outcome, health } = await attempt({ url: hook.url, tls })
    expect(outcome).toMatchObject({
      kind: 'retry',
      reason: 'network',
      scope: 'sink',
      detail: expect.stringContaining('tls: { ca: "${file:'),
    })
    expect(outcome).not.toHaveProperty('ambiguous')
    expect(health).toMatchObject({
      ok: false,
      detail: expect.stringContaining('authority that is not known'),
    })
  }
  expect(hook.requests).toHaveLength(1)
})

test('a receiver that wants a client certificate gets it; without one, or with a stranger’s, health says so', async () => {
  await using hook = await startReceiver({
    ...server,
    ca: authority.cert,
    requestCert: true,
    rejectUnauthorized: true,
  })
  const ca = authority.cert
  expect(await attempt({ url: hook.url, tls: { ca, ...client } })).toEqual({
    outcome: { kind: 'delivered' },
    health: { ok: true },
  })
  for (const tls of [{ ca }, { ca, ...stranger.issue('kubeherald') }]) {
    const { outcome, health } = await attempt({ url: hook.url, tls })
    expect(outcome).toMatchObject({
      kind: 'retry',
      scope: 'sink',
      detail: expect.stringContaining('client certificate'),
    })
    expect(health).toMatchObject({ ok: false, detail: expect.stringContaining('client certificate') })
  }
  expect(hook.requests).toHaveLength(1)
})

test('a certificate for another name is refused; tls.servername says which one it is', async () => {
  await using hook = await startReceiver(server)
  const url = hook.url.replace('127.0.0.1', 'localhost')
  const { outcome, health } = await attempt({ url, tls: { ca: authority.cert } })
  for (const it of [outcome, health])
    expect(it).toMatchObject({ detail: expect.stringContaining('tls: { servername: … }') })
  const tls = { ca: authority.cert, servername: 'hook.example.com' }
  expect(await attempt({ url, tls })).toEqual({ outcome: { kind: 'delivered' }, health: { ok: true } })
})

test('tls.servername is the name of the receiver: a token server elsewhere has its own', async () => {
  await using hook = await startReceiver(server)
  await using login = await startReceiver(authority.issue('localhost'))
  const token = JSON.stringify({ access_token: 't0ken-1', token_type: 'Bearer' })
  login.answer(() => ({ status: 200, body: token }))
  const tls = { ca: authority.cert, servername: 'hook.example.com' }
  const tokenUrl = login.url.replace('127.0.0.1', 'localhost')
  const oauth2 = { clientId: 'kubeherald', clientSecret: 's3cret', tokenUrl }
  expect(await attempt({ url: hook.url, tls, auth: { oauth2 } })).toEqual({
    outcome: { kind: 'delivered' },
    health: { ok: true },
  })
  expect(hook.requests[0]!.headers.authorization).toBe('Bearer t0ken-1')
})

test('tls.servername is that of the token server, too, where it is at the address of the receiver', async () => {
  await using hook = await startReceiver(server)
  const token = JSON.stringify({ access_token: 't0ken-1', token_type: 'Bearer' })
  hook.answer(({ path }) => ({ status: 200, body: path === '/token' ? token : '' }))
  const tls = { ca: authority.cert, servername: 'hook.example.com' }
  const oauth2 = {
    clientId: 'kubeherald',
    clientSecret: 's3cret',
    tokenUrl: new URL('/token', hook.url).href,
  }
  expect(await attempt({ url: hook.url, tls, auth: { oauth2 } })).toEqual({
    outcome: { kind: 'delivered' },
    health: { ok: true },
  })
})

test('health says in words what is wrong, and posts nothing', async () => {
  await using plain = await startReceiver()
  const silent = createServer(() => {}).listen(0, '127.0.0.1')
  await once(silent, 'listening')
  const { port } = silent.address() as { port: number }
  const refused = await freePort()
  const timeout = '300ms'
  const cases: [url: string, reason: string, detail: string, options?: object][] = [
    [`http://127.0.0.1:${refused}/`, 'network', `nobody listens at 127.0.0.1:${refused}`],
    [`http://${UNKNOWN_NAME}/`, 'network', `the name ${UNKNOWN_NAME} cannot be resolved`],
    [plain.url.replace('http:', 'https:'), 'network', 'does not speak TLS; is it http:// there?'],
    [`https://127.0.0.1:${port}/`, 'network', `no connection to 127.0.0.1:${port} in time`, { timeout }],
  ]
  for (const [url, reason, detail, options] of cases) {
    await using sink = await openSink(webhook, { url, ...options })
    expect(await sink.health!(never)).toMatchObject({
      ok: false,
      reason,
      detail: expect.stringContaining(detail),
    })
  }
  await using sink = await openSink(webhook, { url: plain.url })
  expect(await sink.health!(never)).toEqual({ ok: true })
  expect(plain.requests).toEqual([])
  silent.close()
})

test('health ends at once when it is stopped', async () => {
  const silent = createServer(() => {}).listen(0, '127.0.0.1')
  await once(silent, 'listening')
  const { port } = silent.address() as { port: number }
  const stop = new AbortController()
  silent.on('connection', () => stop.abort())
  await using sink = await openSink(webhook, { url: `https://127.0.0.1:${port}/`, timeout: '50s' })
  expect(await sink.health!(stop.signal)).toMatchObject({ ok: false })
  silent.close()
})
