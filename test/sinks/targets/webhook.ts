import { setImmediate as turn } from 'node:timers/promises'
import type { Setup } from '../../../src/sink/testkit/index.ts'
import { type Answer, type ReceivedRequest, startReceiver } from '../../servers/receiver.ts'
import { repeatRequest } from './repeat-request.ts'

const SECRET = `whsec_${Buffer.from('a-secret-of-thirty-two-bytes-or-so').toString('base64')}`
const WELL = (): Answer => ({ status: 200 })

/** A receiver that, when it refuses, repeats whatever it got. */
export const webhookSetup: Setup = {
  excused: {
    'health says that the peer is away': 'it can be reached: only a delivery learns that it refuses',
  },
  async start() {
    const hook = await startReceiver()
    const url = new URL(hook.url)
    url.username = 'herald'
    url.password = 'hunter2hunter2'
    url.searchParams.set('token', 'T0KEN-IN-QUERY')
    const idOf = ({ body }: ReceivedRequest) => (JSON.parse(body) as { id: string }).id
    return {
      options: { url: url.href, secret: SECRET, headers: { 'x-team': 'T0KEN-IN-HEADER' } },
      secrets: ['T0KEN-IN-QUERY', 'T0KEN-IN-HEADER', SECRET.slice(6)],
      received: () => hook.requests.map(idOf),
      faults: {
        refuse: () => hook.answer(repeatRequest),
        hang: () => hook.answer(() => ({ hang: true })),
        refuseOne: (id) => hook.answer((it) => ({ status: idOf(it) === id ? 500 : 200 })),
        async restore() {
          hook.answer(WELL)
          await turn()
        },
      },
      forget: () => void hook.requests.splice(0),
      async stop() {
        await hook[Symbol.asyncDispose]()
      },
    }
  },
}
