import { freePort } from '../../servers/ports.ts'
import { startReceiver } from '../../servers/receiver.ts'
import { startTcpProxy } from '../../servers/tcp-proxy.ts'
import type { Peer } from './peer.ts'

const TOKEN = 'Bearer the-right-token'

/** A receiver behind a proxy. */
export async function startWebhookPeer(): Promise<Peer> {
  const hook = await startReceiver()
  const own = Number(new URL(hook.url).port)
  const proxy = await startTcpProxy(own)
  const optionsWith = (authorization: string) => ({
    url: `http://127.0.0.1:${proxy.port}/hook`,
    timeout: '1s',
    headers: { authorization },
  })
  const authorized = (authorization: string | undefined) => ({ status: authorization === TOKEN ? 200 : 401 })
  hook.answer(({ headers }) => authorized(headers.authorization))
  return {
    type: 'webhook',
    options: () => optionsWith(TOKEN),
    wrongOptions: () => optionsWith('Bearer a-wrong-token'),
    async begin(fault) {
      if (fault === 'unreachable') proxy.retarget(await freePort())
      if (fault === 'unreachable') proxy.cut()
      if (fault === 'refuses') hook.answer(() => ({ status: 503 }))
      if (fault === 'hangs') hook.answer(() => ({ hang: true }))
      if (fault === 'cuts mid-answer') hook.answer(() => ({ reset: true }))
      if (fault === 'throttles') hook.answer(() => ({ status: 429, headers: { 'retry-after': '1' } }))
    },
    mend() {
      proxy.retarget(own)
      hook.answer(({ headers }) => authorized(headers.authorization))
    },
    took: async () =>
      hook.requests
        .filter(({ status }) => status === 200)
        .map(({ body }) => {
          const { name, resourceversion } = JSON.parse(body) as Record<string, string>
          return `${name}@${resourceversion}`
        }),
    async [Symbol.asyncDispose]() {
      await proxy[Symbol.asyncDispose]()
      await hook[Symbol.asyncDispose]()
    },
  }
}
