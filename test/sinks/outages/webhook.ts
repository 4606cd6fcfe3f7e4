import { type ReceivedRequest, startReceiver } from '../../servers/receiver.ts'
import { startTcpProxy } from '../../servers/tcp-proxy.ts'
import { httpFaults } from './http-faults.ts'
import type { Peer } from './peer.ts'

const TOKEN = 'Bearer the-right-token'

/** A receiver behind a proxy. */
export async function startWebhookPeer(): Promise<Peer> {
  const hook = await startReceiver()
  const proxy = await startTcpProxy(Number(new URL(hook.url).port))
  const optionsWith = (authorization: string) => ({
    url: `http://127.0.0.1:${proxy.port}/hook`,
    timeout: '1s',
    headers: { authorization },
  })
  const answer = ({ headers }: ReceivedRequest) => ({ status: headers.authorization === TOKEN ? 200 : 401 })
  hook.answer(answer)
  return {
    type: 'webhook',
    options: () => optionsWith(TOKEN),
    wrongOptions: () => optionsWith('Bearer a-wrong-token'),
    ...httpFaults(hook, proxy, { answer, throttled: { status: 429, headers: { 'retry-after': '1' } } }),
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
