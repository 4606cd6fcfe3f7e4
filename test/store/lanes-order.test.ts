import { expect, test } from 'vitest'
import type { Delivery } from '../../src/model/delivery.ts'
import { deliverInOrder, type Message } from '../../src/sink/index.ts'
import { encodeEntries } from '../../src/store/entry.ts'
import { waitFor } from '../wait-for.ts'
import { DELIVERED, ODD, startLaneBed } from './lane-bed.ts'
import { headerFor } from './objects.ts'

test('that something is over waits for the digest that told of it, though that is of another object; what is of no group goes on', async () => {
  await using it = await startLaneBed()
  const took: string[] = []
  let fails = 2
  const sink = {
    deliver: (batch: readonly Message[], signal: AbortSignal) =>
      deliverInOrder(
        batch,
        { concurrency: 4 },
        async ({ event }) => {
          if (event.name === 'digest' && fails-- > 0) return ODD
          took.push(event.name)
          return DELIVERED
        },
        signal,
      ),
    async close() {},
  }
  const deliveries = ['digest', 'over', 'other'].map((name): Delivery => {
    const event = headerFor(name, '1', 'MODIFIED', `uid-${name}`)
    const delivery = { sink: 'hook', rule: 'r', event, objectJson: Buffer.from('{}') }
    return name === 'other' ? delivery : { ...delivery, order: 'group' }
  })
  const multi = it.redis.multi()
  for (const { count, observedAtMs, payload } of encodeEntries(deliveries))
    multi.xadd(it.keys.lane('hook/0'), '*', 'n', count, 't', observedAtMs, 'z', payload)
  multi.hincrby(it.keys.pending, 'hook/0', deliveries.length)
  multi.hincrby(it.keys.sinkLedger('hook'), 'enqueued', deliveries.length)
  await multi.exec()
  const lanes = it.work({ hook: sink })
  lanes.wake(['hook/0'])
  await waitFor(() => took.length === 3, { what: () => `all three: ${took}` })
  expect(took).toEqual(['other', 'digest', 'over'])
})
