import { expect, test, vi } from 'vitest'
import webhook from '../../../sinks/webhook/index.ts'
import { proxyFor } from '../../../src/sink/proxy.ts'
import { createAuthority } from '../../servers/certificates.ts'
import { startHttpProxy } from '../../servers/http-proxy.ts'
import { freePort } from '../../servers/ports.ts'
import { startReceiver } from '../../servers/receiver.ts'
import { messageOf, openSink } from '../bed.ts'

const never = new AbortController().signal
const names = { 'hook.corp': '127.0.0.1' }
const authority = createAuthority('company')
const server = authority.issue('hook.corp')

test.each([
  ['http', undefined],
  ['https', { ca: authority.cert }],
] as const)('%s goes over the proxy, which resolves the name and is told who we are', async (scheme, tls) => {
  await using hook = await startReceiver(scheme === 'https' ? server : undefined)
  await using proxy = await startHttpProxy({ names, user: 'us:pw-0f-proxy' })
  const url = hook.url.replace('127.0.0.1', 'hook.corp')
  const withUser = proxy.url.replace('//', '//us:pw-0f-proxy@')
  await using sink = await openSink(webhook, { url, proxy: withUser, tls })
  const batch = Array.from({ length: 10 }, (_, i) => messageOf({ name: `o${i}` }))
  expect(await sink.deliver(batch, never)).toEqual(Array(10).fill({ kind: 'delivered' }))
  expect(await sink.health!(never)).toEqual({ ok: true })
  expect(new Set(proxy.asked)).toEqual(new Set([new URL(url).host]))
  expect(hook.requests).toHaveLength(10)
  expect(hook.requests[0]).toMatchObject({ path: '/hook', headers: { host: new URL(url).host } })
  if (scheme === 'https') expect(hook.requests[0]!.headers).not.toHaveProperty('proxy-authorization')
})

test.each(['http', 'https'])(
  '%s: a proxy that wants a password is told so, without the one we have',
  async (scheme) => {
    await using proxy = await startHttpProxy({ names, user: 'us:right' })
    const withUser = proxy.url.replace('//', '//us:wr0ng-one@')
    await using sink = await openSink(webhook, { url: `${scheme}://hook.corp:9/`, proxy: withUser })
    const [outcome] = await sink.deliver([messageOf()], never)
    expect(outcome).toMatchObject({ kind: 'retry', reason: 'auth', scope: 'sink' })
    const health = await sink.health!(never)
    if (scheme === 'https') expect(health).toMatchObject({ ok: false, reason: 'auth' })
    expect(JSON.stringify([outcome, health])).not.toContain('wr0ng')
  },
)

test('the answer of a proxy may come in pieces, for health, too', async () => {
  await using hook = await startReceiver(server)
  await using proxy = await startHttpProxy({ names, inPieces: true })
  const url = hook.url.replace('127.0.0.1', 'hook.corp')
  await using sink = await openSink(webhook, { url, proxy: proxy.url, tls: { ca: authority.cert } })
  expect(await sink.health!(never)).toEqual({ ok: true })
  expect(await sink.deliver([messageOf()], never)).toEqual([{ kind: 'delivered' }])
})

test('a proxy that is away is told by its own name', async () => {
  const port = await freePort()
  for (const url of ['http://hook.corp/', 'https://hook.corp/']) {
    await using sink = await openSink(webhook, { url, proxy: `http://127.0.0.1:${port}` })
    const detail = `nobody listens at 127.0.0.1:${port}`
    expect(await sink.deliver([messageOf()], never)).toMatchObject([
      { kind: 'retry', reason: 'network', detail },
    ])
    expect(await sink.health!(never)).toMatchObject({ ok: false, detail })
  }
})

test('the environment’s proxy is used, unless proxy is false', async () => {
  await using hook = await startReceiver()
  await using proxy = await startHttpProxy({ names })
  vi.stubEnv('HTTP_PROXY', proxy.url)
  vi.stubEnv('http_proxy', '')
  vi.stubEnv('NO_PROXY', '')
  vi.stubEnv('no_proxy', '')
  try {
    const url = hook.url.replace('127.0.0.1', 'hook.corp')
    await using sink = await openSink(webhook, { url })
    expect(await sink.deliver([messageOf()], never)).toEqual([{ kind: 'delivered' }])
    expect(proxy.asked).toHaveLength(1)
    await using direct = await openSink(webhook, { url: hook.url, proxy: false })
    expect(await direct.deliver([messageOf()], never)).toEqual([{ kind: 'delivered' }])
    expect(proxy.asked).toHaveLength(1)
  } finally {
    vi.unstubAllEnvs()
  }
})

