import { freePort } from '../../servers/ports.ts'
import type { Answer, Receiver } from '../../servers/receiver.ts'
import type { TcpProxy } from '../../servers/tcp-proxy.ts'
import type { Peer } from './peer.ts'

/** How a receiver behind a proxy fails, and works again with `answer`. */
export function httpFaults(
  hook: Receiver,
  proxy: TcpProxy,
  { answer, throttled }: { answer: Parameters<Receiver['answer']>[0]; throttled: Answer },
): Pick<Peer, 'begin' | 'mend'> {
  const own = Number(new URL(hook.url).port)
  return {
    async begin(fault) {
      if (fault === 'unreachable') {
        proxy.retarget(await freePort())
        proxy.cut()
      }
      if (fault === 'refuses') hook.answer(() => ({ status: 503 }))
      if (fault === 'hangs') hook.answer(() => ({ hang: true }))
      if (fault === 'cuts mid-answer') hook.answer(() => ({ reset: true }))
      if (fault === 'throttles') hook.answer(() => throttled)
    },
    mend() {
      proxy.retarget(own)
      hook.answer(answer)
    },
  }
}
