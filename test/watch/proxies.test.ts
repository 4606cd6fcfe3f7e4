import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { connectCluster } from '../../src/watch/client/connect.ts'
import { createAuthority } from '../servers/certificates.ts'
import { startHttpProxy } from '../servers/http-proxy.ts'
import { configMap, startScriptedApi } from '../servers/scripted-api.ts'
import { kubeconfigFor, startWatchBed } from './bed.ts'
import { folder } from './folder.ts'

const authority = createAuthority('test authority')
const TLS = authority.issue('server')
const CLUSTER = { 'certificate-authority-data': Buffer.from(authority.cert).toString('base64') }

test.each([
  ['HTTPS_PROXY', TLS, 'HTTPS_PROXY'],
  ['https_proxy', TLS, 'https_proxy'],
  ['HTTP_PROXY for a server that speaks http', undefined, 'HTTP_PROXY'],
])('lists and watches go through %s, live', async (_, tls, variable) => {
  await using proxy = await startHttpProxy()
  await using it = await startWatchBed({ tls, cluster: CLUSTER, env: { [variable]: proxy.url } })
  await it.watching('10')
  for (const version of [11, 12]) {
    it.api.current()?.frame('MODIFIED', configMap('a', version))
    await it.arrived(version - 10)
  }
  expect(new Set(proxy.asked)).toEqual(new Set([new URL(it.api.url).host]))
})

test('the proxy-url of a kubeconfig goes before the environment, and before NO_PROXY', async () => {
  await using proxy = await startHttpProxy()
  await using other = await startHttpProxy()
  await using it = await startWatchBed({
    tls: TLS,
    cluster: { ...CLUSTER, 'proxy-url': proxy.url.replace('//', '//me:hunter2@') },
    env: { HTTPS_PROXY: other.url, NO_PROXY: '127.0.0.1' },
  })
  await it.watching('10')
  it.api.current()?.frame('ADDED', configMap('a', 11))
  await it.arrived(1)
  expect(new Set(proxy.asked)).toEqual(new Set([new URL(it.api.url).host]))
  expect(proxy.credentials[0]).toBe(`Basic ${Buffer.from('me:hunter2').toString('base64')}`)
  expect(other.asked).toEqual([])
})

test.each(['127.0.0.1', '*', 'example.com,127.0.0.1', '.svc,127.0.0.0/8'])(
  'NO_PROXY=%s leads past the proxy',
  async (noProxy) => {
    await using proxy = await startHttpProxy()
    await using it = await startWatchBed({
      tls: TLS,
      cluster: CLUSTER,
      env: { HTTPS_PROXY: proxy.url, NO_PROXY: noProxy },
    })
    await it.watching('10')
    expect(proxy.asked).toEqual([])
  },
)

test('a proxy of a kind that is not supported is refused in one sentence, without its password', async () => {
  await using api = await startScriptedApi()
  const files = folder()
  onTestFinished(() => files[Symbol.dispose]())
  const kubeconfig = join(files.dir, 'kubeconfig')
  writeFileSync(kubeconfig, kubeconfigFor(api.url, {}, { 'proxy-url': 'socks5://me:hunter2@127.0.0.1:1' }))
  const client = connectCluster({ kubeconfig, env: {}, userAgent: 'test' })
  const refusal = await client.get('/api', {}, new AbortController().signal).catch(({ message }) => message)
  expect(refusal).toBe(
    'cannot use the proxy socks5://127.0.0.1:1: only http:// and https:// proxies are supported',
  )
})