test.each([
  'http://169.254.169.254/',
  'http://metadata.google.internal./',
  'http://100.100.100.200/',
  'http://168.63.129.16/',
  'http://[fd20:ce::254]/',
  'http://[64:ff9b::a9fe:a9fe]/',
])('%s gets nothing, over a proxy either', async (url) => {
  await using proxy = await startHttpProxy()
  vi.stubEnv('HTTP_PROXY', proxy.url)
  vi.stubEnv('http_proxy', '')
  try {
    await using sink = await openSink(webhook, { url: 'http://hook.corp/', allowLinkLocal: false })
    void sink
    await expect(openSink(webhook, { url })).rejects.toThrow('link-local')
    expect(proxy.asked).toEqual([])
  } finally {
    vi.unstubAllEnvs()
  }
})

test.each<[string, string, Record<string, string>, string | undefined]>([
  [
    'https takes HTTPS_PROXY',
    'https://a.example.com',
    { HTTPS_PROXY: 'http://p:1', HTTP_PROXY: 'http://q:1' },
    'p:1',
  ],
  [
    'http takes HTTP_PROXY',
    'http://a.example.com',
    { HTTPS_PROXY: 'http://p:1', HTTP_PROXY: 'http://q:1' },
    'q:1',
  ],
  [
    'lower case comes first',
    'http://a.example.com',
    { http_proxy: 'http://p:1', HTTP_PROXY: 'http://q:1' },
    'p:1',
  ],
  ['no scheme is http', 'http://a.example.com', { HTTP_PROXY: 'proxy:3128' }, 'proxy:3128'],
  ['this machine never', 'http://localhost:1', { HTTP_PROXY: 'http://p:1' }, undefined],
  ['this machine never, by address', 'http://127.0.0.9', { HTTP_PROXY: 'http://p:1' }, undefined],
  ['NO_PROXY *', 'http://a.example.com', { HTTP_PROXY: 'http://p:1', NO_PROXY: '*' }, undefined],
  [
    'NO_PROXY a name',
    'http://example.com',
    { HTTP_PROXY: 'http://p:1', NO_PROXY: 'x, example.com' },
    undefined,
  ],
  [
    'NO_PROXY what is under a name',
    'http://a.example.com',
    { HTTP_PROXY: 'http://p:1', NO_PROXY: 'example.com' },
    undefined,
  ],
  [
    'NO_PROXY a suffix',
    'http://hook.ns.svc',
    { HTTP_PROXY: 'http://p:1', NO_PROXY: '.svc,.cluster.local' },
    undefined,
  ],
  [
    'NO_PROXY no part of a label',
    'http://badexample.com',
    { HTTP_PROXY: 'http://p:1', NO_PROXY: 'example.com' },
    'p:1',
  ],
  [
    'NO_PROXY a port',
    'http://example.com:81',
    { HTTP_PROXY: 'http://p:1', NO_PROXY: 'example.com:80' },
    'p:1',
  ],
  ['NO_PROXY a range', 'http://10.1.2.3', { HTTP_PROXY: 'http://p:1', NO_PROXY: '10.0.0.0/8' }, undefined],
  ['NO_PROXY another range', 'http://11.1.2.3', { HTTP_PROXY: 'http://p:1', NO_PROXY: '10.0.0.0/8' }, 'p:1'],
  [
    'NO_PROXY an address of IPv6',
    'http://[fd00::1]',
    { HTTP_PROXY: 'http://p:1', NO_PROXY: 'fd00::/8' },
    undefined,
  ],
])('%s', (_name, url, env, host) => {
  expect(proxyFor(new URL(url), undefined, env)?.host).toBe(host)
})

test('an environment that names no proxy that we know is told', () => {
  expect(() => proxyFor(new URL('http://a.example.com'), undefined, { HTTP_PROXY: 'socks5://p:1' })).toThrow(
    'HTTP_PROXY',
  )
})
