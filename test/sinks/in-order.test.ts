import { expect, test } from 'vitest'
import { deliverInOrder, type Outcome } from '../../src/sink/index.ts'
import { sampleMessages } from '../../src/sink/testkit/index.ts'

const lost = { kind: 'retry', reason: 'timeout', detail: 'no answer in time', afterMs: 5 } as const
const NEVER = new AbortController().signal

test.each(['event', 'sink'] as const)(
  'behind an ambiguous retry of scope %s, what was not sent is not a repeat',
  async (scope) => {
    const sent: string[] = []
    const post = async ({ id }: { id: string }): Promise<Outcome> => {
      sent.push(id)
      return { ...lost, scope, ambiguous: true }
    }
    const batch = sampleMessages(3, { objects: 1 })
    const outcomes = await deliverInOrder(batch, { concurrency: 2 }, post, NEVER)
    expect(sent).toEqual([batch[0]?.id])
    expect(outcomes).toEqual([
      { ...lost, scope, ambiguous: true },
      { ...lost, scope },
      { ...lost, scope },
    ])
  },
)
