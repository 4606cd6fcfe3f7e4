import { type Answer, type ReceivedRequest, startReceiver } from '../../servers/receiver.ts'
import { startTcpProxy } from '../../servers/tcp-proxy.ts'
import { addressOf, isAccepted, type Service } from '../webhook/services/service.ts'
import { httpFaults } from './http-faults.ts'
import type { Peer } from './peer.ts'

const LONG_PAUSE = 'the service asks for a pause of a minute and more'

/** A fake of a service behind a proxy. */
export async function startServicePeer(create: () => Service): Promise<Peer> {
  const hook = await startReceiver()
  const service = create()
  const proxy = await startTcpProxy(Number(new URL(hook.url).port))
  const taken: string[] = []
  const optionsWith = (options: object) => ({
    url: addressOf(`http://127.0.0.1:${proxy.port}`, service),
    timeout: '1s',
    ...options,
  })
  const answer = (request: ReceivedRequest): Answer => {
    const given = service.answer(request)
    if (isAccepted(given)) taken.push(...namesIn(request))
    return given
  }
  hook.answer(answer)
  return {
    type: service.name,
    options: () => optionsWith(service.options),
    wrongOptions: () => optionsWith(service.wrong.options),
    ...(['lark', 'dingtalk', 'wecom'].includes(service.name) && { without: { throttles: LONG_PAUSE } }),
    ...httpFaults(hook, proxy, { answer, throttled: service.throttled }),
    took: async () => taken,
    async [Symbol.asyncDispose]() {
      await proxy[Symbol.asyncDispose]()
      await hook[Symbol.asyncDispose]()
    },
  }
}

/** `name@resourceVersion` of the messages of a request: of a single one by its header, because chats show no ids. */
function namesIn({ headers, body }: ReceivedRequest): string[] {
  const id = String(headers['webhook-id'])
  const text = id.startsWith('batch_') ? body : id
  const ids = new Set([...text.matchAll(/cluster-uid\/[^/"\\]+\/\d+\/[A-Z]+/g)].map(([it]) => it))
  return [...ids].map((it) => {
    const [, uid = '', version] = it.split('/')
    return `${uid.replace(/^uid-(of-)?/, '')}@${version}`
  })
}
