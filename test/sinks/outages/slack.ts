import { freePort } from '../../servers/ports.ts'
import { type Fault, startSlack } from '../../servers/slack.ts'
import { startTcpProxy } from '../../servers/tcp-proxy.ts'
import type { FaultName, Peer } from './peer.ts'

const FAULTS: Partial<Record<FaultName, Fault>> = {
  refuses: { status: 503 },
  hangs: { hang: 'before-headers' },
  'cuts mid-answer': { cut: true },
  throttles: { status: 429, headers: { 'retry-after': '1' } },
}
const ALWAYS = 1_000_000

/** A Slack behind a proxy. */
export async function startSlackPeer(): Promise<Peer> {
  const slack = await startSlack({ perSecond: 1_000, burst: 1_000 })
  slack.channel('events')
  const own = Number(new URL(slack.apiUrl).port)
  const proxy = await startTcpProxy(own)
  const optionsWith = (token: string) => ({
    token,
    apiUrl: `http://127.0.0.1:${proxy.port}/api/`,
    channel: '#events',
    mode: 'message',
    digest: false,
    rate: { perSecond: 50, burst: 50 },
    timeout: '1s',
  })
  return {
    type: 'slack',
    options: () => optionsWith(slack.token),
    wrongOptions: () => optionsWith('xoxb-0000000000-a-wrong-token'),
    async begin(fault) {
      if (fault === 'unreachable') {
        proxy.retarget(await freePort())
        proxy.cut()
      }
      const of = FAULTS[fault]
      if (of) slack.fault({ method: 'chat.postMessage', times: ALWAYS, ...of })
    },
    mend() {
      proxy.retarget(own)
      slack.mend()
    },
    took: async () =>
      slack.messages.map(({ metadata }) => {
        const [, name, version] = /uid-(\w+)\/(\d+)\//.exec(JSON.stringify(metadata)) ?? []
        return `${name}@${version}`
      }),
    async [Symbol.asyncDispose]() {
      await proxy[Symbol.asyncDispose]()
      await slack[Symbol.asyncDispose]()
    },
  }
}
