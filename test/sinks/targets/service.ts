import { setImmediate as turn } from 'node:timers/promises'
import { idsIn, type Setup } from '../../../src/sink/testkit/index.ts'
import { type Answer, type ReceivedRequest, startReceiver } from '../../servers/receiver.ts'
import { addressOf, isAccepted, type Service } from '../webhook/services/service.ts'
import { repeatRequest } from './repeat-request.ts'

/** A fake of a service that, when it refuses, repeats whatever it got. */
export function serviceSetup(create: () => Service): Setup {
  const { name } = create()
  return {
    excused: {
      // Presets keep nothing: the sink that they share is measured with one of them.
      ...(name !== 'loki' && {
        'two thousand deliveries leave nothing in memory': 'measured with loki, and with the webhook',
      }),
      'health says that the peer is away': 'it can be reached: only a delivery learns that it refuses',
    },
    async start() {
      const hook = await startReceiver()
      const service = create()
      const received: string[] = []
      const well = (request: ReceivedRequest): Answer => {
        const answer = service.answer(request)
        if (isAccepted(answer)) received.push(...idsOf(request))
        return answer
      }
      const idsOf = ({ body }: ReceivedRequest) => [...new Set(idsIn(body))]
      hook.answer(well)
      return {
        options: { url: addressOf(hook.url, service), ...service.options },
        received: () => [...received],
        faults: {
          refuse: () => hook.answer(repeatRequest),
          hang: () => hook.answer(() => ({ hang: true })),
          // Of one event among many the whole request is refused, until the event is alone.
          refuseOne: (id) =>
            hook.answer((it) => {
              const ids = idsOf(it)
              if (!ids.includes(id)) return well(it)
              return { status: ids.length > 1 ? 413 : 500 }
            }),
          async restore() {
            hook.answer(well)
            await turn()
          },
        },
        forget() {
          hook.requests.splice(0)
          received.splice(0)
          service.forget?.()
        },
        async stop() {
          await hook[Symbol.asyncDispose]()
        },
      }
    },
  }
}
